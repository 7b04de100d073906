"""jim task watch, log, graph: follow a task to its end, tell what happened, and show how tasks feed one another."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from jim import run_grid_job
from jim.cli.arguments import whole_number
from jim.cli.table import table
from jim.cli.text import local_time, plain, say, say_json, with_local_times
from jim.doors import inbox
from jim.reading import before
from jim.reading.quantities import span
from jim.reading.tasks import task as reading
from jim.reading.tasks.log import Level, LogLine, log_of
from jim.reading.tasks.tests import test_facts
from jim.reading.tasks.waits import next_step, waits
from jim.reading.view import View, add_json, look
from jim.site.lock import FRESH_SECONDS
from jim.statusdb.task_rows import PieceState, Task, TaskState
from jim.tasks.effects import is_tried
from jim.tasks.pool.concluding import COMPLETED

LOOK_SECONDS = 0.5
LEVELS = {each.name.lower(): each for each in sorted(Level)}
LAST = 100  # lines of a log
FOR_EVER = float("inf")
ENDED = (TaskState.FINISHED, TaskState.CANCELLED)
AWAITED = (TaskState.RUNNING, TaskState.TESTING, TaskState.CANCELLING)  # a keeper has to go on with these

FOR_PEOPLE = (TaskState.CONFIGURED, TaskState.READY, TaskState.PAUSED)  # nothing goes on before somebody says so


def add_verbs(verbs: Any) -> None:
    """Declare the verbs that follow and draw."""
    watch = verbs.add_parser("watch", help="follow a task until it is finished or cancelled: exit 0 if it completed")
    watch.add_argument("name", metavar="NAME", help="a task")
    add_json(watch)
    log = verbs.add_parser("log", help="print what happened to a task, the latest last")
    log.add_argument("name", metavar="NAME", help="a task")
    levels = ", ".join(LEVELS)
    log.add_argument("--level", metavar="LEVEL", choices=LEVELS, default="info", help=f"{levels}; default: info")
    log.add_argument("--last", metavar="N", type=whole_number(1), default=LAST, help=f"so many lines; default: {LAST}")
    add_json(log)
    drawn = verbs.add_parser("graph", help="show how tasks feed one another")
    drawn.add_argument("names", metavar="NAME", nargs="*", help="a task of a chain; without one, all tasks")
    drawn.add_argument("--svg", action="store_true", help="print a drawing, in SVG")
    add_json(drawn)


def follow(
    name: str, over: Callable[[Task], bool], *, quiet: bool = False, old: str = "", most: float = FOR_EVER
) -> Task:
    """Print a line for each change of a task, until that is over or `most` seconds have passed; return the task then.

    Of a keeper that refuses to go on it is told once.

    The line `old` is known to the reader: the keeper has still to take what was asked for.
    """
    last, told, woken = old, False, monotonic()
    until = woken + most
    while True:
        began, view = monotonic(), look()
        wished = name in inbox.wished(view.site.state)  # what is read after this shows the effect of earlier wishes
        try:
            task, heart = view.store.tasks.named(name), view.heart()
            line = line_of(view, task)
        finally:
            view.store.close()
        if line != last and not quiet:
            say(line)
        if heart.refuses and not told and not quiet:
            say(heart.missing())
        sys.stdout.flush()
        last, told = line, told or heart.refuses
        if (over(task) and not wished) or began >= until:
            return task
        if not heart.beats and (wished or task.state in AWAITED) and began - woken > FRESH_SECONDS:
            run_grid_job.wake(view.site.state)
            woken = began
        sleep(max(LOOK_SECONDS, 10 * (monotonic() - began)))  # a large task is read less often


def line_of(view: View, task: Task) -> str:
    """Return how far a task is."""
    seen = reading.seen_alone(view, task)
    state = seen.state + (f", {seen.outcome}" if seen.outcome else "")
    usual = [each.words for each in seen.hindrances if each.kind == "items"]  # a line for each file is no news
    reason = f" ({plain(seen.reason)})" if seen.reason and seen.reason not in usual else ""
    completed, failed = (seen.pieces.get(name, 0) for name in (PieceState.COMPLETED, PieceState.FAILED))
    counts = [(completed, "completed"), (seen.on_the_way, "on the way"), (failed, "failed")]
    more = ", ".join(f"{count:,} {words}" for count, words in counts if count)
    if task.state is TaskState.RUNNING and not more:
        more = _waits_for(task)
    if task.state is TaskState.TESTING:
        more = plain([each.what for each in waits(view, task)][-1])
    if task.state in FOR_PEOPLE:
        more = "; ".join(filter(None, (more, next_step(task))))
    return f"{seen.name} {state}{reason}{f': {more}' if more else ''}"


def _waits_for(task: Task) -> str:
    """Return what a task waits for of which nothing is on the way yet, in words that stay the same meanwhile."""
    upstream = dict.fromkeys(plain(each.task) for each in task.spec.connectors)
    if upstream:
        return f"waits for what {' and '.join(upstream)} {'brings' if len(upstream) == 1 else 'bring'}"
    return "waits for its first piece"


def _watch(arguments: argparse.Namespace) -> int:
    task = follow(arguments.name, lambda each: each.state in ENDED, quiet=arguments.json)
    if arguments.json:
        view = look()
        say_json(reading.seen_alone(view, task).to_record())
    return 0 if task.state is TaskState.FINISHED and task.outcome == COMPLETED else 1


def watch_test(asked: Task, before: str, most: float | None) -> int:
    """Follow a test that was asked for to its end, and tell how it went; exit 0 if it passed.

    `before` is the line of the task at that time: it may tell of a failure that is over.
    """
    limit = FOR_EVER if most is None else most
    task = follow(asked.name, lambda each: not is_tried(each), old=before, most=limit)
    if is_tried(task):
        say(f"the test goes on after {span(limit)}; `jim task explain {asked.name}` tells what it waits for")
        return 1
    if task.tests == asked.tests:
        say(f"{task.name}: no test has begun; `jim task explain {task.name}` tells what it waits for")
        return 1
    facts = test_facts(look(), task)
    for piece in facts.pieces:
        say(piece.words())
    for words, met in facts.criteria:
        say(f"{words}: {met}")
    for measured in facts.measured():
        say(measured)
    if asked.state is TaskState.RUNNING:
        return 0 if all(met == "yes" for _, met in facts.criteria) else 1
    return 0 if task.state is TaskState.READY else 1


def _graph(arguments: argparse.Namespace) -> int:
    from jim.reading.tasks.graph import as_svg, as_text, graph  # slow to load, and who lists tasks needs none of it

    view = look()
    found = graph(view, arguments.names)
    if arguments.json:
        say_json({"tasks": [each._asdict() for each in found.boxes], "connectors": [a._asdict() for a in found.arrows]})
    elif arguments.svg:
        print(as_svg(found))
    elif not found.boxes:
        say(f"no tasks yet in {view.site.state}; {before.first_step(view.site, '`jim task create FILE` makes one')}")
    else:
        for line in as_text(found):
            say(line)
    return 0


def _log(arguments: argparse.Namespace) -> int:
    """Print the lines that matter so much."""
    view = look()
    lines = log_of(view, reading.named(view, arguments.name), LEVELS[arguments.level], arguments.last)
    if arguments.json:
        say_json([{**each._asdict(), "level": each.level.name.lower()} for each in lines])
    elif lines:
        table(("at", "level", "of", "what", "reason"), map(_row, lines))
    else:
        say(f"nothing of the level {arguments.level} has happened")
    return 0


def _row(line: LogLine) -> tuple[str, ...]:
    texts = plain(line.of), plain(line.what), with_local_times(plain(line.reason))
    return local_time(line.at), line.level.name.lower(), *texts


VERBS = {"watch": _watch, "log": _log, "graph": _graph}
