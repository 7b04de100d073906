"""jim recover: a request for the work that a finished grid job has not done."""

from __future__ import annotations

import argparse

from jim.cli import NotYet
from jim.cli.text import say_json
from jim.errors import BadRequest
from jim.model import State, Step
from jim.reading.job.effects import refuse_on_wave
from jim.reading.view import look, refuse_local_job
from jim.splitting.registry import splits_requests
from jim.work.followup_requests import recovering
from jim.work.splitters import find


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim recover`."""
    parser.add_argument("target", metavar="G", help="a finished grid job whose request names a splitter")


def run(arguments: argparse.Namespace) -> int:
    """Print a request in JSON: the files of failed, killed or unsent local jobs, as recovery documents."""
    view = look()
    job = view.grid_job(refuse_local_job(arguments.target, "recover"))
    refuse_on_wave(view, job, {"verb": "recover"})
    if job.step is Step.FINISHED and not job.size:
        raise BadRequest(f"{job.id} has no local jobs: correct the request and submit it again")
    undone = view.store.local_jobs(job.id, (State.FAILED, State.KILLED, State.NEW))
    if job.step is Step.FINISHED and not undone:
        raise BadRequest(f"{job.id} has completed all its work")
    if not job.splitter or splits_requests(find(job.splitter, view.site.site.handlers)):
        raise BadRequest(
            f"{job.id} has no input files that were split; `jim retry {job.id}` tries the failed local jobs again"
        )
    if job.step is not Step.FINISHED:
        raise NotYet(f"{job.id} is not finished; `jim recover` works once it is")
    say_json({**recovering(job.request, (each.piece for each in undone)), "came_from": str(job.id)})
    return 0
