"""DIRAC.Standard: tasks of so many files, first of files on the same storages, then of files on one storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jim.splitting.checked_values import FLAG, whole
from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.parameters import parameter
from jim.splitting.replicas import Task, grouped
from jim.splitting.subscription import Subscription

NAME = "DIRAC.Standard"


@dataclass(frozen=True)
class Parameters:
    """The parameters of DIRAC.Standard."""

    group_size: int = parameter(10, whole(1), "number of files in a task")
    flush: bool = parameter(False, FLAG, "true: remaining files become smaller tasks")


def split(work: Subscription, p: Parameters) -> Iterator[SplitJob]:
    """Make full tasks; also smaller ones if `flush` is set or no more files come."""
    flush = p.flush or not work.open

    def tasks(files: list[File]) -> Iterator[Task]:
        for start in range(0, len(files), p.group_size):
            task = files[start : start + p.group_size]
            if flush or len(task) == p.group_size:
                yield task

    return grouped(work.files, tasks)
