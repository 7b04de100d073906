"""WMBSMergeBySize: merges the outputs of a parent file as a unit, when all jobs that read the file have succeeded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jim.splitting.checked_values import whole
from jim.splitting.files_and_jobs import NO_MASK, Estimates, File, Settled, Stream
from jim.splitting.job_maker import JobMaker
from jim.splitting.merging import MergeParameters, Unit, is_forced, merged
from jim.splitting.parameters import parameter
from jim.splitting.subscription import Producer, Subscription

NAME = "WMBSMergeBySize"


@dataclass(frozen=True)
class Parameters(MergeParameters):
    """The parameters of WMBSMergeBySize."""

    max_merge_events: int = parameter(
        50_000, whole(1), "maximum number of events in a job; a single unit may exceed it"
    )


def split(work: Subscription, p: Parameters) -> Stream:
    """Merge the units of each location and run; when no more files come, files of failed jobs become failed."""
    jobs = JobMaker(work, p)
    jobs.open_group(None)
    succeeded, others, failed = _parents(work.producers)
    orphans = tuple(each for each in work.files if failed.intersection(each.parents))
    if orphans and not work.open:
        yield Settled(orphans, "failed")
    whole_ones = [
        each for each in work.to_read if succeeded.intersection(each.parents) and others.isdisjoint(each.parents)
    ]
    for units in _units(whole_ones):
        for those in merged(units, p, p.max_merge_events, forced=is_forced(work)):
            size = sum(each.size for each in those)
            files = (file for unit in those for file in sorted(unit.files, key=_by_events))
            yield jobs.make(files, NO_MASK, Estimates(disk_kb=size / 1024))


def _by_events(file: File) -> tuple[int, str]:
    return file.first_event, file.lfn


def _parents(producers: Iterable[Producer]) -> tuple[set[str], set[str], set[str]]:
    """Find the parents that all jobs of one group have read well, the other parents, and those that a job failed on."""
    outcomes: dict[str, dict[str, set[str]]] = {}
    for job in producers:
        for parent in job.inputs:
            outcomes.setdefault(parent, {}).setdefault(job.group, set()).add(job.outcome)
    failed = {parent for parent, groups in outcomes.items() if any("failure" in each for each in groups.values())}
    succeeded = {parent for parent, groups in outcomes.items() if {"success"} in groups.values()}
    return succeeded - failed, outcomes.keys() - succeeded | failed, failed


def _units(files: Iterable[File]) -> Iterable[list[Unit]]:
    """Group the files of each location and run by their parent."""
    places: dict[tuple[tuple[str, ...], int], dict[str, list[File]]] = {}
    for file in files:
        units = places.setdefault((tuple(sorted(file.locations)), file.lowest_run or 0), {})
        units.setdefault(min(file.parents), []).append(file)
    for _, units in sorted(places.items()):
        yield sorted(Unit.of(name, those) for name, those in units.items())
