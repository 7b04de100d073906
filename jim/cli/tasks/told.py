"""What a wish for a task will do: in words, and in numbers for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jim.cli.tasks.recovery import fix_in_words, recovered
from jim.reading.quantities import counted, how_many
from jim.reading.tasks import Facts, facts
from jim.reading.view import View
from jim.statusdb.task_rows import ItemState, PieceState, Task
from jim.tasks.effects import POOL_VERBS, TaskVerb, to_retry
from jim.tasks.pool_wishes import grouped
from jim.tasks.throttle import read

SHOWN = 5  # pieces that are named
Content = Mapping[str, Any]
Told = tuple[str, dict[str, Any]]


class Known(NamedTuple):
    """What is known of a task before a wish is fulfilled."""

    view: View
    task: Task
    facts: Facts

    def pieces(self, state: PieceState) -> int:
        """Count the pieces in a state."""
        return self.facts.pieces.get(state, 0)


def told(view: View, verb: TaskVerb, task: Task, content: Content) -> Told:
    """Return what a wish will do, in words, and with its numbers."""
    known = Known(view, task, facts(view, task))
    states = {"on_the_way": PieceState.SENT, "ready": PieceState.READY, "failed": PieceState.FAILED}
    numbers = {name: known.pieces(state) for name, state in states.items()}
    words, more = _of_pool(known, verb, content) if verb in POOL_VERBS else OF_TASK[verb](known, content)
    return words, numbers | more


def _follow(task: Task) -> str:
    return f"`jim task explain {task.name}` shows the progress"


def _at_first(task: Task) -> str:
    return f"at most {read(task.throttle).first:,} pieces are on the way at first"


def _test(known: Known, _: Content) -> Told:
    number = known.task.tests + 1
    return f"test {number} begins; {_follow(known.task)}", {"test": number}


def _start(known: Known, _: Content) -> Told:
    limits = read(known.task.throttle)
    more = f", and more while they end well, up to {limits.at_once:,}" if limits.at_once > limits.first else ""
    words = f"starts; {_at_first(known.task)}{more}; `jim task status {known.task.name}` shows the progress"
    return words, {"allowance": limits.allowance}


def _pause(known: Known, content: Content) -> Told:
    sent = known.pieces(PieceState.SENT)
    becomes = ": what the batch system has goes on"
    if content.get("kill"):
        becomes = ": they are ended, and released again after `jim task resume`"
    elif content.get("suspend"):
        becomes = ": they are suspended"
    return f"pauses; {how_many(sent, 'piece')} on the way{becomes if sent else ''}", {}


def _resume(known: Known, _: Content) -> Told:
    words = f"goes on; {how_many(known.pieces(PieceState.READY), 'piece')} ready; {_at_first(known.task)}"
    return words, {"allowance": min(known.task.throttle["first"], known.task.throttle["at_once"])}


def _throttle(known: Known, content: Content) -> Told:
    before = {name: known.task.throttle[name] for name in content}
    return ", ".join(f"{name} {before[name]:,} → {value:,}" for name, value in content.items()), {"before": before}


def _retry(known: Known, content: Content) -> Told:
    numbers, failed = to_retry(known.view.store, known.task, content), known.pieces(PieceState.FAILED)
    named = ", ".join(f"{known.task.name}/{p}" for p in numbers[:SHOWN]) + ", …" * (len(numbers) > SHOWN)
    verb = "is" if len(numbers) == 1 else "are"
    words = f"{len(numbers):,} of {how_many(failed, 'failed piece')} {verb} tried again"
    return f"{words}{f': {named}' if named else ''}", {"pieces": numbers}


def _recover(known: Known, content: Content) -> Told:
    return f"recovered; {_follow(known.task)}", recovered(known.view, known.task, content)


def _fix(known: Known, content: Content) -> Told:
    reached = known.pieces(PieceState.SENT) + known.pieces(PieceState.READY)
    number = len(known.view.store.fixes(known.task.id)) + 1
    return fix_in_words(known.view, known.task, dict(content), reached), {"fix": number, "reached": reached}


def _priority(known: Known, content: Content) -> Told:
    before = known.task.priority
    return f"priority {before} → {content['priority']}", {"before": before}


def _cancel(known: Known, _: Content) -> Told:
    sent = how_many(known.pieces(PieceState.SENT), "piece")
    return f"is cancelled, with {sent} on the way; {_follow(known.task)}", {}


def _remove(known: Known, _: Content) -> Told:
    items, pieces = sum(known.facts.items.values()), known.task.next_piece
    words = f"is forgotten: {how_many(items, 'item')}, {how_many(pieces, 'piece')}"
    return words, {"items": items, "pieces": pieces}


# Wishes for the pool


def _of_pool(known: Known, verb: TaskVerb, content: Content) -> Told:
    if verb is TaskVerb.ADD:
        return _add(known, content)
    if verb is TaskVerb.DROP:
        return f"{how_many(len(content['items']), 'item')}: given up, unless they are on the way", {}
    counts = known.view.store.task_counts(known.task.id, "items", content.get("group"))
    waiting, late = counts.get(ItemState.AVAILABLE, 0), counts.get(ItemState.LATE, 0)
    named = f"group {content['group']} " if "group" in content else ""
    if verb is TaskVerb.REOPEN:
        return f"{named}is open again; {how_many(late, 'late item')}", {"late": late}
    words = "is closed" if verb is TaskVerb.CLOSE else "stays open"
    planned = f"{how_many(waiting, 'item')} waited, and {'is' if waiting == 1 else 'are'} planned"
    return f"{named}{words}; {planned}", {"waited": waiting}


def _add(known: Known, content: Content) -> Told:
    """Count which names are new, which are known already, and which come too late."""
    store, task = known.view.store, known.task
    closed = {each.grp for each in store.groups(task.id) if each.closed and not content.get("reopen")}
    counts = Counter({"new": 0, "known already": 0, "late": 0})
    for name, grp in dict(grouped(task, content["items"])).items():
        if grp is None:
            counts["outside of every group"] += 1
        elif store.item_named(task.id, name):
            counts["known already"] += 1
        else:
            counts["late" if grp in closed else "new"] += 1
    return counted(counts.items()), {name.replace(" ", "_"): count for name, count in counts.items()}


OF_TASK: dict[TaskVerb, Callable[[Known, Content], Told]] = {
    TaskVerb.TEST: _test,
    TaskVerb.START: _start,
    TaskVerb.PAUSE: _pause,
    TaskVerb.RESUME: _resume,
    TaskVerb.THROTTLE: _throttle,
    TaskVerb.RETRY: _retry,
    TaskVerb.RECOVER: _recover,
    TaskVerb.FIX: _fix,
    TaskVerb.PRIORITY: _priority,
    TaskVerb.CANCEL: _cancel,
    TaskVerb.REMOVE: _remove,
}
