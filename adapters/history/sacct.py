"""sacct, which asks slurmdbd: for sites with accounting."""

from __future__ import annotations

from jim.adapters.history.squeue import Squeue


class Sacct(Squeue):
    """The fields of squeue, without the mark at the end of lines."""

    words = ("sacct",)
    fields = ("--allocations", "--parsable2", "--format=JobID,State,ExitCode,Reason,JobName")


HISTORY = Sacct
