"""ParentlessMergeBySize: merges files on one storage, regardless of their origin, up to so many bytes and events."""

from __future__ import annotations

from dataclasses import dataclass

from jim.splitting.checked_values import FLAG, number, whole
from jim.splitting.files_and_jobs import NO_MASK, Estimates, File, Stream
from jim.splitting.job_maker import JobMaker
from jim.splitting.merging import MergeParameters, Unit, is_forced, merged, place
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription

NAME = "ParentlessMergeBySize"
SECONDS = 300  # of a job, in addition to reading and writing
BYTES_PER_SECOND = 5_000_000 / 4


@dataclass(frozen=True)
class Parameters(MergeParameters):
    """The parameters of ParentlessMergeBySize."""

    max_merge_events: int = parameter(100_000_000, whole(1), "maximum number of events in a job")
    merge_across_runs: bool = parameter(True, FLAG, "true: files of several runs may be in one job")
    max_wait_time: float = parameter(43_200, number(None), "seconds after which a file no longer waits for others")


def split(work: Subscription, p: Parameters) -> Stream:
    """Merge the files of each storage, by run, lumi and first event."""
    jobs = JobMaker(work, p)
    jobs.open_group(None)
    places: dict[tuple[str, int], list[File]] = {}
    for file in work.to_read:
        storage = min(file.locations, default="")
        places.setdefault((storage, 0 if p.merge_across_runs else place(file)[0]), []).append(file)
    for (storage, _), files in sorted(places.items()):
        files.sort(key=lambda file: (*place(file), file.first_event, file.lfn))
        units = (Unit.of(each.lfn, (each,), old=each.age_s > p.max_wait_time) for each in files)
        for those in merged(units, p, p.max_merge_events, forced=is_forced(work)):
            yield jobs.make([unit.files[0] for unit in those], NO_MASK, _estimates(those), at=storage)


def _estimates(units: list[Unit]) -> Estimates:
    size = sum(each.size for each in units)
    return Estimates(SECONDS + size / BYTES_PER_SECOND, (size + max(each.size for each in units)) / 1024)
