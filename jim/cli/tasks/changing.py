"""jim task test, start, pause, resume, throttle, cancel, remove: wishes for tasks, which the keeper fulfils."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

from jim import run_grid_job
from jim.cli.arguments import whole_number
from jim.cli.awaited_wishes import HELP as HELP_WAIT
from jim.cli.awaited_wishes import NOTHING_CHANGED, until_taken, what_became_of_task
from jim.cli.tasks.planned_words import DISK
from jim.cli.tasks.watching import line_of, watch_test
from jim.cli.text import say, say_json
from jim.doors import inbox
from jim.errors import BadRequest, require_line
from jim.reading.tasks.effects import after_others
from jim.reading.tasks.task import items, named
from jim.reading.view import View, add_json, look
from jim.statusdb.task_rows import Task, TaskState
from jim.statusdb.tasks.item_names import name_in
from jim.tasks.effects import POOL_VERBS, TaskVerb, changes_nothing, hangs_on, paused_by_itself, pool_of, refusal
from jim.tasks.file.streams import trouble_with
from jim.tasks.file.wish_checks import unfit
from jim.tasks.file.words import THROTTLE

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
SEVERAL = (TaskVerb.START, TaskVerb.TEST, TaskVerb.RETRY, TaskVerb.CANCEL, TaskVerb.REMOVE)  # take several tasks
UNDER_WAY = (TaskState.TESTING, TaskState.RUNNING, TaskState.PAUSED)
# Verbs that take --all, and the states of the tasks that it stands for.
OF_ALL = {
    TaskVerb.PAUSE: UNDER_WAY,
    TaskVerb.RESUME: (TaskState.PAUSED,),
    TaskVerb.FIX: (TaskState.CONFIGURED, TaskState.READY, *UNDER_WAY),
}
Wished = Mapping[str, Set[str]]  # the verbs of wishes that still wait, by the names of their tasks
OWN_PAUSE = "paused ({reason}); `jim task resume {name}` goes on all the same"


class Wanted(NamedTuple):
    """A task that a verb is for, and what the wish says; or why the task is left as it is."""

    task: Task
    content: dict[str, Any]
    left: str = ""
    later: bool = False  # wishes that still wait decide whether it changes anything


def add_verbs(verbs: Any) -> None:
    """Declare the verbs that change tasks."""
    parsers = {verb: verbs.add_parser(verb.value, help=words) for verb, words in HELP.items()}
    for verb, parser in parsers.items():
        if verb in OF_ALL:
            meaning = "a task, or NAME=VALUE" if verb is TaskVerb.FIX else "a task"
            parser.add_argument("names", metavar="NAME", nargs="*", help=meaning)
            parser.add_argument("--all", action="store_true", help="all tasks that the verb fits; others are named")
        else:
            parser.add_argument("names", metavar="NAME", nargs="+" if verb in SEVERAL else 1, help="a task")
        add_json(parser)
    parsers[TaskVerb.FIX].usage = "%(prog)s [-h] [--json] [--all | NAME ...] ATTRIBUTE=VALUE ..."
    parsers[TaskVerb.TEST].add_argument("--pieces", metavar="K", type=whole_number(1), help="how many pieces to try")
    parsers[TaskVerb.TEST].add_argument("--watch", action="store_true", help="wait for its end, and tell how it went")
    parsers[TaskVerb.TEST].add_argument(
        "--seconds", metavar="S", type=whole_number(1), help="with --watch: wait no longer; the test goes on"
    )
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
    for verb in (TaskVerb.RETRY, TaskVerb.REMOVE):
        parsers[verb].add_argument("--wait", action="store_true", help=HELP_WAIT)
    parsers[TaskVerb.PRIORITY].add_argument("priority", metavar="N", type=_signed, help="-1,000 to 1,000; 0 is usual")
    parsers[TaskVerb.THROTTLE].add_argument(
        "limits", metavar="NAME=N", nargs="+", help=f"a new limit: {', '.join(THROTTLE)}"
    )
    _add_pool_verbs(parsers)


def _add_pool_verbs(parsers: dict[TaskVerb, argparse.ArgumentParser]) -> None:
    for verb in (TaskVerb.CLOSE, TaskVerb.REOPEN, TaskVerb.FLUSH):
        parsers[verb].add_argument("group", metavar="GROUP", nargs="?", help="only this group")
    parsers[TaskVerb.ADD].add_argument("items", metavar="ITEM", nargs="*", help="name of an item")
    parsers[TaskVerb.ADD].add_argument("--list", metavar="FILE", type=Path, help="a file with a name in each line")
    parsers[TaskVerb.ADD].add_argument("--reopen", action="store_true", help="also if the pool is closed")
    parsers[TaskVerb.DROP].add_argument(
        "items", metavar="ITEM", nargs="+", help="name of an item, or of several: gen/3-5, 'gen/*'"
    )
    parsers[TaskVerb.DROP].add_argument("--reason", required=True, help="the reason; it is shown with the item")


def _run(arguments: argparse.Namespace) -> int:
    """Store the wishes; none if any task is unknown, or refuses it."""
    from jim.cli.tasks import recovery  # as above

    verb, view = TaskVerb(arguments.task_verb), look()
    wished = inbox.wished(view.site.state)  # first: what is read after this shows what those have done
    found = _chosen(view, verb, arguments, wished)
    wanted = [each for each in found if not each.left]
    records = [_record(view, verb, each) for each in found]
    dry = verb is TaskVerb.RECOVER and arguments.dry_run
    before = {each.task.name: line_of(view, each.task) for each in wanted if verb is TaskVerb.TEST}
    left = {} if dry else _left(view, verb, wanted)
    if arguments.json:
        say_json(records)
    elif verb is TaskVerb.RECOVER and wanted:
        recovery.say_recovery(records[0])
    _say(records if not ((dry and wanted) or arguments.json) else ())
    if verb is TaskVerb.TEST and arguments.watch and not arguments.json:
        return max(watch_test(each.task, before[each.task.name], arguments.seconds) for each in wanted)
    if getattr(arguments, "wait", False):
        code = _waited(view, verb, left, quiet=arguments.json)
        return NOTHING_CHANGED if any(each.left for each in found) else code
    # What --all leaves as it is, nobody has asked for by its name.
    in_vain = not getattr(arguments, "all", False) and any(_is_in_vain(verb, each) for each in records)
    return NOTHING_CHANGED if in_vain else 0


def _is_in_vain(verb: TaskVerb, record: Mapping[str, Any]) -> bool:
    """Tell whether a wish changes nothing, as the store is now."""
    return "left" in record or (verb is TaskVerb.RETRY and not record.get("pieces", True))


def _left(view: View, verb: TaskVerb, wanted: Iterable[Wanted]) -> dict[str, tuple[Path, int]]:
    """Leave a wish for each task; return it, and the last line of the task's journal before it, by their names."""
    found: dict[str, tuple[Path, int]] = {}
    for each in wanted:
        last = max((line.seq for line in view.store.tasks.journal(each.task.id, 1)), default=0)
        by = inbox.by("the command line")
        found[each.task.name] = inbox.task_wish(view.site.state, verb, each.task.name, by=by, **each.content), last
    if found:
        run_grid_job.wake(view.site.state)
    return found


def _waited(view: View, verb: TaskVerb, left: Mapping[str, tuple[Path, int]], *, quiet: bool) -> int:
    """Wait until the keeper has taken wishes; print what became of each."""
    sys.stdout.flush()
    until_taken(view.site.state, [file for file, _ in left.values()])
    store, code = look().store, 0
    for name, (_, last) in left.items():
        changed, words = what_became_of_task(store, name, verb, last)
        code = code if changed else NOTHING_CHANGED
        if not quiet:
            say(f"{name}: {words}")
    return code


def _record(view: View, verb: TaskVerb, wanted: Wanted) -> dict[str, Any]:
    """Return what becomes of a task, for programs."""
    if wanted.left:
        return {"task": wanted.task.name, "verb": verb.value, "left": wanted.left}
    if wanted.later:
        return {"task": wanted.task.name, "verb": verb.value, "wish": wanted.content, "told": after_others(wanted.task)}
    from jim.cli.tasks.wish_effects import told  # slow to load, and who lists tasks needs none of it

    words, facts = told(view, verb, wanted.task, wanted.content)
    return {"task": wanted.task.name, "verb": verb.value, "wish": wanted.content, **facts, "told": words}


def _say(records: Iterable[dict[str, Any]]) -> None:
    for each in records:
        name = each["task"]
        say(f"{name}: {each.get('told') or 'left as it is: ' + each['left'].removeprefix(f'{name}: ')}")


def _chosen(view: View, verb: TaskVerb, arguments: argparse.Namespace, wished: Wished) -> list[Wanted]:
    """Return the tasks that a verb is for: those that are named, or with --all those that it fits."""
    names = list(dict.fromkeys(each for each in arguments.names if "=" not in each))
    if verb in OF_ALL and arguments.all == bool(names):
        raise BadRequest(f"{verb} takes either names of tasks, or --all (see `jim task {verb} --help`)")
    if names:
        found = [_wanted(view, verb, named(view, name), arguments, wished) for name in names]
        for each in found:
            if each.left and not changes_nothing(each.task, verb, pool_of(view.store, each.task)):
                raise BadRequest(each.left)
        return found
    fitting = list(_all(view, verb, arguments, wished))
    if not fitting and not arguments.json:
        say(f"no task fits; {verb} changes nothing")
    if verb is TaskVerb.FIX and fitting and all(each.left for each in fitting):
        raise BadRequest(fitting[0].left)
    return fitting


def _all(view: View, verb: TaskVerb, arguments: argparse.Namespace, wished: Wished) -> Iterable[Wanted]:
    """Yield the tasks that `--all` stands for; those that it leaves as they are, with the reason."""
    for task in view.store.tasks.all():
        if task.state not in OF_ALL[verb] and not hangs_on(task, verb, {}, wished.get(task.name, set())):
            continue
        try:
            wanted = _wanted(view, verb, task, arguments, wished)
        except BadRequest as error:
            yield Wanted(task, {}, str(error))
            continue
        if verb is TaskVerb.RESUME and paused_by_itself(task) and not wanted.left:
            wanted = wanted._replace(left=OWN_PAUSE.format(name=task.name, reason=task.reason))
        yield wanted


def _wanted(view: View, verb: TaskVerb, task: Task, arguments: argparse.Namespace, wished: Wished) -> Wanted:
    from jim.cli.tasks import recovery  # slow to load, and who lists tasks needs none of it

    if verb is TaskVerb.RECOVER:
        content = recovery.of_recovery(view, task, arguments.words)
    elif verb is TaskVerb.FIX:
        content = recovery.of_fix(view, task, [each for each in arguments.names if "=" in each])
    else:
        content = _content(verb, arguments)
        if "items" in content:
            names = [name_in(task, each) for each in content["items"]]
            many = {
                name: [each.name for each in items(view, task, name, "")] for name in names if verb is TaskVerb.DROP
            }
            content["items"] = [each for name in names for each in many.get(name) or [name]]
    if wrong := unfit(verb, content):
        raise BadRequest(wrong)
    why = refusal(task, verb, content, pool_of(view.store, task))
    if why and hangs_on(task, verb, content, wished.get(task.name, set())):
        return Wanted(task, content, later=True)
    if verb is TaskVerb.START and not why:
        troubles = (trouble_with(each.store) for each in task.spec.outputs)
        why = next((f"{task.name}: output.store: {each}" for each in troubles if each), "")
    return Wanted(task, content, why)


def _content(verb: TaskVerb, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what a wish says besides its verb and task."""
    if verb is TaskVerb.TEST:
        return {"pieces": arguments.pieces} if arguments.pieces else {}
    if verb is TaskVerb.START:
        return {"untested": True} if arguments.untested else {}
    if verb in POOL_VERBS:
        return _of_pool(verb, arguments)
    if verb is TaskVerb.PRIORITY:
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
        return {"items": names, "reason": require_line(arguments.reason)}
    if arguments.list:
        try:
            lines = arguments.list.read_text().splitlines()
        except UnicodeDecodeError as error:
            raise BadRequest(f"{arguments.list}: no UTF-8") from error
        names += [each.strip() for each in lines if each.strip() and not each.startswith("#")]
    if not names or not all(each.isprintable() for each in names):
        raise BadRequest("name the items to add, or say --list FILE; names must be printable")
    return {"items": names, **({"reopen": True} if arguments.reopen else {})}


def _signed(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,9}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, -1,000 to 1,000")
    return int(text)


def _limit(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if name == "disk_gb":
        raise BadRequest(DISK)
    if name not in THROTTLE or not re.fullmatch(r"\d{1,9}", value, re.ASCII):
        raise BadRequest(f"{text!r}: expected {' or '.join(f'{each}=N' for each in THROTTLE)}, N a whole number")
    return name, int(value)


VERBS = {verb.value: _run for verb in HELP}
