"""What the qsub, qstat and qdel that come with Slurm say when they fail, beside what Slurm says.

qsub hands on what sbatch says, and may fail once sbatch is done.
"""

from jim.adapters.messages import slurm

UNCLEAR: tuple[str, ...] = (
    *slurm.UNCLEAR,
    r"problem loading slurm",  # unknown
)
FULL = slurm.FULL
TRANSIENT: tuple[str, ...] = (
    *slurm.TRANSIENT,
    r"problem loading jobs",  # 22.05.8
)
PERMANENT: tuple[str, ...] = (
    *slurm.PERMANENT,
    r"unknown option",  # unknown
    r"^usage:",  # unknown
)
GONE: tuple[str, ...] = (
    r"invalid job id specified",  # unknown
    r"job has already finished",  # 22.05.8
)
