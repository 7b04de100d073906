"""DIRAC.BySize: so many bytes to a task, first of files that are at the same storages, then at one storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jim.splitting.kinds import FLAG, whole
from jim.splitting.parameters import parameter
from jim.splitting.replicas import Task, grouped
from jim.splitting.subscription import Subscription
from jim.splitting.units import File, SplitJob

NAME = "DIRAC.BySize"


@dataclass(frozen=True)
class Parameters:
    """What DIRAC.BySize takes."""

    group_size: int = parameter(1_000_000_000, whole(1), "bytes that a task has more of")
    max_files_per_task: int = parameter(100, whole(1), "files of one task at most")
    flush: bool = parameter(False, FLAG, "make smaller tasks of what is left")


def split(work: Subscription, p: Parameters) -> Iterator[SplitJob]:
    """Fill tasks with ever larger files, until one has more than its size: an exact fit waits for another file."""
    flush = p.flush or not work.open

    def tasks(files: list[File]) -> Iterator[Task]:
        task: list[File] = []
        size = 0
        for file in sorted((each for each in files if each.size), key=lambda each: (each.size, each.lfn)):
            if file.size > p.group_size:
                yield [file]
                continue
            task.append(file)
            size += file.size
            if size > p.group_size or len(task) == p.max_files_per_task:
                yield task
                task, size = [], 0
        if flush and task:
            yield task

    return grouped(work.files, tasks)
