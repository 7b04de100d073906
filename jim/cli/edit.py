"""jim edit: changes attributes of grid jobs, for local jobs that are not yet submitted."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from jim import run_grid_job
from jim.cli.text import say
from jim.errors import BadRequest, nearest
from jim.jobs import GridJob
from jim.keeper.inbox.editing import changed, meanings, read, refuse_what_is_sent, written
from jim.model import Step, Verb
from jim.reading.job.effects import refuse_on_wave
from jim.reading.view import View, look, refuse_local_job
from jim.request import declarations, handler_of

Plan = tuple[GridJob, dict[str, object], str]  # the changes, and in words which local jobs they apply to


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim edit`."""
    parser.add_argument(
        "words", metavar="G|NAME=VALUE", nargs="+", help="grid jobs, and attributes with their new values"
    )
    parser.add_argument("--all", action="store_true", help="all unfinished grid jobs that --where selects")
    parser.add_argument(
        "--where",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="only those in which the attribute has this value now; may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Store the wishes; none if a named grid job cannot be changed in this way."""
    view = look()
    words = [each for each in arguments.words if "=" in each]
    targets = [each for each in arguments.words if "=" not in each]
    if not words:
        raise BadRequest("name the change as attribute=value, for example queue=long")
    if arguments.all == bool(targets) or bool(arguments.where) != arguments.all:
        raise BadRequest("name the grid jobs, or use --all with --where attribute=value")
    jobs = [view.grid_job(refuse_local_job(each, Verb.EDIT)) for each in targets] or _selected(view, arguments.where)
    if arguments.all and not jobs:
        say(f"no unfinished grid job has {' and '.join(arguments.where)}; nothing is changed")
    for job in jobs:
        refuse_on_wave(view, job, {"verb": Verb.EDIT})
    plans = [each for each in (_plan(view, job, words, skip=arguments.all) for job in jobs) if each]
    for job, changes, reach in plans:
        run_grid_job.wish(Verb.EDIT, str(job.id), changes=changes)
        now = " ".join(written(name, value) for name, value in changes.items())
        undo = " ".join(written(name, job.request.get(name)) for name in changes)
        say(f"{job.id}: edit requested: {now} for {reach}; `jim edit {job.id} {undo}` undoes it")
    return 0


def _plan(view: View, job: GridJob, words: Sequence[str], *, skip: bool) -> Plan | None:
    """Plan the change of a grid job; None if the plan's message is already printed."""
    try:
        changes = dict(changed(view.site, job, words))
        if changes:
            return job, changes, refuse_what_is_sent(view.store, job, changes)
    except BadRequest as error:
        if not skip:
            raise
        say(f"{job.id}: not changed: {error}")
    else:
        say(f"{job.id}: has this value already; edit changes nothing")
    return None


def _selected(view: View, where: Sequence[str]) -> list[GridJob]:
    """Return the unfinished grid jobs that have these values."""
    if odd := next((each for each in where if "=" not in each), ""):
        raise BadRequest(f"--where {odd}: expected attribute=value, for example queue=short")
    chosen, known = [], set[str]()
    for job in view.store.grid_jobs(*(step for step in Step if step is not Step.FINISHED)):
        try:
            declared = declarations(handler_of(job.job_type, view.site.site.handlers))
        except BadRequest as error:  # a job type of the site that no longer exists
            say(f"{job.id}: not changed: {error}")
            continue
        own = meanings(declared)
        known |= own.keys()
        if all(each.partition("=")[0] in own for each in where):
            asked = [read(each, declared) for each in where]
            if all(job.request.get(name) == value for name, value in asked):
                chosen.append(job)
    for each in where:
        name = each.partition("=")[0]
        if known and name not in known:
            raise BadRequest(f"{name!r}: unknown attribute{nearest(name, known)}")
    return chosen
