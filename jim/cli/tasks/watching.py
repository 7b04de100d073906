"""jim task watch, graph: follow a task to its end, and show how tasks feed one another."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from jim import run_grid_job
from jim.cli.text import plain, say, say_json
from jim.doors import inbox
from jim.reading import tasks as reading
from jim.reading.task_graph import as_svg, as_text, graph
from jim.reading.task_tests import test_facts
from jim.reading.view import add_json, look
from jim.site.lock import FRESH_SECONDS
from jim.statusdb.task_rows import Task, TaskState
from jim.tasks.concluding import COMPLETED

LOOK_SECONDS = 0.5
ENDED = (TaskState.FINISHED, TaskState.CANCELLED)
AWAITED = (TaskState.RUNNING, TaskState.TESTING, TaskState.CANCELLING)  # a keeper has to go on with these


def add_verbs(verbs: Any) -> None:
    """Declare the verbs that follow and draw."""
    watch = verbs.add_parser("watch", help="follow a task until it is finished or cancelled: exit 0 if it completed")
    watch.add_argument("name", metavar="NAME", help="a task")
    add_json(watch)
    drawn = verbs.add_parser("graph", help="show how tasks feed one another")
    drawn.add_argument("names", metavar="NAME", nargs="*", help="a task of a chain; without one, all tasks")
    drawn.add_argument("--svg", action="store_true", help="print a drawing, in SVG")
    add_json(drawn)


def follow(name: str, over: Callable[[Task], bool], *, quiet: bool = False) -> Task:
    """Print a line for each change of a task, until that is over; return the task as it is then."""
    last, woken = "", monotonic()
    while True:
        began, view = monotonic(), look()
        wished = inbox.is_wished(view.site.state, name)  # what is read after this shows the effect of earlier wishes
        try:
            task, beats = view.store.task_named(name), view.heart().beats
            line = _line(reading.record(view, task))
        finally:
            view.store.close()
        if line != last and not quiet:
            say(line)
            sys.stdout.flush()
        last = line
        if over(task) and not wished:
            return task
        if not beats and (wished or task.state in AWAITED) and began - woken > FRESH_SECONDS:
            run_grid_job.wake(view.site.state)
            woken = began
        sleep(max(LOOK_SECONDS, 10 * (monotonic() - began)))  # a large task is read less often


def _line(told: dict[str, Any]) -> str:
    """Return how far a task is."""
    state = told["state"] + (f", {told['outcome']}" if told["outcome"] else "")
    reason = f" ({plain(told['reason'])})" if told["reason"] else ""
    pieces, sent = told["pieces"], told["on_the_way"]
    counts = [(pieces.get("completed", 0), "completed"), (sent, "on the way"), (pieces.get("failed", 0), "failed")]
    more = ", ".join(f"{count:,} {words}" for count, words in counts if count)
    return f"{told['name']} {state}{reason}{f': {more}' if more else ''}"


def _watch(arguments: argparse.Namespace) -> int:
    task = follow(arguments.name, lambda each: each.state in ENDED, quiet=arguments.json)
    if arguments.json:
        view = look()
        say_json(reading.record(view, task))
    return 0 if task.state is TaskState.FINISHED and task.outcome == COMPLETED else 1


def watch_test(asked: Task) -> int:
    """Follow a test that was asked for to its end, and tell how it went; exit 0 if it passed."""

    def over(task: Task) -> bool:
        return task.state in ENDED or (task.tests > asked.tests and task.state is not TaskState.TESTING)

    task = follow(asked.name, over)
    facts = test_facts(look(), task)
    for piece in facts.pieces:
        say(piece.words())
    for words, met in facts.criteria:
        say(f"{words}: {met}")
    for measured in facts.measured():
        say(measured)
    return 0 if task.state is TaskState.READY else 1


def _graph(arguments: argparse.Namespace) -> int:
    found = graph(look(), arguments.names)
    if arguments.json:
        say_json({"tasks": [each._asdict() for each in found.boxes], "connectors": [a._asdict() for a in found.arrows]})
    elif arguments.svg:
        print(as_svg(found))
    else:
        for line in as_text(found):
            say(line)
    return 0


VERBS = {"watch": _watch, "graph": _graph}
