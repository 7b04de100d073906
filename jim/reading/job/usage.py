"""What completed attempts have used of what was asked for them: time of cores, memory, and time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any, NamedTuple

from jim.evidence.exit_record import megabytes, times_of
from jim.jobs import GridJob
from jim.model import NOTHING, State
from jim.reading.quantities import how_many, span
from jim.reading.view import View

LOOKED_AT = 1_000  # exit records
_PEAK = re.compile(r"^peak (\d{1,15}) (cgroup|sampled)$", re.MULTILINE)


class Measured(NamedTuple):
    """What one attempt has used."""

    seconds: float
    cpu: float
    peak_mb: int | None  # None: it was not measured
    sampled: bool  # the peak may have been higher
    resources: Mapping[str, Any]  # that were asked for it


class Usage(NamedTuple):
    """How much was used of something; nothing was asked for, if `of` is 0."""

    what: str
    used: float
    of: float
    words: str


def completed(view: View, job: GridJob) -> list[Measured]:
    """Return what completed attempts of a grid job have used, at most of the first LOOKED_AT."""
    if not view.store.counts(job.id).get(State.COMPLETED):
        return []
    return measured(view.store.seen.records_of_completed(job.id, LOOKED_AT))


def measured(rows: Iterable[tuple[str, str]]) -> list[Measured]:
    """Read exit records, each with the resources that were asked for, in JSON."""
    return [ran for record, resources in rows if (ran := one(record, resources))]


def one(record: str, resources: str) -> Measured | None:
    """Read one exit record; None if it makes no sense."""
    times, peak = times_of(record), _PEAK.search(record)
    if not times:
        return None
    peak_mb = megabytes(int(peak[1])) if peak else None
    return Measured(*times, peak_mb, bool(peak and peak[2] == "sampled"), _resources(resources))


@cache
def _read(text: str) -> Mapping[str, Any]:
    resources: Mapping[str, Any] = json.loads(text)
    return resources


def _resources(text: str) -> Mapping[str, Any]:
    """Return what a submission has asked for: all attempts of one have the same."""
    if _read.cache_info().currsize > LOOKED_AT:
        _read.cache_clear()
    return _read(text) if text else NOTHING


def usage(attempts: Sequence[Measured]) -> list[Usage]:
    """Return what attempts have used of what was asked for, as far as it was measured."""
    kinds = (_cpu(attempts), _memory([each for each in attempts if each.peak_mb is not None]), _time(attempts))
    return [each for each in kinds if each]


def _cpu(attempts: Sequence[Measured]) -> Usage | None:
    """Tell how busy the cores were while the attempts had them."""
    cores = [int(each.resources.get("cores") or 1) for each in attempts]
    had = sum(each.seconds * count for each, count in zip(attempts, cores, strict=True))
    if not had:
        return None
    used, most = sum(each.cpu for each in attempts), max(cores)
    return Usage("CPU", used, had, f"{span(used)} of {span(had)} on {how_many(most, 'core')} each, {_share(used, had)}")


def _memory(attempts: Sequence[Measured]) -> Usage | None:
    """Tell how near the attempts came to the memory that was asked for."""
    peaks = [each.peak_mb or 0 for each in attempts]
    if not peaks:
        return None
    least = "; sampled from time to time, so it may have been more" if any(each.sampled for each in attempts) else ""
    half = f"; half of them at most {median(peaks):,.0f} MB{least}" if len(peaks) > 1 else least
    limited = [each for each in attempts if each.resources.get("memory_mb")]
    if not limited:
        return Usage("memory", max(peaks), 0, f"at most {max(peaks):,} MB; none was asked for{half}")
    nearest = max(limited, key=lambda each: (each.peak_mb or 0) / each.resources["memory_mb"])
    used, limit = nearest.peak_mb or 0, int(nearest.resources["memory_mb"])
    return Usage("memory", used, limit, f"at most {used:,} MB of {limit:,} MB, {_share(used, limit)}{half}")


def _time(attempts: Sequence[Measured]) -> Usage | None:
    """Tell how near the attempts came to their time limit."""
    limited = [each for each in attempts if each.resources.get("wall_seconds")]
    if not limited:
        return None
    nearest = max(limited, key=lambda each: each.seconds / each.resources["wall_seconds"])
    used, limit = nearest.seconds, float(nearest.resources["wall_seconds"])
    return Usage("run time", used, limit, f"at most {span(used)} of {span(limit)}, {_share(used, limit)}")


def _share(used: float, of: float) -> str:
    share = 100 * used / of
    return f"{share:.0f} %" if share >= 1 or not used else "less than 1 %"
