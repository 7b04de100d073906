"""Estimates how long tasks still take, and tells how their attempts went by time, host and reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from math import log1p
from typing import NamedTuple

from jim.reading.job.history import FEWEST, Spread, Timeline, run_times, spread, timeline
from jim.reading.job.usage import LOOKED_AT, Measured, one
from jim.reading.view import View
from jim.statusdb.task_rows import LIVE_PIECES, Item, ItemState, PieceState, Task, TaskState
from jim.tasks.throttle_row import read, steps_in

WORKED_ON = (ItemState.ACQUIRED, ItemState.COMPLETED, ItemState.FAILED)
MOST_RANGES = 10_000  # items of events that are read to know how many pieces are left
LINES_READ = 1_000  # of a journal
Counts = Mapping[str, Mapping[str, int]]  # items and pieces, by state


class Eta(NamedTuple):
    """How long a task still takes, if it goes on as in the last hour."""

    seconds: float
    left: int  # pieces
    last_hour: int  # pieces that have completed


def etas(view: View, tasks: Iterable[Task], counts: Mapping[int, Counts]) -> dict[int, Eta]:
    """Estimate the ends of tasks that run, and to which nothing more comes."""
    live = {each.id: each for each in tasks if each.state is TaskState.RUNNING}
    closed = [number for number in live if all(source.closed for source in view.store.pools.sources(number))]
    now = datetime.fromisoformat(view.now())
    since = (now - timedelta(hours=1)).isoformat()[:16]
    found: dict[int, Eta] = {}
    for number, (done, first) in view.store.seen_tasks.completed_since(closed, f"{since}:00Z").items():
        left = _left(view, live[number], counts.get(number, {}))
        if left and done >= FEWEST:
            hours = max(60.0, now.timestamp() - 60 * first)
            found[number] = Eta(left * hours / done, left, done)
    return found


def _left(view: View, task: Task, counts: Counts) -> int:
    """Count the pieces that have not ended, with those that are still to be planned; 0: that cannot be known."""
    pieces, items = counts.get("pieces", {}), counts.get("items", {})
    planned = sum(pieces.get(state, 0) for state in LIVE_PIECES)
    waiting = items.get(ItemState.AVAILABLE, 0)
    if (known := unplanned(view, task, items)) is not None:
        return planned + known
    cut = sum(items.get(state, 0) for state in WORKED_ON)
    live = sum(count for state, count in pieces.items() if state not in (PieceState.TAKEN_BACK, PieceState.REPLACED))
    return planned + -(-waiting * live // cut) if cut else 0


def unplanned(view: View, task: Task, items: Mapping[str, int]) -> int | None:
    """Count the pieces that are still to be planned of what is there; None: only the splitter knows."""
    if not items.get(ItemState.AVAILABLE):
        return 0
    if not task.spec.makes_events:
        return None
    return sum(map(_pieces_left, view.store.pools.find_items(task.id, "*", ItemState.AVAILABLE, MOST_RANGES)))


def _pieces_left(item: Item) -> int:
    events, per_piece = int(item.record["events"]), int(item.record["per_piece"])
    return -(-(events - item.upto) // per_piece)


class Allowed(NamedTuple):
    """How many pieces could be on the way, from a time on; and how many of the attempts before that had failed."""

    at: str
    allowance: int
    failed: int = 0
    ended: int = 0  # attempts, since the change before; 0: none decided it


class Past(NamedTuple):
    """What has happened to a task up to now."""

    ends: Timeline | None
    allowed: Sequence[Allowed]

    @property
    def most(self) -> int:
        """Return the highest allowance."""
        return max((each.allowance for each in self.allowed), default=0)

    def course(self) -> Iterator[tuple[float, float]]:
        """Yield each change of the allowance as a share of the time that the ends take, and of the highest one."""
        if self.ends is None:
            return
        begin, length = _seconds(self.ends.begin), 60 * self.ends.step_minutes * self.ends.length
        for each in self.allowed:
            yield (_seconds(each.at) - begin) / length, self.height(each.allowance)

    def height(self, allowance: int) -> float:
        """Return an allowance as a share of the highest one, where each tenfold is as high."""
        return log1p(allowance) / log1p(max(1, self.most))


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def past(view: View, task: Task) -> Past:
    """Return how local jobs of a task have ended by time, and how its allowance has changed."""
    over = task.state in (TaskState.FINISHED, TaskState.CANCELLED)
    ends = timeline(view.store.seen_tasks.minutes(task.id), task.updated if over else view.now())
    return Past(ends, list(_allowed(view, task)))


def _allowed(view: View, task: Task) -> Iterator[Allowed]:
    """Yield the allowance at each change: a start, a resume, or a decision of the throttle."""
    first = read(task.throttle).limits.first
    for line in view.store.seen_tasks.lines(task.id, ("throttle", TaskState.RUNNING), LINES_READ):
        steps = steps_in(line.reason) if line.what == "throttle" else []
        yield from (Allowed(line.at, each.after, each.failed, each.ended) for each in steps)
        if line.what == TaskState.RUNNING and not line.reason:
            yield Allowed(line.at, first)


def measured(view: View, task: Task) -> list[tuple[Measured, int]]:
    """Return what completed local jobs have used, with their events, those of the last waves first; of LOOKED_AT."""
    rows = view.store.seen_tasks.records(task.id, LOOKED_AT)
    return [(ran, events) for record, events, resources in rows if (ran := one(record, resources))]


def spreads(view: View, task: Task) -> list[Spread]:
    """Return quartiles of the times of completed local jobs."""
    return spreads_of(measured(view, task))


def spreads_of(local_jobs: Sequence[tuple[Measured, int]]) -> list[Spread]:
    """Return quartiles of the times of some local jobs, each with its events."""
    if not any(ran.seconds for ran, _ in local_jobs):
        return []
    per_event = spread("seconds per event", "s", [ran.seconds / events for ran, events in local_jobs if events])
    rows = [per_event, *run_times([ran for ran, _ in local_jobs])]
    return [each for each in rows if each]
