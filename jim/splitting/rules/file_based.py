"""FileBased: so many files in a job, ordered by name; the remaining files make a smaller job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jim.splitting.checked_values import whole
from jim.splitting.file_chunks import ChunkParameters
from jim.splitting.files_and_jobs import NO_MASK, File, Mask, Range, Runs, SplitJob, Stream, lumi_mask
from jim.splitting.job_maker import JobMaker
from jim.splitting.lumi_ranges import ranges_of
from jim.splitting.masking import Masked
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Subscription

NAME = "FileBased"


@dataclass(frozen=True)
class Parameters(ChunkParameters, Masked):
    """The parameters of FileBased."""

    total_files: int = parameter(0, whole(), "total number of files to take, the first ones by name; 0: all")


def full(job: SplitJob, p: Parameters) -> bool:
    """Tell whether more files would make another job."""
    return len(job.files) >= p.files_per_job


def split(work: Subscription, p: Parameters) -> Stream:
    """Split the files of each location; with a lumi mask, only files that hold a part of it."""
    jobs = JobMaker(work, p)
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
    """Find the lumis of each file that are in the mask; leave out files without any."""
    mask = p.mask()
    if mask is None:
        return None
    runs = {file.lfn: [(run, tuple(mask.within(run, lumis))) for run, lumis in file.runs] for file in files}
    found = {lfn: tuple(each for each in those if each[1]) for lfn, those in runs.items()}
    return {lfn: those for lfn, those in found.items() if those}


def _mask(files: Iterable[Runs]) -> Mask:
    """List the lumis of file after file; ranges of two files stay apart."""
    ranges: dict[int, list[Range]] = {}
    for run, lumis in (each for runs in files for each in runs):
        ranges.setdefault(run, []).extend(ranges_of(lumis))
    return lumi_mask(ranges)
