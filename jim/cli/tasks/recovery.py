"""jim task recover and fix: what they would do, before it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.cli.split import parameters as values_of
from jim.cli.text import plain, say
from jim.errors import BadRequest
from jim.jobs import Alike
from jim.keeper.inbox.editing import meanings, read
from jim.model import Reason
from jim.reading.groups import grouped
from jim.reading.quantities import counted, how_many
from jim.reading.view import View
from jim.request import declarations, handler_of
from jim.splitting.parameters import declared
from jim.statusdb.task_rows import PieceState, Task, TaskState
from jim.tasks.effects import lost, not_kept_in_words, written
from jim.tasks.file.requests import sample
from jim.tasks.pieces.recovering import PER_PIECE, cut_again, failed_of
from jim.tasks.pieces.waves import fixed
from jim.tasks.wishes import FIXED
from jim.work.own_values import CUT_BY, KNOWN_BY
from jim.work.splitters import find

REASONS_TOLD = 3
NOT_BEGUN = (TaskState.CONFIGURED, TaskState.TESTING, TaskState.READY)
WHOLE = "{} has not begun: change this in its file, and create it again"
RUNS = "{} runs; what may change now: limits, priority, fixes, items (jim task fix --help)"


def of_recovery(view: View, task: Task, words: list[str]) -> dict[str, Any]:
    """Read name=value: a parameter of the splitter, or an attribute of the request, for these new pieces alone."""
    splitter = task.spec.split.splitter
    module = find(splitter, view.site.site.handlers) if splitter else None
    known = {each.name for each in declared(module.Parameters).values()} if module else {PER_PIECE}
    attributes = declarations(handler_of(task.spec.request["job_type"], view.site.site.handlers))
    found: dict[str, dict[str, Any]] = {"parameters": {}, "attributes": {}}
    for word in words:
        name = word.partition("=")[0]
        if "=" not in word:
            raise BadRequest(f"{word!r}: expected NAME=VALUE")
        if name in known:
            found["parameters"] |= values_of([word])
            continue
        if name not in meanings(attributes) or name in CUT_BY | KNOWN_BY:
            raise BadRequest(f"{name!r} is neither a parameter of the splitter nor an attribute that may change")
        found["attributes"] |= dict([read(word, attributes)])
    if found["attributes"]:
        _try(view, task, found["attributes"])
    return {name: values for name, values in found.items() if values}


def recovered(view: View, task: Task, content: Mapping[str, Any]) -> dict[str, Any]:
    """Count what has failed, and what would become of it."""
    failed = failed_of(view.store, task)
    reasons = grouped([Alike(Reason(each.kind, {}, each.reason), 1) for each, _, _ in failed])
    told = {plain(each.words): each.times for each in reasons[:REASONS_TOLD]}
    others, gone = sum(each.times for each in reasons[REASONS_TOLD:]), len(lost(view.store, task))
    events = sum(each.record["events"][1] for each, _, _ in failed) if task.spec.makes_events else None
    return {
        "replaced": [each.p for each, _, _ in failed],
        "items": len({part.item for *_, parts in failed for part in parts}),
        **({} if events is None else {"events": events}),
        "reasons": told | ({"other reasons": others} if others else {}),
        "completed": view.store.tasks.counts(task.id, "pieces").get(PieceState.COMPLETED, 0),
        "becomes": len(list(cut_again(task.spec.split, failed, content, view.site))),
        **({"not_kept": gone} if gone else {}),
    }


def say_recovery(found: Mapping[str, Any]) -> None:
    """Print what has failed, and what would become of it."""
    pieces, completed = len(found["replaced"]), found["completed"]
    told = counted((f"× {reason}", count) for reason, count in found["reasons"].items())
    of = how_many(found["events"], "event") if "events" in found else how_many(found["items"], "item")
    say(
        f"failed: {how_many(pieces, 'piece')}, {of}{f' ({told})' if told else ''}; "
        f"{how_many(completed, 'completed piece')} {'is' if completed == 1 else 'are'} left alone"
    )
    given = ", ".join(f"{name} {value}" for name, value in found["wish"].get("attributes", {}).items())
    say(f"becomes: {how_many(found['becomes'], 'piece')}{f', with {given} (for these alone)' if given else ''}")
    if "not_kept" in found:
        say(f"gone: {not_kept_in_words(found['not_kept'])}")


def of_fix(view: View, task: Task, words: list[str]) -> dict[str, Any]:
    """Read name=value: attributes for all further attempts; refuse what a task cannot run with."""
    if not words:
        raise BadRequest("say what changes: ATTRIBUTE=VALUE")
    attributes = declarations(handler_of(task.spec.request["job_type"], view.site.site.handlers))
    changes = dict(read(word, attributes) for word in words)
    for name in changes:
        if name in FIXED:
            raise BadRequest(WHOLE.format(task.name) if task.state in NOT_BEGUN else RUNS.format(task.name), name)
    _try(view, task, changes)
    return {"changes": changes}


def _try(view: View, task: Task, changes: Mapping[str, Any]) -> None:
    """Refuse changes with which the request of a task makes no sense, or is more than the site allows."""
    spec = fixed(task.spec, [*view.store.tasks.fixes(task.id).values(), changes])
    sample(spec, view.site, events=spec.events)


def fix_in_words(view: View, task: Task, content: dict[str, Any], reached: int) -> str:
    """Return the number of a fix, what it changes, and how many pieces it reaches."""
    fixes = view.store.tasks.fixes(task.id)
    before = fixed(task.spec, fixes.values()).request
    changes = content.get("changes", {}).items()
    told = (f"{name} {written(before.get(name, 'none'))} → {written(value)}" for name, value in changes)
    words = (
        f"fix {len(fixes) + 1}: {', '.join(told)}; for further attempts of {how_many(reached, 'piece')}, and later ones"
    )
    return f"{words}; it is to be tested again" if task.state is TaskState.READY else words
