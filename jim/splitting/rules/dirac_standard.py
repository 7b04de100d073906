"""DIRAC.Standard: so many files to a task, first of files that are at the same storages, then at one storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jim.splitting.kinds import FLAG, whole
from jim.splitting.parameters import parameter
from jim.splitting.replicas import Task, grouped
from jim.splitting.subscription import Subscription
from jim.splitting.units import File, SplitJob

NAME = "DIRAC.Standard"


@dataclass(frozen=True)
class Parameters:
    """What DIRAC.Standard takes."""

    group_size: int = parameter(10, whole(1), "files of one task")
    flush: bool = parameter(False, FLAG, "make smaller tasks of what is left")


def split(work: Subscription, p: Parameters) -> Iterator[SplitJob]:
    """Make full tasks; when flushed, or when no more files come, smaller ones too."""
    flush = p.flush or not work.open

    def tasks(files: list[File]) -> Iterator[Task]:
        for start in range(0, len(files), p.group_size):
            task = files[start : start + p.group_size]
            if flush or len(task) == p.group_size:
                yield task

    return grouped(work.files, tasks)
