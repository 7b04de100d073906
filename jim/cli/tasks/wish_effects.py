"""What a wish for a task will do: in words, and in numbers for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from jim.cli.tasks.recovery import fix_in_words, recovered
from jim.reading.quantities import counted
from jim.reading.tasks.effects import TOLD, Content, Known, Told, follow
from jim.reading.tasks.task import facts
from jim.reading.view import View
from jim.statusdb.task_rows import ItemState, PieceState, Task
from jim.tasks.effects import TaskVerb
from jim.tasks.pool.pool_wishes import GIVEN_UP_FROM, grouped


def told(view: View, verb: TaskVerb, task: Task, content: Content) -> Told:
    """Return what a wish will do, in words, and with its numbers."""
    known = Known(view, task, facts(view, task))
    states = {"on_the_way": PieceState.SENT, "ready": PieceState.READY, "failed": PieceState.FAILED}
    numbers: dict[str, Any] = {name: known.pieces(state) for name, state in states.items()}
    words, more = ALL[verb](known, content)
    return words, numbers | more


def _recover(known: Known, content: Content) -> Told:
    return f"recovered; {follow(known.task)}", recovered(known.view, known.task, content)


def _fix(known: Known, content: Content) -> Told:
    reached = known.pieces(PieceState.SENT) + known.pieces(PieceState.READY)
    number = len(known.view.store.tasks.fixes(known.task.id)) + 1
    return fix_in_words(known.view, known.task, dict(content), reached), {"fix": number, "reached": reached}


def _drop(known: Known, content: Content) -> Told:
    """Count which items are given up, if nothing of them is on the way, and which cannot be."""
    counts = Counter({"given up": 0})
    for name in dict.fromkeys(content["items"]):
        item = known.view.store.pools.item_named(known.task.id, name)
        able = item and (item.state in GIVEN_UP_FROM or item.state is ItemState.ACQUIRED)
        counts["given up" if able else f"{item.state} already" if item else "unknown"] += 1
    more = ", unless they are on the way" if counts["given up"] else ""
    return counted(counts.items()) + more, {name.replace(" ", "_"): count for name, count in counts.items()}


def _add(known: Known, content: Content) -> Told:
    """Count which names are new, which are known already, and which come too late."""
    store, task = known.view.store, known.task
    closed = {each.grp for each in store.pools.groups(task.id) if each.closed and not content.get("reopen")}
    counts = Counter({"new": 0, "known already": 0, "late": 0})
    for name, grp in dict(grouped(task, content["items"])).items():
        if grp is None:
            counts["outside of every group"] += 1
        elif store.pools.item_named(task.id, name):
            counts["known already"] += 1
        else:
            counts["late" if grp in closed else "new"] += 1
    return counted(counts.items()), {name.replace(" ", "_"): count for name, count in counts.items()}


ALL: dict[TaskVerb, Callable[[Known, Content], Told]] = {
    **TOLD,
    TaskVerb.RECOVER: _recover,
    TaskVerb.FIX: _fix,
    TaskVerb.ADD: _add,
    TaskVerb.DROP: _drop,
}
