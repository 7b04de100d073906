"""Harvest: all files of a run, or of all runs, in one job, at the end or repeatedly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jim.splitting.checked_values import FLAG, number, one_of
from jim.splitting.files_and_jobs import Estimates, File, Range, Stream, lumi_mask
from jim.splitting.job_maker import JobMaker, by_location
from jim.splitting.lumi_ranges import joined, ranges_of
from jim.splitting.parameters import Common, parameter
from jim.splitting.subscription import Subscription

NAME = "Harvest"


@dataclass(frozen=True)
class Parameters(Common):
    """The parameters of Harvest."""

    unit: str = parameter("byRun", one_of("byRun", "multiRun"), "a job for each run, or one for all", "dqmHarvestUnit")
    interval: float = parameter(
        0, number(), "seconds between two harvests; 0: a single one at the end", "periodic_harvest_interval"
    )
    after_sibling: bool = parameter(
        False,
        FLAG,
        "true: the last harvest waits until the sibling subscriptions have finished",
        "periodic_harvest_sibling",
    )


def split(work: Subscription, p: Parameters) -> Stream:
    """Harvest all files of the fileset, also those of earlier jobs."""
    if not work.files or not (_is_due(work, p) if p.interval else _is_over(work, p)):
        return
    jobs = JobMaker(work, p)
    jobs.open_group(None)
    for _, files in by_location((*work.done, *work.acquired, *work.files)):
        for those, ranges in _units(files, p):
            baggage: dict[str, bool | str] = {} if p.interval else {"runIsComplete": True}
            if p.unit == "multiRun":
                baggage |= {"multiRun": True, "runLimits": f"-{min(ranges)}-{max(ranges)}"}
            yield jobs.make(those, lumi_mask(ranges), Estimates(memory_mb=p.performance.memory), baggage)


def _is_due(work: Subscription, p: Parameters) -> bool:
    return work.quiet_s is None or (not work.acquired and work.quiet_s > p.interval)


def _is_over(work: Subscription, p: Parameters) -> bool:
    names = {each.lfn for each in (*work.done, *work.acquired, *work.files)}
    through = all(names <= each.complete | each.failed for each in work.siblings)
    return not work.open and (through or not p.after_sibling)


def _units(files: list[File], p: Parameters) -> Iterator[tuple[list[File], dict[int, list[Range]]]]:
    """Pair files with the ranges of their runs, joined over files."""
    ranges: dict[int, list[Range]] = {}
    for run, lumis in (each for file in files for each in file.runs if each[1]):
        ranges.setdefault(run, []).extend(ranges_of(lumis))
    whole = {run: joined(those) for run, those in sorted(ranges.items())}
    units = [{run: those} for run, those in whole.items()] if p.unit == "byRun" else [whole] if whole else []
    for unit in units:
        yield [file for file in files if any(run in unit for run, lumis in file.runs if lumis)], unit
