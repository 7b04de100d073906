"""DIRAC.BySize: tasks of more than so many bytes, first of files on the same storages, then of files on one storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jim.splitting.checked_values import FLAG, whole
from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.parameters import parameter
from jim.splitting.replicas import Task, grouped
from jim.splitting.subscription import Subscription

NAME = "DIRAC.BySize"


@dataclass(frozen=True)
class Parameters:
    """The parameters of DIRAC.BySize."""

    group_size: int = parameter(1_000_000_000, whole(1), "a task has more bytes than this")
    max_files_per_task: int = parameter(100, whole(1), "maximum number of files in a task")
    flush: bool = parameter(False, FLAG, "true: remaining files become smaller tasks")


def split(work: Subscription, p: Parameters) -> Iterator[SplitJob]:
    """Fill tasks with ever larger files until one exceeds the size; a task of exactly that size waits for a file."""
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
