"""jim task status, show, explain, items: what there is to see of tasks."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from jim.cli.arguments import whole_number
from jim.cli.table import table
from jim.cli.tasks.story import NO_ITEM, tell
from jim.cli.text import facts, local_time, plain, say, say_json, say_json_list, with_local_times
from jim.reading.before_submission import Wait
from jim.reading.documents.json_documents import NOTHING
from jim.reading.quantities import ago, counted, how_many, size_of
from jim.reading.tasks import task as reading
from jim.reading.tasks import words as task_words
from jim.reading.tasks.attempts import used_in_words
from jim.reading.tasks.tests import TriedPiece
from jim.reading.tasks.waits import of_piece, waits
from jim.reading.view import View, add_json, look
from jim.statusdb.task_rows import ItemState, PieceState, Task

LIVE_WAVES = ("intended", "handed in")
SHORT = {"seconds per event": "per event"}
LINES = 20  # of a journal
ATTEMPTS = ("local job", "attempt", "verdict", "host", "started", "used", "asked for", "reason")
HEAD = ("task", "state", "open", "items", "pieces", "on the way", "throttle", "failed", "eta", "reason")
STATES = tuple(each.value for each in ItemState)
SPARE = ("open", "items", "throttle")  # where a terminal is narrow: `jim task status NAME` has them


def add_verbs(verbs: Any) -> None:
    """Declare the verbs that read."""
    status = verbs.add_parser("status", help="list the tasks, or show how far one is")
    status.add_argument("names", metavar="NAME", nargs="*", help="a task, in detail; or several; without one, all")
    show = verbs.add_parser("show", help="show all facts of a task or of a piece, with its journal")
    show.add_argument("name", metavar="NAME[/p]", help="a task, or one of its pieces")
    explain = verbs.add_parser(
        "explain", help="explain what a task waits for, on which evidence, and what happens next"
    )
    explain.add_argument("name", metavar="NAME[/p]", help="a task, or one of its pieces")
    items = verbs.add_parser("items", help="list the items of a task")
    items.add_argument("name", metavar="NAME", help="a task")
    items.add_argument("glob", metavar="GLOB", nargs="?", default="*", help="pattern of their names; default: all")
    items.add_argument(
        "--state", metavar="STATE", choices=STATES, default="", help=f"only items in this state: {', '.join(STATES)}"
    )
    items.add_argument(
        "--story",
        action="store_true",
        help="tell each step of these items, and of what was made of them, through all tasks that are fed with it",
    )
    items.add_argument("--limit", metavar="N", type=whole_number(1), help="at most so many; default: all")
    for each in (status, show, explain, items):
        add_json(each)


def _status(arguments: argparse.Namespace) -> int:
    view = look()
    if len(arguments.names) == 1:
        return _one(view, reading.named(view, arguments.names[0]), as_json=arguments.json)
    tasks = [reading.named(view, name) for name in dict.fromkeys(arguments.names)] or view.store.tasks()
    if arguments.json:
        say_json(reading.records(view, tasks))
    elif not tasks:
        say(f"no tasks yet in {view.site.state}; `jim task create FILE` makes one")
    else:
        table(HEAD, map(row, reading.records(view, tasks)), SPARE)
        _say_missing(view, tasks)
    return 0


def _say_missing(view: View, tasks: Sequence[Task]) -> None:
    """Say that no keeper goes on with tasks."""
    if missing := view.without_keeper(tasks):
        say(f"\n{missing}")


def row(told: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the line of a task."""
    is_open = "yes" if told["open"] else "-"
    return (
        *(told["name"], task_words.state_in_words(told), is_open, task_words.items_in_words(told)),
        *(task_words.pieces_in_words(told), task_words.way_in_words(told), task_words.throttle_in_words(told)),
        *(f"{told['pieces'].get('failed', 0):,}", task_words.eta_in_words(told), plain(told["reason"])),
    )


def with_more(words: str, more: str) -> str:
    """Return words, followed by a reason if there is one."""
    return f"{words}: {plain(more)}" if more else words


def _one(view: View, task: Task, *, as_json: bool) -> int:
    told = reading.in_detail(view, task)
    if as_json:
        say_json(told)
        return 0
    state = told["state"] + (f", {told['outcome']}" if told["outcome"] else "")
    pieces = counted((state, count) for state, count in told["pieces"].items()) or "none yet"
    rows: list[tuple[str, object]] = [
        ("task", with_more(task.name, told["summary"])),
        ("state", with_more(state, told["reason"])),
        ("file", f"{plain(told['file'])}{', which differs from what runs' if told['file_differs'] else ''}"),
        ("tested", "; ".join([_tested(told), *told["test"]["measured"]])),
        (_items_head(told), counted((state, count) for state, count in told["items"].items()) or "none yet"),
        ("pieces", pieces),
        ("on the way", _way(told)),
        ("throttle", f"{task_words.throttle_in_words(told)}; at most {task.throttle['queued']:,} not started"),
    ]
    rows += _numbers(told)
    rows += [(f"output {name}", counted(counts.items()) or "none yet") for name, counts in told["outputs"].items()]
    facts(rows)
    _say_sources(told["sources"])
    _say_groups(told["groups"], _items_head(told))
    for each in told["failures"]:
        say(f"{how_many(each['times'], 'piece')}: {plain(each['reason'])} (as {each['example']})", "failed: ")
    for number, changes in told["fixes"].items():
        say(changes_in_words(changes), f"fix {number}: ")
    _say_test(told["test"])
    for each in told["waves"]:
        if each["state"] in LIVE_WAVES and not each["test"]:
            say(
                f"{each['w']}: {how_many(each['size'], 'piece')}, grid job {each['grid'] or 'none yet'}",
                "wave not settled: ",
            )
    _say_missing(view, [task])
    return 0


def _tested(told: Mapping[str, Any]) -> str:
    if told["tested"]:
        return "yes"
    return "not passed as it is now" if told["tests"] else "not yet"


def _way(told: Mapping[str, Any]) -> str:
    """Return how many pieces are on the way, and how many of them have not started."""
    sent, queued = told["on_the_way"], told["queued"]
    return f"{sent:,}" + (f", of which {queued:,} {'has' if queued == 1 else 'have'} not started" if queued else "")


def changes_in_words(changes: Mapping[str, Any]) -> str:
    """Return changes of attributes in words."""
    return plain(", ".join(f"{name} = {value}" for name, value in changes.items()))


def _say_test(test: Mapping[str, Any]) -> None:
    """Tell how each piece of the last test went, and which criteria are not met."""
    for each in test["pieces"]:
        say(plain(TriedPiece(**each).words()), f"test {test['number']}: ")
    for each in test["criteria"]:
        if each["met"] != "yes":
            say(plain(f"{each['what']}: {each['met']}"), f"test {test['number']}: ")


def _numbers(told: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield what is measured of a task, as far as that is known."""
    if told["eta_seconds"] is not None:
        left, last = told["eta_of"]["left"], told["eta_of"]["completed_last_hour"]
        words = f"{how_many(left, 'piece')} left, {last:,} completed in the last hour"
        yield "ends in", f"{task_words.eta_in_words(told)} ({words})"
    for each in told["spreads"]:
        yield SHORT.get(each["what"], each["what"]), task_words.spread_in_words(each)
    if told["bytes_stored"]:
        yield "stored", size_of(told["bytes_stored"])
    if inputs := task_words.inputs_in_words(told):
        yield "inputs", inputs
    if told["avoided_hosts"]:
        yield "avoided", plain(", ".join(told["avoided_hosts"]))


def _say_sources(sources: Iterable[Mapping[str, Any]]) -> None:
    for each in sources:
        say(with_local_times(plain(task_words.source_in_words(each))), "source: ")


def _items_head(told: Mapping[str, Any]) -> str:
    return f"{task_words.noun_of_items(campaigns=told['campaigns'])}s"


def _say_groups(groups: Sequence[Mapping[str, Any]], items: str) -> None:
    if len(groups) < 2 and not any(each["group"] for each in groups):
        return
    rows = (
        (
            plain(each["group"]),
            counted(each["items"].items()),
            counted(each["pieces"].items()),
            "yes" if each["closed"] else "-",
        )
        for each in groups
    )
    table(("group", items, "pieces", "closed"), rows)


def _show(arguments: argparse.Namespace) -> int:
    view = look()
    if "/" in arguments.name:
        return _show_piece(view, arguments.name, as_json=arguments.json)
    task = reading.named(view, arguments.name)
    _one(view, task, as_json=arguments.json)
    if not arguments.json:
        waves = view.store.waves(task.id)
        say()
        table(("wave", "pieces", "grid job", "state", "reason"), (_wave(each._asdict()) for each in waves))
        say()
        lines = view.store.task_journal(task.id, LINES)
        rows = ((local_time(each.at), plain(each.what), with_local_times(plain(each.reason))) for each in lines)
        table(("at", "what", "reason"), rows)
    return 0


def _wave(wave: Mapping[str, Any]) -> tuple[object, ...]:
    name = f"test {wave['t']}.{wave['w']}" if wave["t"] else wave["w"]
    return name, f"{wave['size']:,}", wave["grid"] or "", wave["state"].value, plain(wave["reason"])


def _show_piece(view: View, name: str, *, as_json: bool) -> int:
    _, piece = reading.piece_named(view, name)
    told = reading.piece_record(view, piece)
    if as_json:
        say_json(told)
        return 0
    missing = told["missing"] if told["state"] == PieceState.WAITING else 0
    facts(
        [
            ("piece", name),
            ("state", with_more(told["state"], told["reason"])),
            ("group", plain(told["group"])),
            ("planned", local_time(told["planned"])),
            ("wave", f"{name.partition('/')[0]}:{told['wave']}" if told["wave"] else ""),
            ("local job", told["local_job"] or "none yet"),
            ("promises", f"{how_many(missing, 'item')} not there yet" if missing else ""),
            ("changes", changes_in_words(told["changes"])),
            *((f"fix {number}", changes_in_words(changes)) for number, changes in told["fixes"].items()),
        ]
    )
    if told["attempts"]:
        say()
        table(ATTEMPTS, map(_attempt, told["attempts"]))
    say()
    table(("item", "part"), ((plain(each["item"]), task_words.part_in_words(each)) for each in told["items"]))
    if told["outputs"]:
        say()
        table(("output", "state", "fix", "bytes", "file"), map(_output, told["outputs"]))
    return 0


def _output(told: Mapping[str, Any]) -> tuple[object, ...]:
    size = f"{told['bytes']:,}" if told["place"] else ""
    return told["output"], with_more(told["state"], told["reason"]), told["fix"] or "", size, plain(told["place"])


def _attempt(told: Mapping[str, Any]) -> tuple[object, ...]:
    asked = changes_in_words(told["asked"])
    known = told["local_job"], told["attempt"], told["verdict"] or "none yet", plain(told["host"])
    return (*known, local_time(told["started"]), used_in_words(told), asked, plain(told["reason"]))


def _explain(arguments: argparse.Namespace) -> int:
    view = look()
    if "/" in arguments.name:
        task, piece = reading.piece_named(view, arguments.name)
        found = list(of_piece(view, task, piece))
    else:
        task = reading.named(view, arguments.name)
        found = list(waits(view, task))
    if arguments.json:
        say_json([each._asdict() for each in found])
        return 0
    say(f"{arguments.name}: {task.state.value}")
    for wait in found or [NOTHING]:
        _say_wait(view, wait)
    return 0


def _say_wait(view: View, wait: Wait) -> None:
    say()
    say(with_local_times(plain(wait.what)), "* ")
    say(f"{wait.witness}, {f'seen {ago(view.age(wait.seen))}' if wait.seen else 'just now'}", "  evidence: ")
    say(with_local_times(plain(wait.next)), "  next:     ")


def _items(arguments: argparse.Namespace) -> int:
    view = look()
    task = reading.named(view, arguments.name)
    found = islice(reading.items(view, task, arguments.glob, arguments.state), arguments.limit)
    if arguments.story:
        tell(view, task, found, as_json=arguments.json)
        return 0
    if arguments.json:
        say_json_list(_item(each._asdict()) for each in found)
        return 0
    first = next(found, None)
    if first is None:
        say(NO_ITEM)
        return 0
    rows = ((plain(each.name), plain(each.grp), each.state.value, plain(each.note)) for each in chain([first], found))
    table(("item", "group", "state", "note"), rows)
    return 0


def _item(told: dict[str, Any]) -> dict[str, Any]:
    kept = ("name", "size", "note")
    return {"group": told["grp"], "state": told["state"].value, **{name: told[name] for name in kept}}


VERBS = {"status": _status, "show": _show, "explain": _explain, "items": _items}
