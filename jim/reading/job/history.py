"""Shows the progress of a grid job or the site: changes by minute, pace, and the time of attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nsmallest
from statistics import quantiles
from typing import NamedTuple

from jim.evidence.exit_record import times_of
from jim.jobs import GridJob
from jim.model import State, Step
from jim.reading.job import usage
from jim.reading.job.usage import Measured
from jim.reading.view import View
from jim.statusdb.list_filters import Minute

FEWEST = 20  # completions in an hour that suffice to estimate an end
HOUR = 60  # minutes
BARS = 120  # of a timeline
SLOWEST = 5  # attempts that are named
MOST = 100_000  # local jobs; to read more takes too long
ALL_BRIEF, MOST_BRIEF = "all under a second", "three quarters under a second"
ENDS = ("completed", "failed", "killed")


class Timeline(NamedTuple):
    """Counts in steps of equal length; the last step ends now or at the end of the grid job."""

    begin: str
    step_minutes: int
    counts: Mapping[str, Sequence[int]]  # by kind of change

    @property
    def length(self) -> int:
        """Return the number of steps."""
        return max((len(each) for each in self.counts.values()), default=0)

    @property
    def most(self) -> int:
        """Return the highest count."""
        return max((count for each in self.counts.values() for count in each), default=0)


class Pace(NamedTuple):
    """The estimated end of a grid job, and its basis."""

    end: str
    last_hour: int  # completions
    left: int


class Spread(NamedTuple):
    """Quartiles of a quantity of completed attempts."""

    what: str
    unit: str
    quartiles: tuple[float, float, float]
    of: int  # attempts
    note: str = ""

    @property
    def is_brief(self) -> bool:
        """Tell whether the note says all: the times were too short."""
        return self.note in (ALL_BRIEF, MOST_BRIEF)


class Slow(NamedTuple):
    """An attempt that took long, by its exit record."""

    seconds: float
    n: int
    attempt: int


def minutes(view: View, job: GridJob) -> list[Minute]:
    """Count changes of a grid job's local jobs by minute."""
    return view.store.seen.minutes(job.id) if job.size else []


def timeline(found: Sequence[Minute], end: str, what: Sequence[str] = ("started", *ENDS)) -> Timeline | None:
    """Put counts by minute into steps of equal length up to `end`; None if there were no changes."""
    known = [each for each in found if each.what in what]
    if not known:
        return None
    last = max(_minute(end), *(_minute(each.at) for each in known))
    first = min(_minute(each.at) for each in known)
    step = next(size for size in _steps() if (last - first) // 60 // size < BARS)
    first -= first % (60 * step)
    count = (last - first) // 60 // step + 1
    counts = {each: [0] * count for each in what}
    for each in known:
        counts[each.what][(_minute(each.at) - first) // 60 // step] += each.times
    return Timeline(_text(first), step, {name: each for name, each in counts.items() if any(each)})


def _steps() -> list[int]:
    hours = [HOUR * count for count in (1, 2, 6, 12, 24, 48, 168)]
    return [1, 2, 5, 10, 30, *hours, *(168 * HOUR * 2**power for power in range(1, 30))]


def _minute(text: str) -> int:
    return int(datetime.fromisoformat(f"{text[:16]}:00+00:00").timestamp())


def _text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, tz=datetime.fromisoformat("1970-01-01T00:00:00+00:00").tzinfo).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


def last_hour(view: View) -> Timeline | None:
    """Return the changes of the last hour; None if there were none."""
    begin = _minute(view.now()) - 60 * (HOUR - 1)
    counts: dict[str, list[int]] = {}
    for each in view.store.seen.lately(_text(begin)):
        place = (_minute(each.at) - begin) // 60
        if 0 <= place < HOUR:
            counts.setdefault(each.what, [0] * HOUR)[place] += each.times
    return Timeline(_text(begin), 1, counts) if counts else None


def pace(view: View, job: GridJob, found: Sequence[Minute]) -> Pace | None:
    """Estimate the end of a grid job from the completions of the last hour; None if there were too few."""
    if job.step is not Step.ACTIVE or job.wish:
        return None
    now = datetime.fromisoformat(view.now())
    now = now.replace(second=now.second // 30 * 30, microsecond=0)  # else the estimate changes with every look
    since = (now - timedelta(hours=1)).isoformat()[:16]
    done = sum(each.times for each in found if each.what == State.COMPLETED.value and each.at >= since)
    counts = view.store.counts(job.id)
    left = sum(count for state, count in counts.items() if not state.final)
    first = min((each.at for each in found if each.at >= since), default=since)
    span = max(1.0, (now - datetime.fromisoformat(f"{first}:00+00:00")).total_seconds())
    if done < FEWEST or not left:
        return None
    end = now + timedelta(seconds=left * span / done)
    return Pace(f"{end.isoformat()[:16]}:00Z", done, left)


def spreads(view: View, job: GridJob) -> list[Spread]:
    """Return quartiles of what completed attempts took, by their exit records."""
    return spreads_of(usage.completed(view, job), job)


def spreads_of(attempts: Sequence[Measured], job: GridJob) -> list[Spread]:
    """Return quartiles of what attempts took; seconds per event are known where the local jobs have events."""
    wall = [each.seconds for each in attempts] if any(each.seconds for each in attempts) else []
    rows = run_times(attempts) if wall else []
    if job.events_per_job:
        rows.insert(0, spread("seconds per event", "s", [each / job.events_per_job for each in wall]))
    rows.append(_memory(attempts, job.request.get("memory_mb")))
    return [each for each in rows if each]


def run_times(attempts: Sequence[Measured]) -> list[Spread | None]:
    """Return quartiles of run times and CPU shares; a share of times that could not be measured says nothing."""
    times = spread("run time", "s", [each.seconds for each in attempts])
    if not times or times.is_brief:
        return [times]
    return [times, spread("CPU share", "%", [100 * each.cpu / each.seconds for each in attempts if each.seconds > 0])]


def slowest(view: View, job: GridJob) -> list[Slow]:
    """Return the attempts of a grid job that took longest, completed or not, the slowest first."""
    records = view.store.seen.records_of_all(job.id) if job.size else ()
    taken = (Slow(times[0], n, attempt) for n, attempt, record in records if (times := times_of(record)))
    return nsmallest(SLOWEST, taken, key=lambda each: (-each.seconds, each.n, each.attempt))


def _memory(attempts: Sequence[Measured], asked: object) -> Spread | None:
    """Return the quartiles of the peaks of memory, where wrappers could measure them."""
    peaks = [each for each in attempts if each.peak_mb is not None]
    row = spread("memory", "MB", [each.peak_mb or 0 for each in peaks])
    if row is None:
        return None
    sampled = sum(each.sampled for each in peaks)
    of = f"of {asked:,} asked" if isinstance(asked, int) else ""
    least = f"{sampled:,} of {row.of:,} sampled, which may be less than the peak" if sampled else ""
    return row._replace(note="; ".join(filter(None, (of, least))))


def spread(what: str, unit: str, values: Sequence[float]) -> Spread | None:
    """Return the quartiles of a quantity; None if there are too few values."""
    if len(values) < 2:
        return None
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return Spread(what, unit, (low, middle, high), len(values), _brief(what, values, high) if unit == "s" else "")


def _brief(what: str, values: Sequence[float], high: float) -> str:
    """Return words for times too short to be measured, as most are by whole seconds; empty for others."""
    if high >= 1 or (high and what != "run time"):
        return ""
    return ALL_BRIEF if max(values) < 1 else MOST_BRIEF
