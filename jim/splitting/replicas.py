"""Groups files by the storages that hold their replicas, in two passes, as DIRAC's transformations do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.job_maker import by_location

Task = Sequence[File]


def grouped(files: Iterable[File], tasks_of: Callable[[list[File]], Iterable[Task]]) -> Iterator[SplitJob]:
    """Make tasks by `tasks_of`: of files on the same set of storages, then of the remaining files of each storage.

    A file without a location is in no task.
    """
    numbers = count()
    left = {each.lfn: each for each in files if each.locations}
    for locations, those in by_location(left.values()):
        for task in tasks_of(those):
            yield _job(next(numbers), locations, task, left)
    held = defaultdict(list)
    for each in left.values():
        for storage in each.locations:
            held[storage].append(each)
    for storage, those in sorted(held.items()):
        for task in tasks_of([each for each in those if each.lfn in left]):
            yield _job(next(numbers), frozenset({storage}), task, left)


def _job(number: int, locations: frozenset[str], task: Task, left: dict[str, File]) -> SplitJob:
    for each in task:
        del left[each.lfn]
    return SplitJob(number, locations, tuple(task))
