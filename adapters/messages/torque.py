"""What qsub, qstat and qdel of Torque say when they fail, beside what PBS says.

None was seen from a running Torque: the messages are those of documents and reports. So no version is known for
certain.
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
    # Single jobs may be taken.
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
