"""Failure messages of bsub, bjobs, bkill and bstop.

No message was captured from a running LSF: they come from the open LSF 4.2 and its descendants, and from production
code that reads them. So no version is certain.
"""

UNCLEAR: tuple[str, ...] = (
    r"communication time ?out",  # unknown
    r"daemon not responding",  # unknown
    r"failed in sending/receiving a message",  # unknown
    r"system call failed",  # unknown
    r"xdr operation error",  # unknown
    r"xdr encode/decode error",  # unknown
    r"batch protocol error",  # unknown
    r"batch daemon internal error",  # unknown
    r"library internal error",  # unknown
    # A user whom LSF knows, but for a directory of users that is down.
    r"unknown user",  # unknown
)
FULL: tuple[str, ...] = (
    r"job limit",  # unknown
    r"does not have enough (per-\w+ )?job slots",  # unknown
    r"pending job threshold",  # unknown
    # MAX_JOB_ARRAY_SIZE
    r"job array index too large",  # unknown
)
TRANSIENT: tuple[str, ...] = (
    r"LSF is down",  # unknown
    r"LIM is down",  # unknown
    r"configuration is not ready yet",  # unknown
    r"request from non-LSF host",  # unknown
    r"cannot connect to LSF",  # unknown
    r"connection refused by server",  # unknown
    r"timeout on connect",  # unknown
    r"cannot locate master LIM",  # unknown
    r"queue has been closed",  # unknown
    r"no job id can be used now",  # unknown
)
PERMANENT: tuple[str, ...] = (
    r"no such queue",  # unknown
    r"user cannot use the queue",  # unknown
    r"queue only accepts",  # unknown
    r"queue does not accept",  # unknown
    r"queue name must be specified",  # unknown
    r"too (many|few) processors",  # unknown
    # Hard limits, or resource reservation.
    r"cannot exceed queue's",  # unknown
    r"error in .*(section|select|rusage)",  # unknown
    r"error near .*(section|select|rusage)",  # unknown
    r"cannot be used in the resource requirement section",  # unknown
    r"user permission denied",  # unknown
    r"not in (the )?specified (user|project) group",  # unknown
    r"no such user/host group",  # unknown
    r"bad job name",  # unknown
    r"bad host name",  # unknown
    r"bad user group",  # unknown
    r"bad \w+ (value|specification|limit|name)",  # unknown
    r"bad resource requirement",  # unknown
    r"bad argument",  # unknown
    r"host group is not used by the queue",  # unknown
    r"request aborted by esub",  # unknown
    r"illegal option",  # unknown
    r"unknown option",  # unknown
    r"usage: b",  # unknown
)
GONE: tuple[str, ...] = (
    r"job has already finished",  # unknown
    r"no matching job found",  # unknown
    r"is not found",  # unknown
)
