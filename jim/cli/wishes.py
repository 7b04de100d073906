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
    Verb.CANCEL: "waiting local jobs are not submitted, others are cancelled; completed outputs are still collected",
    Verb.FORCE: "the keeper accepts your statement, and collects the outputs again",
    Verb.SUSPEND: "JIM submits no more, holds queued jobs, and suspends running jobs if the batch system can",
    Verb.RESUME: "JIM releases held jobs, and submits again",
}
LONGEST_SHOWN = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of a wish."""
    verb = parser.get_default("verb")
    if verb in (Verb.SUSPEND, Verb.RESUME):
        parser.add_argument("targets", metavar="G", nargs="+", help="a grid job")
    elif verb == Verb.FORCE:
        parser.add_argument("targets", metavar="G.n", nargs=1, help="a local job, or slices such as 12.1-4,7")
        parser.add_argument("to", choices=[state.value for state in FORCED_FROM], help="the new state")
        parser.add_argument("--reason", required=True, help="the reason; it is shown wherever the local job is shown")
    else:
        parser.add_argument(
            "targets", metavar="G|G.n", nargs="+", help="a grid job, or local jobs of it: 12.3, 12.1-4,7"
        )
    if verb == Verb.RETRY:
        parser.add_argument("--failed", action="store_true", help="only failed local jobs, not killed ones")
        parser.add_argument(
            "--reason", metavar="WORDS", default="", help="only local jobs with these words in their reason"
        )
        parser.add_argument(
            "--max", metavar="N", type=whole_number(1), help="at most this number of local jobs of each grid job"
        )


def run(arguments: argparse.Namespace) -> int:
    """Store the wishes; none if any target is unknown."""
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
            say(f"{target}: retry requested: {what} another set of attempts{_later(job)}{undo}")
            continue
        where = target if _single(slices) else number
        later = _later(job) if verb == Verb.FORCE else ""
        say(f"{target}: {verb} requested: {NEXT[verb]}{later}; `jim explain {where}` shows the progress")
    return 0


def _later(job: GridJob) -> str:
    return ", once its outputs are collected" if job.step is Step.COLLECTING else ""


def _ended(view: View, job: GridJob, slices: tuple[tuple[int, int], ...]) -> list[LocalJob]:
    """Return the local jobs among which a retry chooses, in their present state."""
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
        raise BadRequest(f"`jim force` needs a local job, for example {number}.0; {number} is a whole grid job")
    if slices:
        require_local_job(number, slices[-1][1], job.size)


def _too_late(
    view: View, job: GridJob, slices: tuple[tuple[int, int], ...], verb: str, arguments: argparse.Namespace
) -> str:
    """Return why a wish would have no effect; empty if it may have one."""
    if verb == Verb.FORCE:
        states, to = _states(view, job, slices), State(arguments.to)
        return f"already {to.value}" if states == {to} else not_forced(states, to)
    if verb == Verb.RETRY:
        return too_early_to_retry(job)
    if not slices:
        return too_late(job, verb)
    if job.step is Step.FINISHED:  # the outcome belongs to the grid job, not to a local job
        return f"{job.id} {too_late(job, verb)}"
    return too_late_to_end(_states(view, job, slices) if job.size else set())


def _nothing_to_retry(view: View, job: GridJob, slices: tuple[tuple[int, int], ...], more: dict[str, Any]) -> str:
    if any(more.values()):
        return "no local job matches --failed and --reason"
    if job.step is Step.FINISHED and not job.size:
        return "it has no local jobs"
    if any(each.piece.failure for each in _ended(view, job, slices)):
        return "the failed local jobs failed on their creation, and can never run"
    return (
        "no local job failed or was killed"
        if job.step is Step.FINISHED
        else "no local job has failed or was killed so far"
    )


def _states(view: View, job: GridJob, slices: tuple[tuple[int, int], ...]) -> set[State]:
    if not slices or not job.size:
        return set(view.store.counts(job.id))
    return {view.store.state(job.id, n) for first, last in slices for n in range(first, last + 1)}
