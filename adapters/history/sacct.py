"""sacct, which asks slurmdbd: for sites that keep accounts."""

from __future__ import annotations

from jim.adapters.history.squeue import Squeue


class Sacct(Squeue):
    """The fields of squeue, without what ends its lines."""

    words, program = ("sacct",), "sacct"
    fields = ("--allocations", "--parsable2", "--format=JobID,State,ExitCode,Reason,JobName")


HISTORY = Sacct
