"""FileBased: so many files for a job, in the order of their names; what is left over is a short job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jim.splitting.file_chunks import ChunkParameters
from jim.splitting.kinds import whole
from jim.splitting.lumi_ranges import ranges_of
from jim.splitting.making import Jobs
from jim.splitting.masking import Masked
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription
from jim.splitting.units import NO_MASK, File, Mask, Range, Runs, Stream, lumi_mask

NAME = "FileBased"


@dataclass(frozen=True)
class Parameters(ChunkParameters, Masked):
    """What FileBased takes."""

    total_files: int = parameter(0, whole(), "files in all, the first by name; 0: every one")


def split(work: Subscription, p: Parameters) -> Stream:
    """Cut the files of each place; with a lumi mask, only those that hold something of it."""
    jobs = Jobs(work, p)
    masked = _masked(work.to_read, p)
    files = sorted(each for each in work.to_read if masked is None or each.lfn in masked)
    for those in jobs.groups(files[: p.total_files or None]):
        for n, chunk in enumerate(p.chunks(those)):
            if p.jobs_per_group and n and n % p.jobs_per_group == 0:
                jobs.another_group()
            if masked is None:
                yield jobs.make(chunk, NO_MASK, p.performance.of(sum(each.events for each in chunk)))
            else:
                lumis = ((file, sum(len(those) for _, those in masked[file.lfn])) for file in chunk)
                events = sum(file.events_per_lumi * number for file, number in lumis)
                yield jobs.make(chunk, _mask(masked[file.lfn] for file in chunk), p.performance.of(events))


def _masked(files: Iterable[File], p: Parameters) -> Mapping[str, Runs] | None:
    """Find the lumis of each file that are in the mask; files without any drop out."""
    mask = p.mask()
    if mask is None:
        return None
    runs = {file.lfn: [(run, tuple(mask.within(run, lumis))) for run, lumis in file.runs] for file in files}
    found = {lfn: tuple(each for each in those if each[1]) for lfn, those in runs.items()}
    return {lfn: those for lfn, those in found.items() if those}


def _mask(files: Iterable[Runs]) -> Mask:
    """Put the lumis of files one after another; those of two files are not joined."""
    ranges: dict[int, list[Range]] = {}
    for run, lumis in (each for runs in files for each in runs):
        ranges.setdefault(run, []).extend(ranges_of(lumis))
    return lumi_mask(ranges)
