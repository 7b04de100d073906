"""jim cancel, retry, suspend, resume: wishes, which the keeper fulfils."""

from __future__ import annotations

import argparse

from jim import run_grid_job
from jim.cli.reading import View, look, refuse_local_job
from jim.cli.text import say
from jim.inbox import require_local_job, target_of
from jim.model import State, Step
from jim.statusdb.rows import GridJob

NEXT = {
    "cancel": "what waits is not sent, the rest is ended at the batch system; what completed is still collected",
    "retry": "what failed or was killed gets another set of attempts",
    "suspend": "nothing more is sent, what is queued is held, what runs is suspended where the batch system can",
    "resume": "what is held is released, and sending goes on",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what a wish takes."""
    if parser.get_default("verb") in ("suspend", "resume"):
        parser.add_argument("targets", metavar="G", nargs="+", help="a grid job")
    else:
        parser.add_argument("targets", metavar="G|G.n", nargs="+", help="a grid job, or a local job of it")


def run(arguments: argparse.Namespace) -> int:
    """Leave the wishes; none, when any target is unknown."""
    verb, view = arguments.verb, look()
    for target in arguments.targets:
        _check(view, verb, target)
    for target in arguments.targets:
        number, n = target_of(target)
        job = view.grid_job(number)
        if _too_late(view, job, n, verb):
            continue
        run_grid_job.wish(verb, target)
        say(f"{target}: {verb} wished: {NEXT[verb]}; `jim explain {target}` tells how far that is")
    return 0


def _check(view: View, verb: str, target: str) -> None:
    number, n = target_of(target)
    job = view.grid_job(number)
    if verb in ("suspend", "resume"):
        refuse_local_job(target, verb)
    if n is not None:
        require_local_job(number, n, job.size)


def _too_late(view: View, job: GridJob, n: int | None, verb: str) -> bool:
    """Say it, where a wish would change nothing."""
    failed = (State.FAILED, State.KILLED, State.NEW)
    if verb == "retry":
        states = set(view.store.counts(job.id)) if n is None else {_state(view, job, n)}
        late = job.step is Step.FINISHED and not states.intersection(failed)
        reason = "nothing failed or was killed"
    else:
        late, reason = job.step is Step.FINISHED, f"finished as {job.outcome} already"
    if late:
        say(f"{job.id if n is None else f'{job.id}.{n}'}: {reason}; {verb} changes nothing")
    return late


def _state(view: View, job: GridJob, n: int) -> State:
    return view.store.local_job(job.id, n).state
