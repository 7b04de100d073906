"""Tells tasks in words: the same for the command line and the pages."""

from __future__ import annotations

from collections.abc import Mapping

from jim.reading.job.history import Spread
from jim.reading.quantities import counted, how_many, number, span
from jim.reading.tasks.facts import SourceSeen, Sums
from jim.reading.tasks.records import TaskSeen
from jim.statusdb.task_rows import Part, PieceState, TaskState
from jim.tasks.throttle_row import in_words, read, size_in_words

ASIDE = ("available", "late", "gone", "left out", "dropped")  # states of items that nothing works on
NOT_PLANNED = (PieceState.TAKEN_BACK, PieceState.REPLACED)  # pieces that no longer count as work of a task
NO_ETA = "-"


def state_in_words(task: TaskSeen) -> str:
    """Return the state of a task, with its outcome."""
    return f"{task.state}: {task.outcome}" if task.outcome else task.state.value


def noun_of_items(*, campaigns: bool) -> str:
    """Return what the items of a task are called: those of a task that makes events are its campaigns."""
    return "campaign" if campaigns else "item"


def items_in_words(task: TaskSeen) -> str:
    """Return how many items there are, and how many of them wait or are not taken; of events, how many campaigns."""
    counts = task.items
    if task.campaigns:
        return how_many(sum(counts.values()), "campaign") if counts else "0"
    aside = [(name, counts[name]) for name in ASIDE if counts.get(name)]
    more = f" ({counted(aside)})" if aside else ""
    return f"{sum(counts.values()):,}{more}"


def planned(pieces: Mapping[str, int]) -> int:
    """Count the pieces that are to be done, or are done."""
    return sum(count for state, count in pieces.items() if state not in NOT_PLANNED)


def pieces_in_words(task: TaskSeen) -> str:
    """Return how many pieces are completed, of how many."""
    of = "?" if task.pieces_in_all is None else f"{task.pieces_in_all:,}"
    return f"{task.pieces.get(PieceState.COMPLETED, 0):,} of {of} completed"


def way_in_words(task: TaskSeen) -> str:
    """Return how many pieces are on the way."""
    return f"{task.on_the_way:,} ({task.queued:,} queued)" if task.on_the_way else "0"


def throttle_in_words(task: TaskSeen) -> str:
    """Return the allowance, and how attempts end as long as there are any to come."""
    is_over = task.state in {TaskState.FINISHED, TaskState.CANCELLED}
    return (size_in_words if is_over else in_words)(read(task.throttle))


def eta_in_words(task: TaskSeen) -> str:
    """Return how long a task still takes, as far as that can be known."""
    return NO_ETA if task.eta_seconds is None else span(max(1, round(task.eta_seconds / 60)) * 60)


def part_in_words(part: Part) -> str:
    """Return the part of an item that a piece has."""
    run = f"run {part.run}, " if part.run is not None else ""
    if part.first_event is not None:
        return f"{run}events {part.first_event:,} to {part.last_event:,}"
    return f"{run}lumis {part.first_lumi:,} to {part.last_lumi:,}" if part.first_lumi is not None else "all of it"


def spread_in_words(spread: Spread) -> str:
    """Return the quartiles of a quantity."""
    values = " | ".join(number(each) for each in spread.quartiles)
    values = spread.note if spread.is_brief else f"{values} {spread.unit}"
    return f"{values} (quartiles of {how_many(spread.of, 'completed local job')})"


def inputs_in_words(sums: Sums) -> str:
    """Return how many inputs are no longer as they were when they were worked on; empty: all are."""
    since = [("removed since", sums.removed), ("changed since", sums.stale)]
    return counted((words, count) for words, count in since if count)


def source_in_words(source: SourceSeen) -> str:
    """Return what a source was the first to bring, whether more may come, when it was looked at, what closes it."""
    looked = f", looked at {source.looked}" if source.looked else ", not looked at yet"
    state = f"closed since {source.closed}" if source.closed else "open"
    noun = noun_of_items(campaigns=source.kind == "events")
    words = f"{source.what}: {how_many(source.new, noun)}, {state}{looked}"
    if source.unstable:
        words += f"; {how_many(source.unstable, 'file')} not taken{'' if source.closed else ' yet'}"
    if source.reason:
        words += f"; cannot be looked at since {source.since}: {source.reason}"
    return words if source.closed else f"{words}; closed by {source.closing}"
