"""Failure messages of the qsub, qstat and qdel that come with Slurm, in addition to Slurm's own.

qsub passes on the words of sbatch, and may fail after sbatch has succeeded.
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
