"""jim status: a list of grid jobs."""

from __future__ import annotations

import argparse

from jim.cli.text import plain, say, say_json, table
from jim.jobs import GridJob
from jim.model import Step
from jim.reading.quantities import counted, span
from jim.reading.view import View, add_json, look

FINISHED_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim status`."""
    help_ = (
        f"a grid job, or any of its local jobs; default: all unfinished ones, and the last {FINISHED_SHOWN} "
        "finished ones"
    )
    parser.add_argument("ids", metavar="G", nargs="*", help=help_)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each grid job."""
    view = look()
    numbers = dict.fromkeys(view.herd(text) for text in arguments.ids)
    jobs = [view.grid_job(number) for number in numbers] if numbers else _all(view)
    if arguments.json:
        say_json([view.record(job) for job in jobs])
    elif not jobs:
        say(f"no grid jobs yet in {view.site.state}; `jim submit FILE` submits one")
    else:
        table(("id", "type", "step", "status", "local jobs", "seen", "reason"), (_row(view, job) for job in jobs))
        _warn(view, jobs)
    return 0


def _all(view: View) -> list[GridJob]:
    unfinished = view.unfinished()
    finished = view.store.grid_jobs(Step.FINISHED)[-FINISHED_SHOWN:]
    jobs = {job.id: job for job in [*unfinished, *finished]}
    return [jobs[number] for number in sorted(jobs)]


def _row(view: View, job: GridJob) -> tuple[object, ...]:
    record = view.record(job)
    seen = "" if job.step is Step.FINISHED else f"{span(record['age_s'])} ago"
    local_jobs = counted((state, count) for state, count in record["counts"].items())
    return record["id"], record["type"], record["step"], record["status"], local_jobs, seen, view.why(job)


def _warn(view: View, jobs: list[GridJob]) -> None:
    """Print what delays all grid jobs."""
    if all(job.step is Step.FINISHED for job in jobs):
        return
    heart = view.heart()
    if not heart.beats:
        say(f"\n{heart.words}; {heart.next}")
    elif view.published.trouble.words:
        say(f"\nthe batch system does not answer: {plain(view.published.trouble.words)}")
