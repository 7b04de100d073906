"""jim outputs: the path of the tar, and of the files beside it."""

from __future__ import annotations

import argparse
from pathlib import Path

from jim.cli import NotYet
from jim.cli.text import facts, plain, say_json
from jim.errors import JimError
from jim.jobs import GridJob
from jim.model import Step
from jim.reading.quantities import size_of
from jim.reading.view import add_json, look, refuse_local_job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim outputs`."""
    parser.add_argument("target", metavar="G", help="a grid job")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the paths, or exit 6 if there is no tar yet."""
    view = look()
    job = view.grid_job(refuse_local_job(arguments.target, "outputs"))
    if job.step is not Step.FINISHED:
        raise NotYet(f"{job.id} is not finished (step {job.step.value}); `jim watch {job.id}` follows it to its end")
    if job.result and not Path(job.result["tar"]).exists():
        raise JimError(f"{job.result['tar']} does not exist: it was removed, or the work directory is not mounted")
    if arguments.json:
        say_json(view.record(job) | {"result": dict(job.result), "beside": [str(path) for path in beside(job)]})
        return 0
    if not job.result:
        raise JimError(f"{job.id} has no outputs: {job.outcome}{': ' if job.reason else ''}{job.reason}")
    report(job)
    return 0


def beside(job: GridJob) -> list[Path]:
    """Return the files that the job type put beside the tar."""
    return [Path(job.result["tar"]).parent / name for name in job.result.get("beside", ())]


def report(job: GridJob) -> None:
    """Describe the result of a finished grid job."""
    if not job.result:
        return
    tar, of = job.result["tar"], f"of {job.result['local_jobs']:,} of {job.size:,} local jobs"
    if job.request.get("tar") == "summary":
        of = "of no completed local job: tar = summary"
    if unfinished := job.result.get("unfinished"):
        of += f", and what {unfinished:,} failed or killed one{'s have' if unfinished > 1 else ' has'} left"
    facts(
        [
            ("tar", f"{plain(tar)} ({size_of(job.result['bytes'])}, outputs {of})"),
            *(("beside it", plain(path)) for path in beside(job)),
            ("result", plain(job.result["line"])),
        ]
    )
