"""jim resplit: replaces a local job that has ended by several smaller ones."""

from __future__ import annotations

import argparse

from jim import run_grid_job
from jim.cli.split import add_parameters, parameters
from jim.cli.text import say
from jim.errors import BadRequest
from jim.evidence.transitions import not_split_again
from jim.jobs import GridJob, LocalJob
from jim.model import Verb
from jim.reading.job.effects import nowhere_to_run, refuse_on_wave
from jim.reading.view import View, look
from jim.request import handler_of
from jim.work.followup_requests import smaller
from jim.work.pieces import check


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim resplit`."""
    parser.add_argument("target", metavar="G.n", help="a local job that has completed, failed or been killed")
    add_parameters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Store the wish, if it is possible."""
    view = look()
    job, local = _resplittable(view, arguments.target)
    given, site = parameters(arguments.parameters), view.site.site
    check(handler_of(job.job_type, site.handlers), smaller(job.request, local.piece, given), site)
    run_grid_job.wish(Verb.RESPLIT, arguments.target, parameters=given)
    say(
        f"{arguments.target}: resplit requested: it becomes frozen, and new local jobs, numbered from "
        f"{job.id}.{job.size}, do its work"
    )
    return 0


def _resplittable(view: View, target: str) -> tuple[GridJob, LocalJob]:
    """Return a local job that can be split again, and its grid job."""
    job, local = view.target(target)
    refuse_on_wave(view, job, {"verb": Verb.RESPLIT, "target": target}, [(local.n, local.n)] if local else ())
    if local is None:
        raise BadRequest(f"`jim resplit` needs a local job, for example {job.id}.0; {job.id} is a whole grid job")
    if wrong := not_split_again(local):
        raise BadRequest(f"{target} {wrong}")
    if wrong := nowhere_to_run(view, job):
        raise BadRequest(wrong)
    return job, local
