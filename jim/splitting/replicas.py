"""Files grouped by where their replicas are, in two passes, as DIRAC's transformations do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

from jim.splitting.making import by_location
from jim.splitting.units import File, SplitJob

Task = Sequence[File]


def grouped(files: Iterable[File], tasks_of: Callable[[list[File]], Iterable[Task]]) -> Iterator[SplitJob]:
    """Let `tasks_of` make tasks of the files of each exact set of storages; then, of what is left, of each storage's.

    A file that is nowhere is in no task.
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
