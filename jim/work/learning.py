"""Sizes and bundles local jobs by what completed local jobs of the same kind have used.

A site that has not switched this on (`sizing.learn`) is told what it would have given.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from jim.errors import BadRequest
from jim.handlers.base import Handler
from jim.jobs import Used
from jim.site.adapter import sees_work
from jim.site.file import Site
from jim.work.bundles import LARGEST, SPARE_SECONDS
from jim.work.lookup import Resolved
from jim.work.sizing import Size, check_limits, size

FEWEST, MOST = 20, 200  # completed local jobs to learn from
# Memory to ask for: so much more than a quarter of local jobs needed, and at least so many spreads of the middle half.
MARGIN, SPREADS, STEP_MB = 1.1, 1.5, 10


class Quartiles(NamedTuple):
    """What a quarter, half and three quarters of all events did not exceed."""

    low: float
    middle: float
    high: float

    def words(self) -> str:
        """Return the three numbers."""
        return " | ".join(_number(each) for each in self)


class Learned(NamedTuple):
    """What completed local jobs tell: None where too few of them do."""

    cpu: Quartiles | None  # seconds per event
    memory: Quartiles | None  # MB
    of: int  # local jobs

    def words(self) -> str:
        """Return what was seen, in words."""
        seen = [f"{self.cpu.words()} s of CPU per event"] if self.cpu else []
        seen += [f"{self.memory.words()} MB of memory"] if self.memory else []
        return f"{self.of:,} completed local jobs of this job type and request id used {' and '.join(seen)} (quartiles)"


def learn(used: Sequence[Used]) -> Learned:
    """Return what completed local jobs tell. Each counts as much as it has events: to start up takes its time, too."""
    cpu = [(each.cpu_per_event, each.events) for each in used]
    memory = [(float(each.memory_mb), each.events) for each in used if each.memory_mb is not None]
    return Learned(_quartiles(cpu), _quartiles(memory), len(used))


def _quartiles(weighed: list[tuple[float, int]]) -> Quartiles | None:
    """Return the least values that a quarter, half and three quarters of all events do not exceed."""
    if len(weighed) < FEWEST:
        return None
    weighed.sort()
    passed = list(accumulate(events for _, events in weighed))
    return Quartiles(*(weighed[bisect_left(passed, passed[-1] * part / 4)][0] for part in (1, 2, 3)))


def with_learned(handler: Handler, found: Resolved, site: Site, used: Sequence[Used]) -> Resolved:
    """Size a request anew by what was learned, or say what that would have given.

    What the request itself says counts. What cannot be, because the site allows less, is only told.
    """
    if not found.size.events or found.request.get("test") == "yes":
        return found
    learned = learn(used)
    wanted = _wanted(learned, found.request, site)
    if not wanted:
        idle = site.sizing.learn and learned.cpu and not (_is_sized(found.request) or _target(site))
        return (
            _told(found, f"{learned.words()}; without sizing.recommended_cpu_seconds, JIM learns no sizes")
            if idle
            else found
        )
    request = {**found.request, **wanted}
    try:
        how = size(
            handler, request, site, f"three quarters of the events of {learned.of:,} completed local jobs took no more"
        )
        check_limits(handler.resources(request), site, how)
    except BadRequest as error:
        return _told(found, f"{learned.words()}, by which JIM cannot size it: {error}")
    asks = f"; asks for {wanted['memory_mb']:,} MB" if "memory_mb" in wanted else ""
    if not site.sizing.learn:
        return _told(found, f"sizing.learn is off: {learned.words()}, which would have given {_as(how)}{asks}")
    words = f"learned: {learned.words()}"
    return Resolved(
        request, how._replace(why=f"{how.why}{asks}; {words}"), "; ".join(filter(None, (found.facts, words)))
    )


def with_learned_bundle(
    handler: Handler, found: Resolved, site: Site, ran: Sequence[tuple[float, int | None]]
) -> Resolved:
    """Bundle local jobs that take less time than a batch job of this site should, as completed ones of their kind did.

    `ran` has the seconds of each of these, and its events; where a local job has events, it takes its time for them.
    """
    request, wanted, share = found.request, site.limits.bundle_seconds, found.size.events_per_job
    if not wanted or request.get("bundle") or request.get("test") == "yes" or not sees_work(site):
        return found
    seconds = _quartiles([(took / events * share, 1) if events and share else (took, 1) for took, events in ran])
    wall = site.complete(handler.resources(request)).wall_seconds
    if (
        seconds is None or seconds.high * 2 > wanted or not isinstance(wall, int)
    ):  # else the batch system ends it midway
        return found
    # Some take longer, and what may take all of its time limit is begun last.
    limit, most = min(wall + 2 * wanted, site.batch.most_wall_seconds), max(seconds.high, 1)
    bundle = min(int(wanted / most), 1 + int((limit - wall - SPARE_SECONDS) / most), LARGEST)
    took = f"three quarters of {len(ran):,} completed local jobs of this kind took at most {_number(most)} s"
    if bundle < 2:
        return _told(found, f"{took}, but the time limit of one leaves no room for another in a batch job: no bundles")
    words = f"bundles of {bundle:,}: {took}, and a batch job should last {wanted:,} s (limits.bundle_seconds)"
    facts = "; ".join(filter(None, (found.facts, words)))
    learned = {"bundle": bundle, "bundle_seconds": limit}
    return _told(found._replace(request={**request, **learned}, facts=facts), words)


def _wanted(learned: Learned, request: Any, site: Site) -> dict[str, float | int]:
    """Return the attributes that learning gives; none that the request has, and none without effect."""
    wanted: dict[str, float | int] = {}
    if learned.cpu and learned.cpu.high > 0 and _target(site) and not _is_sized(request):
        wanted["cpu_seconds_per_event"] = float(f"{learned.cpu.high:.3g}")
    if learned.memory and not request.get("memory_mb"):
        wanted["memory_mb"] = min(_memory(learned.memory), site.most_memory_mb(request.get("queue")))
    return wanted


def _is_sized(request: Any) -> bool:
    return bool(request.get("cpu_seconds_per_event") or request.get("events_per_job"))


def _target(site: Site) -> int:
    """Return how much CPU time a local job is to take; 0: the site does not say."""
    return site.sizing.recommended_cpu_seconds or site.sizing.most_cpu_seconds


def _memory(seen: Quartiles) -> int:
    """Return the memory that all local jobs but odd ones fit in."""
    needed = max(MARGIN * seen.high, seen.high + SPREADS * (seen.high - seen.low))
    return max(1, math.ceil(needed / STEP_MB)) * STEP_MB


def _told(found: Resolved, words: str) -> Resolved:
    return found._replace(size=found.size._replace(why=f"{found.size.why}; {words}"))


def _as(how: Size) -> str:
    return f"{how.pieces:,} of {how.events_per_job:,} events each"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
