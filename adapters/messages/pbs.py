"""Failure messages of qsub, qstat, qdel, qhold and qrls of PBS.

No message was captured from a running PBS: they come from pbs_messages.c, qsub.c and qstat.c of openpbs/openpbs, and
from reports. So no version is certain.
"""

# About a request that was sent: a failed connection begins with other words.
UNCLEAR: tuple[str, ...] = (
    r"(?m)^(?!.*cannot connect to server).*premature end of (message|file)",  # unknown
    r"(?m)^(?!.*cannot connect to server).*end of file",  # unknown
    r"(?m)^(?!.*cannot connect to server).*protocol (failure|error)",  # unknown
)
FULL: tuple[str, ...] = (
    r"maximum number of jobs\b.* already in (queue|complex)",  # unknown
    # The other limits are about resources of all jobs of the user.
    r"would exceed (queue .*|complex)'s per-\w+ limit",  # unknown
    r"array job exceeds",  # unknown
)
TRANSIENT: tuple[str, ...] = (
    r"cannot connect to server",  # unknown
    r"connection refused",  # unknown
    r"no free connections",  # unknown
    r"connection table full",  # unknown
    r"server shutting down",  # unknown
    # The user's own jobs must end first.
    r"would exceed .*limit",  # unknown
    r"pbs_iff: ",  # unknown
    r"(invalid|expired) credential",  # unknown
    r"queue is not enabled",  # unknown
    r"resource temporarily unavailable",  # unknown
    r"failed to save job",  # unknown
)
PERMANENT: tuple[str, ...] = (
    r"unknown (queue|resource)",  # unknown
    r"access to queue is denied",  # unknown
    r"no default queue",  # unknown
    r"unauthorized request",  # unknown
    r"illegal attribute or resource value",  # unknown
    r"undefined attribute",  # unknown
    r"cannot set attribute",  # unknown
    r"violates queue and/or server resource limits",  # unknown
    r"resource limit exceeds",  # unknown
    r"rejected by all possible destinations",  # unknown
    r'resource invalid in "select"',  # unknown
    r'cannot be used with "?select',  # unknown
    r'without "select"',  # unknown
    r"duplicated resource within",  # unknown
    r"invalid account",  # unknown
    r"illegal -\w value",  # unknown
    r"invalid option",  # unknown
    r"usage: q",  # unknown
    r"name (is )?too long",  # unknown
    r"jobscript size exceeded",  # unknown
)
GONE: tuple[str, ...] = (
    r"unknown job id",  # unknown
    r"job has finished",  # unknown
)
