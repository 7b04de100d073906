"""jim task redo: do completed pieces again, because what they have brought was computed wrongly."""

from __future__ import annotations

import argparse
import re
from typing import Any

from jim import run_grid_job
from jim.cli.awaited_wishes import HELP as HELP_WAIT
from jim.cli.awaited_wishes import NOTHING_CHANGED, until_taken, what_became_of_task
from jim.cli.text import say, say_json
from jim.doors import inbox
from jim.errors import BadRequest, require_line
from jim.reading.quantities import how_many
from jim.reading.tasks.effects import follow
from jim.reading.tasks.task import named
from jim.reading.view import View, add_json, look
from jim.statusdb.task_rows import Task
from jim.statusdb.tasks.item_names import patterns
from jim.tasks.effects import TaskVerb, pool_of, refusal
from jim.tasks.file.wish_checks import unfit
from jim.tasks.pieces import redoing

PIECES = re.compile(r"(?P<name>[a-z][a-z0-9-]*)(/(?P<pieces>\d+(-\d+)?(,\d+(-\d+)?)*))?", re.ASCII)
MOST = 100_000  # pieces that a range may name


def add_verbs(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(TaskVerb.REDO.value, help="do completed pieces again: what they brought was wrong")
    parser.add_argument("name", metavar="NAME[/P]", help="a task, and which pieces: mc/7, mc/3,7-9")
    parser.add_argument(
        "--item", metavar="GLOB", action="append", default=[], help="the pieces of these items: gen/3-5, gen/*"
    )
    parser.add_argument("--group", metavar="GROUP", help="the pieces of this group")
    parser.add_argument("--reason", metavar="WORDS", help="what was wrong; the journal tells it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--with-all", action="store_true", help="also all that was made of what these have brought")
    how.add_argument("--stale", action="store_true", help="leave that as it is, and mark it")
    parser.add_argument("--dry-run", action="store_true", help="show what would be done again; change nothing")
    parser.add_argument("--wait", action="store_true", help=HELP_WAIT)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Leave the wish, unless the store says that it would change nothing."""
    view = look()
    task, content = _wish(view, arguments)
    why = unfit(TaskVerb.REDO, content) or refusal(task, TaskVerb.REDO, content, pool_of(view.store, task))
    closure = redoing.closure_of(view.store, task, content)
    made = redoing.in_words(view.store, closure)
    if arguments.dry_run and not why:
        _tell(arguments, task, content, {**_facts(closure), "told": _would(closure, made, content)})
        return 0
    if why := why or redoing.refusal(view.store, task, content):
        if closure.chosen or not _names_any(content):
            raise BadRequest(why)
        _tell(arguments, task, content, {"left": why, "told": f"left as it is: {redoing.NONE_COMPLETED}"})
        return NOTHING_CHANGED
    last = max((line.seq for line in view.store.tasks.journal(task.id, 1)), default=0)
    file = inbox.task_wish(view.site.state, TaskVerb.REDO, task.name, by=inbox.by("the command line"), **content)
    run_grid_job.wake(view.site.state)
    words = f"{_would(closure, made, content)}; {follow(task)}"
    _tell(arguments, task, content, {**_facts(closure), "told": words})
    if not arguments.wait:
        return 0
    until_taken(view.site.state, [file])
    changed, became = what_became_of_task(look().store, task.name, TaskVerb.REDO, last)
    if not arguments.json:
        say(f"{task.name}: {became}")
    return 0 if changed else NOTHING_CHANGED


def _wish(view: View, arguments: argparse.Namespace) -> tuple[Task, dict[str, Any]]:
    """Read which pieces are meant, and what becomes of what was made of them."""
    read = PIECES.fullmatch(arguments.name)
    if not read:
        raise BadRequest(f"{arguments.name!r}: expected a task or its pieces, such as mc/7 or mc/3,7-9")
    content: dict[str, Any] = {}
    if read["pieces"]:
        content["numbers"] = [number for part in read["pieces"].split(",") for number in _range(part)]
    content |= {"items": [name for text in arguments.item for name in patterns(text)]} if arguments.item else {}
    content |= {} if arguments.group is None else {"group": arguments.group}
    content |= {"reason": require_line(arguments.reason)} if arguments.reason else {}
    content |= {name: True for name in (redoing.WITH_ALL, redoing.STALE_ONLY) if getattr(arguments, name)}
    return named(view, read["name"]), content


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    if len(text) > 20 or int(last or first) - int(first) >= MOST:
        raise BadRequest(f"{text[:40]}: names more than {MOST:,} pieces")
    return range(int(first), int(last or first) + 1)


def _names_any(content: dict[str, Any]) -> bool:
    return bool({"numbers", "items", "group"} & content.keys())


def _facts(closure: redoing.Closure) -> dict[str, Any]:
    made = [f"{each.task}/{each.p}" for each in closure.made]
    return {"pieces": [each.p for each in closure.chosen], "made_of_them": made, "stored": len(closure.stored)}


def _would(closure: redoing.Closure, made: str, content: dict[str, Any]) -> str:
    """Say what is done again, and what becomes of what was made of it."""
    count = len(closure.chosen)
    words = f"{how_many(count, 'completed piece')} {'is' if count == 1 else 'are'} done again"
    if not made:
        return words
    if content.get(redoing.WITH_ALL):
        return f"{words}, with what was made of {'it' if count == 1 else 'them'}: {made}"
    marked = (
        "what is left as it is, is marked" if content.get(redoing.STALE_ONLY) else "--with-all or --stale is needed"
    )
    return f"{words}; of {'it' if count == 1 else 'them'} was made: {made}; {marked}"


def _tell(arguments: argparse.Namespace, task: Task, content: dict[str, Any], facts: dict[str, Any]) -> None:
    record = {"task": task.name, "verb": TaskVerb.REDO.value, "wish": content, **facts}
    if arguments.json:
        say_json([record])
    else:
        say(f"{task.name}: {facts['told']}")


VERBS = {TaskVerb.REDO.value: run}
