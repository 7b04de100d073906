"""jim recover: what a finished grid job has left undone, as a request that does it."""

from __future__ import annotations

import argparse

from jim.cli import NotYet
from jim.cli.text import say_json
from jim.errors import BadRequest
from jim.model import State, Step
from jim.reading.view import look, refuse_local_job
from jim.splitting.registry import splits_requests, splitter_of
from jim.work.pieces import recovering


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `jim recover` takes."""
    parser.add_argument("target", metavar="G", help="a finished grid job whose request names a splitter")


def run(arguments: argparse.Namespace) -> int:
    """Print a request in JSON: the files of what failed, was killed or never sent, as recovery documents."""
    view = look()
    job = view.grid_job(refuse_local_job(arguments.target, "recover"))
    if job.step is Step.FINISHED and not job.size:
        raise BadRequest(f"{job.id} has no local jobs: hand it in anew, with what is wrong put right")
    if not job.splitter or splits_requests(splitter_of(job.splitter)):
        raise BadRequest(
            f"{job.id} has no input files that were split; `jim retry {job.id}` tries what failed once more"
        )
    if job.step is not Step.FINISHED:
        raise NotYet(f"{job.id} is not finished; what it leaves undone is known when it is")
    undone = view.store.local_jobs(job.id, (State.FAILED, State.KILLED, State.NEW))
    if not undone:
        raise BadRequest(f"{job.id} has left nothing undone")
    say_json(recovering(job.request, (each.piece for each in undone)))
    return 0
