"""EventBased: each file in ranges of so many events; generator files also in ranges of lumis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from jim.splitting.checked_values import FLAG, whole
from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import File, Mask, Stream, events_mask
from jim.splitting.job_maker import JobMaker
from jim.splitting.lumi_ranges import ranges_of
from jim.splitting.parameters import Common, parameter
from jim.splitting.recovery import Recovered
from jim.splitting.subscription import Subscription

NAME = "EventBased"
LAST_EVENT = 2**32 - 1  # generators number events with 32 bits
Cut = Iterator[tuple[Mask, int]]  # a mask, and the number of events to estimate for


@dataclass(frozen=True)
class Parameters(Common):
    """The parameters of EventBased."""

    events_per_job: int = parameter(100, whole(1), "number of events in a job")
    events_per_lumi: int = parameter(
        0, whole(1), "number of events in a lumi of a generator file; default: all events of a job"
    )
    include_parents: bool = parameter(False, FLAG, "true: each job names the parents of its input files")
    lhe_input_files: bool = parameter(False, FLAG, "text that is passed on to generator jobs", "lheInputFiles")
    deterministic_pileup: bool = parameter(
        False, FLAG, "true: each job gets the number of pile-up events to skip", "deterministicPileup"
    )


def split(work: Subscription, p: Parameters) -> Stream:
    """Split every file, in the order in which files became available; in a recovery, only those of the collection."""
    jobs, size, pileup = JobMaker(work, p), p.events_per_job, p.deterministic_pileup
    full = p.performance.of(size)
    for files in jobs.groups(work.to_read):
        for file in files:
            make = jobs.maker((file,))
            baggage: dict[str, int] = {"lheInputFiles": p.lhe_input_files} if file.generator else {}
            for mask, events in _cut(work, file, p):
                if pileup:
                    baggage = baggage | {"skipPileupEvents": jobs.before * size}
                yield make(mask, full if events == size else p.performance.of(events), baggage)


def _cut(work: Subscription, file: File, p: Parameters) -> Cut:
    if not (work.recovery and work.recovery.entries):
        return _generated(file, p) if file.generator else _read(file, p)
    entries = work.recovery.entries[file.lfn]
    if file.generator:
        return _recovered(entries, p)
    ranges = sorted({(entry.first_event, entry.events) for entry in entries})
    parts = (file._replace(first_event=first, events=events) for first, events in ranges)
    return chain.from_iterable(_read(part, p) for part in parts)


def _read(file: File, p: Parameters) -> Cut:
    if not file.events:
        yield Mask(file.first_event), 0
    end, size = file.first_event + file.events, p.events_per_job
    for first in range(file.first_event, end, size):
        after = first + size if first + size < end else end
        yield events_mask(first, after - 1), after - first


def _generated(file: File, p: Parameters) -> Cut:
    first, left, lumi = file.first_event, file.events, _lowest_lumi(file)
    while left:
        # Lumis continue where the event numbers start again.
        if first + p.events_per_job - 1 > LAST_EVENT and first + left > LAST_EVENT:
            first = 1
        events = min(p.events_per_job, left)
        lumis = -(-events // (p.events_per_lumi or p.events_per_job))
        yield events_mask(first, first + events - 1, lumi, lumi + lumis - 1), events
        first, left, lumi = first + events, left - events, lumi + lumis


def _lowest_lumi(file: File) -> int:
    if not file.lumis:
        raise SplitError(
            file.lfn, file.runs, "generator input without lumis; it needs a run with the lumis to generate"
        )
    return min(lumis[0] for _, lumis in file.runs if lumis)


def _recovered(entries: Sequence[Recovered], p: Parameters) -> Cut:
    """Find rows of consecutive lumis; their events follow from their numbers, as in the lost jobs.

    A failure may have been reported twice, so an entry counts only if it has new lumis.
    """
    left, lumis = 0, set[int]()
    for entry in entries:
        those = {lumi for _, those in entry.runs for lumi in those}
        left += 0 if those <= lumis else entry.events
        lumis |= those
    per_lumi = p.events_per_lumi or p.events_per_job
    for lumi, last in ranges_of(sorted(lumis)):
        while lumi <= last and left > 0:
            events = min(p.events_per_job, left)
            count = min(-(-events // per_lumi), last - lumi + 1)
            first = (lumi - 1) * per_lumi + 1
            yield events_mask(first, first + events - 1, lumi, lumi + count - 1), p.events_per_job
            left, lumi = left - events, lumi + count
