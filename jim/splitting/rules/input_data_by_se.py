"""InputDataBySE: so many files in a job, all on one storage, with about equal numbers of files from each storage."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.numbers import WHOLE
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription

NAME = "InputDataBySE"


@dataclass(frozen=True)
class Parameters:
    """The parameters of InputDataBySE."""

    files_per_job: int = parameter(1, WHOLE, "maximum number of files in a job", "SplitterMaxFilesPerJob", SplitError)


def full(job: SplitJob, p: Parameters) -> bool:
    """Tell whether more files would make another job."""
    return len(job.files) >= max(1, p.files_per_job)


def split(work: Subscription, p: Parameters) -> Iterator[SplitJob]:
    """Choose the storage with the fewest files in jobs so far; of several, the first by name."""
    most = max(1, p.files_per_job)
    held = _held(work)
    served = [(0, storage) for storage in sorted(held)]  # a sorted list is a heap
    taken: set[str] = set()
    number = 0
    while served:
        count, storage = served[0]
        files = tuple(islice((each for each in held[storage] if each.lfn not in taken), most))
        taken.update(each.lfn for each in files)
        if len(files) == most:
            heapq.heapreplace(served, (count + most, storage))
        else:
            heapq.heappop(served)
        if files:
            yield SplitJob(number, frozenset({storage}), files, baggage={"SplitterChosenSE": storage})
            number += 1


def _held(work: Subscription) -> dict[str, Iterator[File]]:
    """Return the files of each storage by name; `held` ensures that a file is used once."""
    if not work.files:
        raise SplitError("InputData", (), "there is no input data to split")
    held = defaultdict(list)
    for each in sorted(work.files, key=lambda file: file.lfn):
        if not each.locations:
            raise SplitError("InputData", each.lfn, f"no storage is known to hold {each.lfn}")
        for storage in each.locations:
            held[storage].append(each)
    return {storage: iter(files) for storage, files in held.items()}
