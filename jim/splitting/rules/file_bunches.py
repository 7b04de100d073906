"""FileBunches: so many files in a bunch, and the events of each bunch, as of one long file, in ranges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from jim.splitting.checked_values import whole
from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import NO_MASK, File, Mask, SplitJob, Stream, events_mask
from jim.splitting.job_maker import JobMaker
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription

NAME = "FileBunches"
Cut = tuple[Sequence[File], Mask, int]  # files, their events, and how many these are


@dataclass(frozen=True)
class Parameters(Common):
    """The parameters of FileBunches."""

    file_bunch_size: int = parameter(1, whole(1), "number of files in a bunch")
    event_bunch_size: int = parameter(0, whole(), "number of events in a job; 0: all events of a bunch")


def full(job: SplitJob, p: Parameters) -> bool:
    """Tell whether more files would make another job."""
    return not p.event_bunch_size and len(job.files) >= p.file_bunch_size


def split(work: Subscription, p: Parameters) -> Stream:
    """Bunch files in the order of the request; the last bunch of a place, or job of a bunch, may be smaller."""
    jobs = JobMaker(work, p)
    for files in jobs.groups(work.to_read):
        for bunch in _bunches(work, files, p):
            for those, mask, events in _cut(bunch, p.event_bunch_size):
                yield jobs.make(those, mask, p.performance.of(events))


def _bunches(work: Subscription, files: Sequence[File], p: Parameters) -> Iterator[Sequence[File]]:
    """Return the bunches; in a recovery of ranges of events, each range is a bunch of its own."""
    if work.recovery and work.recovery.entries and p.event_bunch_size:
        for file in files:
            ranges = sorted({(entry.first_event, entry.events) for entry in work.recovery.entries[file.lfn]})
            yield from ([file._replace(first_event=first, events=events)] for first, events in ranges)
        return
    for begin in range(0, len(files), p.file_bunch_size):
        yield files[begin : begin + p.file_bunch_size]


def _cut(bunch: Sequence[File], size: int) -> Iterator[Cut]:
    """Cut a bunch into ranges of events. A job has only the files of its range, and counts from the first of these."""
    if not size:
        yield bunch, NO_MASK, sum(each.events for each in bunch)
        return
    for each in bunch:
        if not each.events:
            raise SplitError(each.lfn, 0, "has no events, or their number is not given; `event_bunch_size` needs it")
    ends = list(accumulate(each.events for each in bunch))
    for begin in range(0, ends[-1], size):
        end = min(begin + size, ends[-1])
        held = bunch[bisect_right(ends, begin) : bisect_left(ends, end) + 1]
        skipped = begin - (ends[bisect_right(ends, begin)] - held[0].events)
        first = held[0].first_event + skipped
        yield held, events_mask(first, first + end - begin - 1), end - begin
