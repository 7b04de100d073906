"""jim copy: one local job as a request of its own."""

from __future__ import annotations

import argparse

from jim.cli.text import say_json
from jim.errors import BadRequest
from jim.reading.view import look
from jim.work.followup_requests import copied


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim copy`."""
    parser.add_argument("target", metavar="G.n", help="a local job")


def run(arguments: argparse.Namespace) -> int:
    """Print a request in JSON for the work of the local job."""
    view = look()
    job, local = view.target(arguments.target)
    if local is None:
        raise BadRequest(f"`jim copy` needs a local job, for example {job.id}.0; {job.id} is a whole grid job")
    say_json({**copied(job.request, local.piece), "came_from": f"{job.id}.{local.n}"})
    return 0
