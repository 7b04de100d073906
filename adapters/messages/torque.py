"""Failure messages of qsub, qstat and qdel of Torque, in addition to those of PBS.

No message was captured from a running Torque: they come from documents and reports. So no version is certain.
"""

from jim.adapters.messages import pbs

UNCLEAR: tuple[str, ...] = (
    *pbs.UNCLEAR,
    r"(?m)^(?!.*cannot connect to server).*error (reading|writing) data",  # unknown
    r"(?m)^(?!.*cannot connect to server).*socket close detected",  # unknown
    r"(?m)^(?!.*cannot connect to server).*\btime out\b",  # unknown
)
FULL: tuple[str, ...] = (
    *pbs.FULL,
    # Single jobs may still be accepted.
    r"array size too large",  # unknown
    r"does not allow job arrays",  # unknown
)
TRANSIENT: tuple[str, ...] = (
    *pbs.TRANSIENT,
    r"currently too busy",  # unknown
    r"server busy",  # unknown
    r"trqauthd unable",  # unknown
    r"queue is currently not available",  # unknown
)
PERMANENT: tuple[str, ...] = (
    *pbs.PERMANENT,
    r"exceeds queue resource limits",  # unknown
    r"queue does not allow",  # unknown
    r"bad job array request",  # unknown
)
