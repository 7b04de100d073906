"""jim cancel, retry, force, suspend, resume: wishes, which the keeper fulfils."""

from __future__ import annotations

import argparse
from typing import Any

from jim import run_grid_job
from jim.cli.arguments import whole_number
from jim.cli.text import say
from jim.doors.inbox import require_local_job, slices_of
from jim.doors.target import Target
from jim.errors import BadRequest
from jim.evidence.transitions import (
    FORCED_FROM,
    again_of,
    not_forced,
    too_early_to_retry,
    too_late,
    too_late_to_end,
)
from jim.jobs import GridJob, LocalJob
from jim.model import State, Step, Verb
from jim.reading.view import View, look, refuse_local_job
from jim.splitting.lumi_ranges import joined
from jim.statusdb.record import retryable

NEXT = {
    Verb.CANCEL: "what waits is not sent, the rest is ended at the batch system; what completed is still collected",
    Verb.FORCE: "the keeper takes your word for it, and gathers the outputs anew",
    Verb.SUSPEND: "nothing more is sent, what is queued is held, what runs is suspended where the batch system can",
    Verb.RESUME: "what is held is released, and sending goes on",
}
LONGEST_SHOWN = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what a wish takes."""
    verb = parser.get_default("verb")
    if verb in (Verb.SUSPEND, Verb.RESUME):
        parser.add_argument("targets", metavar="G", nargs="+", help="a grid job")
    elif verb == Verb.FORCE:
        parser.add_argument("targets", metavar="G.n", nargs=1, help="a local job, or slices such as 12.1-4,7")
        parser.add_argument("to", choices=[state.value for state in FORCED_FROM], help="what it shall be")
        parser.add_argument("--reason", required=True, help="why; it is shown wherever the local job is")
    else:
        parser.add_argument(
            "targets", metavar="G|G.n", nargs="+", help="a grid job, or local jobs of it: 12.3, 12.1-4,7"
        )
    if verb == Verb.RETRY:
        parser.add_argument("--failed", action="store_true", help="only what failed, and not what was killed")
        parser.add_argument("--reason", metavar="WORDS", default="", help="only what has these words in its reason")
        parser.add_argument(
            "--max", metavar="N", type=whole_number(1), help="at most so many local jobs of each grid job"
        )


def run(arguments: argparse.Namespace) -> int:
    """Leave the wishes; none, when any target is unknown."""
    verb, view = arguments.verb, look()
    more: dict[str, Any] = {"to": arguments.to, "reason": arguments.reason} if verb == Verb.FORCE else {}
    if verb == Verb.RETRY:
        more = {"failed": arguments.failed, "reason": arguments.reason, "most": arguments.max}
    for target in arguments.targets:
        _check(view, verb, target)
    for target in arguments.targets:
        number, slices = slices_of(target)
        job = view.grid_job(number)
        again = again_of(_ended(view, job, slices), slices, **more) if verb == Verb.RETRY and job.size else []
        late = _too_late(view, job, slices, verb, arguments)
        if verb == Verb.RETRY and not late:
            late = "" if again else _nothing_to_retry(view, job, slices, more)
        if late:
            say(f"{target}: {late}; {verb} changes nothing")
            continue
        run_grid_job.wish(verb, target, **more)
        if again:
            here = Target(number, tuple(joined((each.n, each.n) for each in again)))
            undo = "" if len(str(here)) > LONGEST_SHOWN else f"; `jim cancel {here}` undoes it"
            what = "1 local job gets" if len(again) == 1 else f"{len(again):,} local jobs get"
            say(f"{target}: retry wished: {what} another set of attempts{_later(job)}{undo}")
            continue
        where = target if _single(slices) else number
        later = _later(job) if verb == Verb.FORCE else ""
        say(f"{target}: {verb} wished: {NEXT[verb]}{later}; `jim explain {where}` tells how far that is")
    return 0


def _later(job: GridJob) -> str:
    return ", once its outputs have been gathered" if job.step is Step.COLLECTING else ""


def _ended(view: View, job: GridJob, slices: tuple[tuple[int, int], ...]) -> list[LocalJob]:
    """Give the local jobs among which a retry chooses, as things are now."""
    if not slices:
        return retryable(view.store, job.id)
    return [view.store.local_job(job.id, n) for first, last in slices for n in range(first, last + 1)]


def _single(slices: tuple[tuple[int, int], ...]) -> bool:
    return sum(last - first + 1 for first, last in slices) == 1


def _check(view: View, verb: str, target: str) -> None:
    number, slices = slices_of(target)
    job = view.grid_job(number)
    if verb in (Verb.SUSPEND, Verb.RESUME):
        refuse_local_job(target, verb)
    if verb == Verb.FORCE and not slices:
        raise BadRequest(f"force takes local jobs: say {number}.0, not {number}")
    if slices:
        require_local_job(number, slices[-1][1], job.size)


def _too_late(
    view: View, job: GridJob, slices: tuple[tuple[int, int], ...], verb: str, arguments: argparse.Namespace
) -> str:
    """Say why a wish would change nothing; empty, if it may."""
    if verb == Verb.FORCE:
        states, to = _states(view, job, slices), State(arguments.to)
        return f"{to.value} already" if states == {to} else not_forced(states, to)
    if verb == Verb.RETRY:
        return too_early_to_retry(job)
    if not slices:
        return too_late(job, verb)
    if job.step is Step.FINISHED:  # the outcome is the grid job's, and not that of a local job
        return f"{job.id} {too_late(job, verb)}"
    return too_late_to_end(_states(view, job, slices) if job.size else set())


def _nothing_to_retry(view: View, job: GridJob, slices: tuple[tuple[int, int], ...], more: dict[str, Any]) -> str:
    if any(more.values()):
        return "nothing has ended like that"
    if job.step is Step.FINISHED and not job.size:
        return "it has no local jobs"
    if any(each.piece.failure for each in _ended(view, job, slices)):
        return "what failed has failed on its creation, and can never run"
    return "nothing failed or was killed" if job.step is Step.FINISHED else "nothing has failed or was killed so far"


def _states(view: View, job: GridJob, slices: tuple[tuple[int, int], ...]) -> set[State]:
    if not slices or not job.size:
        return set(view.store.counts(job.id))
    return {view.store.state(job.id, n) for first, last in slices for n in range(first, last + 1)}
