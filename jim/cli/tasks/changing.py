"""jim task test, start, pause, resume, throttle, cancel, remove: wishes for tasks, which the keeper fulfils."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jim import run_grid_job
from jim.cli.arguments import whole_number
from jim.cli.tasks.recovery import fix_in_words, of_fix, of_recovery, say_recovery
from jim.cli.text import say
from jim.doors import inbox
from jim.errors import BadRequest
from jim.model import MOST_PRIORITY
from jim.reading.quantities import how_many
from jim.reading.tasks import Facts, facts, named
from jim.reading.view import View, look
from jim.statusdb.task_rows import ItemState, PieceState, Task
from jim.tasks.effects import POOL_VERBS, TaskVerb, pool_of, refusal
from jim.tasks.throttle import read
from jim.tasks.words import THROTTLE

HELP = {
    TaskVerb.TEST: "try a task out: its first pieces as grid jobs of their own",
    TaskVerb.START: "let tested tasks begin",
    TaskVerb.PAUSE: "release no more pieces, and send no more attempts",
    TaskVerb.RESUME: "let paused tasks go on",
    TaskVerb.THROTTLE: "change how many pieces are on the way",
    TaskVerb.ADD: "add items by their names",
    TaskVerb.CLOSE: "say that nothing more comes: what waits is planned",
    TaskVerb.REOPEN: "let more come; what came too late is worked on",
    TaskVerb.FLUSH: "plan once what waits to be full, and stay open",
    TaskVerb.DROP: "give up items; what is on the way of them is not touched",
    TaskVerb.RETRY: "try failed pieces again as they are",
    TaskVerb.RECOVER: "do what failed with new pieces, cut smaller or with other attributes",
    TaskVerb.FIX: "change attributes for all further attempts",
    TaskVerb.PRIORITY: "set the priority of a task: the highest is sent first",
    TaskVerb.CANCEL: "end a task with all that is on the way",
    TaskVerb.REMOVE: "forget a task that has ended",
}


def add_verbs(verbs: Any) -> None:
    """Declare the verbs that change tasks."""
    parsers = {verb: verbs.add_parser(verb.value, help=words) for verb, words in HELP.items()}
    for verb, parser in parsers.items():
        several = verb in (TaskVerb.START, TaskVerb.PAUSE, TaskVerb.RESUME, TaskVerb.TEST)
        parser.add_argument("names", metavar="NAME", nargs="+" if several else 1, help="a task")
    parsers[TaskVerb.TEST].add_argument("--pieces", metavar="K", type=whole_number(1), help="how many pieces to try")
    parsers[TaskVerb.START].add_argument("--untested", action="store_true", help="also if it has not been tested")
    how = parsers[TaskVerb.PAUSE].add_mutually_exclusive_group()
    how.add_argument("--suspend", action="store_true", help="suspend what is on the way, as `jim suspend` does")
    how.add_argument(
        "--kill", action="store_true", help="end what is on the way; these pieces are released again later"
    )
    parsers[TaskVerb.RETRY].add_argument("--reason", metavar="WORDS", default="", help="only with these words")
    parsers[TaskVerb.RETRY].add_argument("--max", metavar="N", type=whole_number(1), help="at most so many pieces")
    parsers[TaskVerb.RECOVER].add_argument(
        "words", metavar="NAME=VALUE", nargs="*", help="parameters of the splitter, or attributes of the request"
    )
    parsers[TaskVerb.RECOVER].add_argument("--dry-run", action="store_true", help="show what would be; change nothing")
    parsers[TaskVerb.FIX].add_argument(
        "words", metavar="NAME=VALUE", nargs="+", help="attributes of the request, with their new values"
    )
    parsers[TaskVerb.PRIORITY].add_argument("priority", metavar="N", type=int, help="-1,000 to 1,000; 0 is usual")
    for verb in (TaskVerb.CLOSE, TaskVerb.REOPEN, TaskVerb.FLUSH):
        parsers[verb].add_argument("group", metavar="GROUP", nargs="?", help="only this group")
    parsers[TaskVerb.ADD].add_argument("items", metavar="ITEM", nargs="*", help="name of an item")
    parsers[TaskVerb.ADD].add_argument("--list", metavar="FILE", type=Path, help="a file with a name in each line")
    parsers[TaskVerb.ADD].add_argument("--reopen", action="store_true", help="also if the pool is closed")
    parsers[TaskVerb.DROP].add_argument("items", metavar="ITEM", nargs="+", help="name of an item")
    parsers[TaskVerb.DROP].add_argument("--reason", required=True, help="the reason; it is shown with the item")
    parsers[TaskVerb.THROTTLE].add_argument(
        "limits", metavar="NAME=N", nargs="+", help=f"a new limit: {', '.join(THROTTLE)}"
    )


def _run(arguments: argparse.Namespace) -> int:
    """Store the wishes; none if any task is unknown."""
    verb, view = TaskVerb(arguments.task_verb), look()
    tasks = [named(view, name) for name in arguments.names]
    if verb in (TaskVerb.RECOVER, TaskVerb.FIX):
        content = (of_recovery if verb is TaskVerb.RECOVER else of_fix)(view, tasks[0], arguments.words)
    else:
        content = _content(verb, arguments)
    refused = [(task, refusal(task, verb, content, pool_of(view.store, task))) for task in tasks]
    for _, why in refused:
        if why:
            raise BadRequest(why)
    if verb is TaskVerb.RECOVER:
        say_recovery(view, tasks[0], content)
        if arguments.dry_run:
            return 0
    for task, _ in refused:
        inbox.task_wish(view.site.state, verb, task.name, by=inbox.by("the command line"), **content)
        say(f"{task.name}: {_told(view, verb, task, content)}")
    run_grid_job.wake(view.site.state)
    return 0


def _content(verb: TaskVerb, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what a wish says besides its verb and task."""
    if verb is TaskVerb.TEST:
        return {"pieces": arguments.pieces} if arguments.pieces else {}
    if verb is TaskVerb.START:
        return {"untested": True} if arguments.untested else {}
    if verb in POOL_VERBS:
        return _of_pool(verb, arguments)
    if verb is TaskVerb.PRIORITY:
        if abs(arguments.priority) > MOST_PRIORITY:
            raise BadRequest(f"{arguments.priority}: expected -{MOST_PRIORITY:,} to {MOST_PRIORITY:,}")
        return {"priority": arguments.priority}
    if verb is TaskVerb.RETRY:
        given = {"reason": arguments.reason, "most": arguments.max}
        return {name: value for name, value in given.items() if value}
    if verb is TaskVerb.PAUSE:
        return {name: True for name in ("suspend", "kill") if getattr(arguments, name)}
    return dict(map(_limit, arguments.limits)) if verb is TaskVerb.THROTTLE else {}


def _of_pool(verb: TaskVerb, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what a wish for a pool says."""
    if verb not in (TaskVerb.ADD, TaskVerb.DROP):
        return {} if arguments.group is None else {"group": arguments.group}
    names = list(arguments.items)
    if verb is TaskVerb.DROP:
        return {"items": names, "reason": arguments.reason}
    if arguments.list:
        lines = arguments.list.read_text().splitlines()
        names += [each.strip() for each in lines if each.strip() and not each.startswith("#")]
    if not names or not all(each.isprintable() for each in names):
        raise BadRequest("name the items to add, or say --list FILE; names must be printable")
    return {"items": names, **({"reopen": True} if arguments.reopen else {})}


def _limit(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if name not in THROTTLE or not value.isdecimal() or len(value) > 9:
        raise BadRequest(f"{text!r}: expected {' or '.join(f'{each}=N' for each in THROTTLE)}, N a whole number")
    if name in ("queued", "first") and not int(value):
        raise BadRequest(f"{text}: must be 1 or more")
    return name, int(value)


def _told(view: View, verb: TaskVerb, task: Task, content: dict[str, Any]) -> str:
    """Return what a wish will do."""
    found = facts(view, task)
    sent, ready, failed = (found.pieces.get(each, 0) for each in (PieceState.SENT, PieceState.READY, PieceState.FAILED))
    on_the_way, follow = f"{how_many(sent, 'piece')} on the way", f"`jim task explain {task.name}` shows the progress"
    most = f"at most {read(task.throttle).first:,} pieces are on the way at first"
    if verb in POOL_VERBS:
        return _told_of_pool(verb, found, content)
    if verb is TaskVerb.THROTTLE:
        return ", ".join(f"{name} {task.throttle[name]:,} → {value:,}" for name, value in content.items())
    says = {
        TaskVerb.TEST: f"test {task.tests + 1} begins; {follow}",
        TaskVerb.START: f"starts; {most}; `jim task status {task.name}` shows the progress",
        TaskVerb.PAUSE: f"pauses; {on_the_way}{_what_becomes(sent, content)}",
        TaskVerb.RESUME: f"goes on; {how_many(ready, 'piece')} ready; {most}",
        TaskVerb.RETRY: f"{how_many(failed, 'failed piece')}: tried again, as far as asked for",
        TaskVerb.RECOVER: f"recovered; {follow}",
        TaskVerb.FIX: fix_in_words(view, task, content, sent + ready),
        TaskVerb.PRIORITY: f"priority {task.priority} → {content.get('priority', 0)}",
        TaskVerb.CANCEL: f"is cancelled, with {on_the_way}; {follow}",
        TaskVerb.REMOVE: f"is forgotten: {how_many(sum(found.items.values()), 'item')}, "
        f"{how_many(task.next_piece, 'piece')}",
    }
    return says[verb]


def _told_of_pool(verb: TaskVerb, found: Facts, content: dict[str, Any]) -> str:
    waiting, late = found.items.get(ItemState.AVAILABLE, 0), found.items.get(ItemState.LATE, 0)
    if verb in (TaskVerb.ADD, TaskVerb.DROP):
        acts = "added, unless they are known" if verb is TaskVerb.ADD else "given up, unless they are on the way"
        return f"{how_many(len(content['items']), 'item')}: {acts}"
    if verb is TaskVerb.REOPEN:
        return f"is open again; {how_many(late, 'late item')}"
    words = "is closed" if verb is TaskVerb.CLOSE else "stays open"
    return f"{words}; {how_many(waiting, 'item')} waited, and {'is' if waiting == 1 else 'are'} planned"


def _what_becomes(sent: int, content: dict[str, Any]) -> str:
    if not sent:
        return ""
    if content.get("kill"):
        return ": they are ended, and released again after `jim task resume`"
    return ": they are suspended" if content.get("suspend") else ": what the batch system has goes on"


VERBS = {verb.value: _run for verb in HELP}
