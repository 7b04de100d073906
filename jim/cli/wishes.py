"""jim cancel, retry, redo, force, suspend, resume, remove: wishes, which the keeper fulfils."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jim import run_grid_job
from jim.cli.arguments import whole_number
from jim.cli.awaited_wishes import HELP, NOTHING_CHANGED, last_line, until_taken, what_became
from jim.cli.bulk import say_refused, sorted_out
from jim.cli.text import say
from jim.doors.inbox import slices_of
from jim.doors.target import Target
from jim.errors import BadRequest, require_line
from jim.evidence.transitions import FORCED_FROM
from jim.jobs import GridJob
from jim.model import Step, Verb
from jim.reading.filters import add_filters, from_arguments
from jim.reading.job.effects import NEXT, Effect, then
from jim.reading.lists import GRID_JOBS, unfinished
from jim.reading.view import View, look
from jim.splitting.lumi_ranges import joined

LONGEST_SHOWN = 200
FOR_MANY = (Verb.CANCEL, Verb.SUSPEND, Verb.RESUME)  # verbs that can be told of all grid jobs that fit
# Verbs that gatekeepers and scripts repeat: what has ended is as good as cancelled.
REPEATED = (Verb.CANCEL, Verb.SUSPEND, Verb.RESUME)
CHOOSING = ("failed", "status", "type", "herd", "since", "until")  # filters of `jim list` that choose among them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of a wish."""
    verb = parser.get_default("verb")
    if verb in (Verb.SUSPEND, Verb.RESUME):
        parser.add_argument("targets", metavar="G", nargs="*", help="a grid job")
    elif verb == Verb.REMOVE:
        parser.add_argument("targets", metavar="G", nargs="+", help="a finished grid job")
    elif verb == Verb.FORCE:
        parser.add_argument("targets", metavar="G.n", nargs=1, help="a local job, or slices such as 12.1-4,7")
        parser.add_argument(
            "to", metavar="completed|failed", choices=[state.value for state in FORCED_FROM], help="the new state"
        )
        parser.add_argument("--reason", required=True, help="the reason; it is shown wherever the local job is shown")
    else:
        few = "*" if verb in FOR_MANY else "+"
        parser.add_argument(
            "targets", metavar="G|G.n", nargs=few, help="a grid job, or local jobs of it: 12.3, 12.1-4,7"
        )
    if verb not in REPEATED:
        parser.add_argument("--wait", action="store_true", help=HELP)
    if verb in FOR_MANY:
        parser.add_argument("--all", action="store_true", help="all grid jobs that are not finished")
        add_filters(parser, GRID_JOBS, *CHOOSING)
    if verb == Verb.REDO:
        parser.add_argument("--again", action="store_true", help="also if its gatekeeper has had the outputs")
    if verb == Verb.RETRY:
        parser.add_argument("--failed", action="store_true", help="only failed local jobs, not killed ones")
        parser.add_argument(
            "--reason", metavar="WORDS", default="", help="only local jobs with these words in their reason"
        )
        parser.add_argument(
            "--max", metavar="N", type=whole_number(1), help="at most this number of local jobs of each grid job"
        )


def run(arguments: argparse.Namespace) -> int:
    """Store the wishes that can be stored. Exit 3 if one changes nothing, as far as that is known."""
    verb, view = arguments.verb, look()
    more, waits = _more(arguments), bool(getattr(arguments, "wait", False))
    chosen = _chosen(view, arguments) if verb in FOR_MANY else arguments.targets
    effects, refused = sorted_out(view, verb, chosen, more)
    left: dict[str, tuple[Path, int]] = {}  # wishes by their targets, and the last line of a journal before each
    for target, would in effects:
        if would.late and not waits:
            say(f"{target}: {would.late}; {verb} changes nothing")
            continue
        # First: what fails here must not look like a refusal of the wish.
        words = would.late or _told(view, verb, target, would)
        last = last_line(view.store, slices_of(target)[0])
        left[target] = run_grid_job.wish(verb, target, **more), last
        say(f"{target}: {verb} requested: {words}")
    changed = _all_changed(verb, view.site.state, left) if waits else len(left) == len(effects)
    return say_refused(verb, refused) or (0 if changed or verb in REPEATED else NOTHING_CHANGED)


def _all_changed(verb: str, state: Path, left: Mapping[str, tuple[Path, int]]) -> bool:
    """Wait until the keeper has taken wishes, and print what became of each; tell whether all changed something."""
    sys.stdout.flush()
    until_taken(state, [file for file, _ in left.values()])
    store, all_ = look().store, True
    for target, (_, last) in left.items():
        changed, words = what_became(store, slices_of(target)[0], verb, last)
        say(f"{target}: {words}")
        all_ &= changed
    return all_


def _more(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what a wish says besides its verb and target."""
    verb = arguments.verb
    if verb == Verb.FORCE:
        return {"to": arguments.to, "reason": require_line(arguments.reason)}
    if verb == Verb.REDO:
        return {"again": True} if arguments.again else {}
    if verb == Verb.RETRY:
        return {"failed": arguments.failed, "reason": arguments.reason, "most": arguments.max}
    return {}


def _chosen(view: View, arguments: argparse.Namespace) -> list[str]:
    """Return the named grid jobs and local jobs; with --all or a filter, unfinished grid jobs."""
    asked = from_arguments(GRID_JOBS, arguments, *CHOOSING)
    if bool(arguments.targets) == (arguments.all or bool(asked.given)):
        verb = arguments.verb
        raise BadRequest(
            f"{verb} takes either grid jobs, or --all, or filters such as --type (see `jim {verb} --help`)"
        )
    if "all" in arguments.targets:
        verb = arguments.verb
        raise BadRequest(f"'all' is not an id: `jim {verb} --all` means all grid jobs that are not finished")
    if arguments.targets:
        return list(arguments.targets)
    jobs = unfinished(view, asked)
    if not jobs:
        say(f"no unfinished grid job fits; {arguments.verb} changes nothing")
    return [str(job.id) for job in jobs]


def _told(view: View, verb: str, target: str, would: Effect) -> str:
    """Return what a wish will do, and how to follow or undo the wish."""
    number, slices = slices_of(target)
    job = view.grid_job(number)
    if would.again:
        here = Target(number, tuple(joined((each.n, each.n) for each in would.again)))
        undo = "" if len(str(here)) > LONGEST_SHOWN else f"; `jim cancel {here}` undoes it"
        return f"{would.words}{_later(job)}{undo}"
    if verb == Verb.REMOVE:
        return f"{would.words}; {NEXT[Verb.REMOVE]}"
    where = target if _single(slices) else number
    if not (follows := then(verb, would)):
        return would.words
    later = _later(job) if verb == Verb.FORCE else ""
    return f"{would.words}; {follows}{later}; `jim explain {where}` shows the progress"


def _later(job: GridJob) -> str:
    waits = job.step is Step.COLLECTING and not job.tries  # where collecting has failed, a wish may be the cure
    return ", once its outputs are collected" if waits else ""


def _single(slices: tuple[tuple[int, int], ...]) -> bool:
    return sum(last - first + 1 for first, last in slices) == 1
