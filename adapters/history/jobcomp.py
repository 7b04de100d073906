"""The file of completed jobs that Slurm writes with JobCompType=jobcomp/filetxt."""

from __future__ import annotations

from collections.abc import Sequence

from jim.adapters.history.squeue import Squeue


class JobCompletions(Squeue):
    """One line a job, found with grep."""

    words = ("grep", "-hE", "/var/log/slurm/jobcomp.log")

    def command(self, ids: Sequence[str]) -> list[str]:
        return [*self.first_words, "-e", rf" ArrayJobId=({'|'.join(ids)}) "]


HISTORY = JobCompletions
