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
from jim.reading import before
from jim.reading.before_submission import Wait
from jim.reading.documents.json_documents import NOTHING
from jim.reading.quantities import ago, counted, how_many, size_of
from jim.reading.tasks import task as reading
from jim.reading.tasks import words as task_words
from jim.reading.tasks.attempts import AttemptSeen, used_in_words
from jim.reading.tasks.facts import SourceSeen
from jim.reading.tasks.records import GroupCounts, TaskInDetail, TaskSeen
from jim.reading.tasks.tests import TestFacts
from jim.reading.tasks.waits import of_piece, waits
from jim.reading.view import View, add_json, look
from jim.statusdb.task_rows import Item, ItemState, Output, PieceState, Task, Wave, WaveState

LIVE_WAVES = (WaveState.INTENDED, WaveState.HANDED_IN)
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
    items.add_argument("glob", metavar="GLOB", nargs="?", default="*", help="names: gen/3-5, 'gen/*'; default: all")
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
    tasks = [reading.named(view, name) for name in dict.fromkeys(arguments.names)] or view.store.tasks.all()
    if arguments.json:
        say_json([each.to_record() for each in reading.seen(view, tasks)])
    elif not tasks:
        say(f"no tasks yet in {view.site.state}; {before.first_step(view.site, '`jim task create FILE` makes one')}")
    else:
        table(HEAD, map(row, reading.seen(view, tasks)), SPARE)
        _say_missing(view, tasks)
    return 0


def _say_missing(view: View, tasks: Sequence[Task]) -> None:
    """Say that no keeper goes on with tasks."""
    if missing := view.without_keeper(tasks):
        say(f"\n{missing}")


def row(task: TaskSeen) -> tuple[object, ...]:
    """Return the line of a task."""
    is_open = "yes" if task.open else "-"
    return (
        *(task.name, task_words.state_in_words(task), is_open, task_words.items_in_words(task)),
        *(task_words.pieces_in_words(task), task_words.way_in_words(task), task_words.throttle_in_words(task)),
        *(f"{task.pieces.get(PieceState.FAILED, 0):,}", task_words.eta_in_words(task), plain(task.reason)),
    )


def with_more(words: str, more: str) -> str:
    """Return words, followed by a reason if there is one."""
    return f"{words}: {plain(more)}" if more else words


def _one(view: View, task: Task, *, as_json: bool) -> int:
    detail = reading.in_detail(view, task)
    if as_json:
        say_json(detail.to_record())
        return 0
    seen = detail.task
    state = seen.state + (f", {seen.outcome}" if seen.outcome else "")
    rows: list[tuple[str, object]] = [
        ("task", with_more(task.name, seen.summary)),
        ("state", with_more(state, seen.reason)),
        ("file", f"{plain(detail.file)}{', which differs from what runs' if detail.file_differs else ''}"),
        ("tested", "; ".join([_tested(seen), *detail.test.measured()])),
        (_items_head(seen), counted(seen.items.items()) or "none yet"),
        ("pieces", counted(seen.pieces.items()) or "none yet"),
        ("on the way", _way(seen)),
        ("throttle", f"{task_words.throttle_in_words(seen)}; at most {task.throttle['queued']:,} not started"),
    ]
    rows += _numbers(detail)
    rows += [(f"output {name}", counted(counts.items()) or "none yet") for name, counts in seen.outputs.items()]
    facts(rows)
    _say_sources(detail.sources)
    _say_groups(detail.groups, _items_head(seen))
    for each in detail.failures:
        say(f"{how_many(each.times, 'piece')}: {plain(each.reason)} (as {each.example})", "failed: ")
    for number, changes in detail.fixes.items():
        say(changes_in_words(changes), f"fix {number}: ")
    _say_test(detail.test)
    for wave in detail.waves:
        if wave.state in LIVE_WAVES and not wave.t:
            words = f"{wave.w}: {how_many(wave.size, 'piece')}, grid job {wave.grid or 'none yet'}"
            say(words, "wave not settled: ")
    _say_missing(view, [task])
    return 0


def _tested(task: TaskSeen) -> str:
    if task.tested:
        return "yes"
    return "not passed as it is now" if task.tests else "not yet"


def _way(task: TaskSeen) -> str:
    """Return how many pieces are on the way, and how many of them have not started."""
    sent, queued = task.on_the_way, task.queued
    return f"{sent:,}" + (f", of which {queued:,} {'has' if queued == 1 else 'have'} not started" if queued else "")


def changes_in_words(changes: Mapping[str, Any]) -> str:
    """Return changes of attributes in words."""
    return plain(", ".join(f"{name} = {value}" for name, value in changes.items()))


def _say_test(test: TestFacts) -> None:
    """Tell how each piece of the last test went, and which criteria are not met."""
    for each in test.pieces:
        say(plain(each.words()), f"test {test.number}: ")
    for what, met in test.criteria:
        if met != "yes":
            say(plain(f"{what}: {met}"), f"test {test.number}: ")


def _numbers(detail: TaskInDetail) -> Iterator[tuple[str, object]]:
    """Yield what is measured of a task, as far as that is known."""
    if eta := detail.task.eta:
        words = f"{how_many(eta.left, 'piece')} left, {eta.last_hour:,} completed in the last hour"
        yield "ends in", f"{task_words.eta_in_words(detail.task)} ({words})"
    for each in detail.spreads:
        yield SHORT.get(each.what, each.what), task_words.spread_in_words(each)
    if detail.sums.bytes_stored:
        yield "stored", size_of(detail.sums.bytes_stored)
    if inputs := task_words.inputs_in_words(detail.sums):
        yield "inputs", inputs
    if detail.avoided_hosts:
        yield "avoided", plain(", ".join(detail.avoided_hosts))


def _say_sources(sources: Iterable[SourceSeen]) -> None:
    for each in sources:
        say(with_local_times(plain(task_words.source_in_words(each))), "source: ")


def _items_head(task: TaskSeen) -> str:
    return f"{task_words.noun_of_items(campaigns=task.campaigns)}s"


def _say_groups(groups: Sequence[GroupCounts], items: str) -> None:
    if len(groups) < 2 and not any(each.group for each in groups):
        return
    rows = (
        (
            plain(each.group),
            counted(each.counts["items"].items()),
            counted(each.counts["pieces"].items()),
            "yes" if each.closed else "-",
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
        waves = view.store.waves.all(task.id)
        say()
        table(("wave", "pieces", "grid job", "state", "reason"), map(_wave, waves))
        say()
        lines = view.store.tasks.journal(task.id, LINES)
        rows = ((local_time(each.at), plain(each.what), with_local_times(plain(each.reason))) for each in lines)
        table(("at", "what", "reason"), rows)
    return 0


def _wave(wave: Wave) -> tuple[object, ...]:
    name = f"test {wave.t}.{wave.w}" if wave.t else wave.w
    return name, f"{wave.size:,}", wave.grid or "", wave.state.value, plain(wave.reason)


def _show_piece(view: View, name: str, *, as_json: bool) -> int:
    _, row = reading.piece_named(view, name)
    piece = reading.piece_in_detail(view, row)
    if as_json:
        say_json(piece.to_record())
        return 0
    missing = piece.missing if piece.state is PieceState.WAITING else 0
    facts(
        [
            ("piece", name),
            ("state", with_more(piece.state, piece.reason)),
            ("group", plain(piece.group)),
            ("planned", local_time(piece.planned)),
            ("wave", f"{name.partition('/')[0]}:{piece.wave}" if piece.wave else ""),
            ("local job", piece.local_job or "none yet"),
            ("promises", f"{how_many(missing, 'item')} not there yet" if missing else ""),
            ("changes", changes_in_words(piece.changes)),
            *((f"fix {number}", changes_in_words(changes)) for number, changes in piece.fixes.items()),
        ]
    )
    if piece.attempts:
        say()
        table(ATTEMPTS, map(_attempt, piece.attempts))
    say()
    table(("item", "part"), ((plain(each.name), task_words.part_in_words(each.part)) for each in piece.items))
    if piece.outputs:
        say()
        table(("output", "state", "fix", "bytes", "file"), map(_output, piece.outputs))
    return 0


def _output(output: Output) -> tuple[object, ...]:
    size = f"{output.bytes:,}" if output.place else ""
    return output.stream, with_more(output.state, output.reason), output.fix or "", size, plain(output.place)


def _attempt(attempt: AttemptSeen) -> tuple[object, ...]:
    asked = changes_in_words(attempt.asked)
    who = attempt.local_job, attempt.attempt, attempt.verdict or "none yet", plain(attempt.host)
    return (*who, local_time(attempt.started), used_in_words(attempt), asked, plain(attempt.reason))


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
        say_json_list(map(_item, found))
        return 0
    first = next(found, None)
    if first is None:
        say(NO_ITEM)
        return 0
    rows = ((plain(each.name), plain(each.grp), each.state.value, plain(each.note)) for each in chain([first], found))
    table(("item", "group", "state", "note"), rows)
    return 0


def _item(item: Item) -> dict[str, Any]:
    return {"group": item.grp, "state": item.state.value, "name": item.name, "size": item.size, "note": item.note}


VERBS = {"status": _status, "show": _show, "explain": _explain, "items": _items}
