"""jim status: grid jobs at a glance."""

from __future__ import annotations

import argparse

from jim.cli.text import plain, say, say_json, table
from jim.errors import BadRequest
from jim.jobs import GridJob
from jim.model import Step
from jim.reading.filters import add_filters, from_arguments
from jim.reading.lists import GRID_JOBS, grid_jobs
from jim.reading.view import View, add_json, look
from jim.reading.words import counted, span

FINISHED_SHOWN = 20
FILTERS = tuple(GRID_JOBS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `jim status` takes."""
    help_ = f"a grid job, or any of its local jobs; without any: all unfinished, and the last {FINISHED_SHOWN} finished"
    parser.add_argument("ids", metavar="G", nargs="*", help=help_)
    add_filters(parser, GRID_JOBS, *FILTERS)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each grid job."""
    view = look()
    numbers = dict.fromkeys(view.herd(text) for text in arguments.ids)
    asked = from_arguments(GRID_JOBS, arguments, *FILTERS)
    if numbers and asked.given:
        raise BadRequest("status takes either grid jobs or filters")
    page = grid_jobs(view, asked) if asked.given else None
    jobs = [view.grid_job(number) for number in numbers] if numbers else _all(view)
    if page:
        jobs = sorted(page.rows, key=lambda job: job.id)
    if arguments.json:
        say_json([view.record(job) for job in jobs])
    elif page and not jobs:
        say("no grid job fits")
    elif not jobs:
        say(f"no grid jobs yet in {view.site.state}; `jim submit FILE` hands one in")
    else:
        table(("id", "type", "step", "status", "local jobs", "seen", "reason"), (_row(view, job) for job in jobs))
        _warn(view, jobs)
        if page and page.after:
            say(f"\n{len(jobs)} of {page.shown_of} grid jobs; --after {page.after} shows those before")
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
    """Say what makes every age grow."""
    if all(job.step is Step.FINISHED for job in jobs):
        return
    heart = view.heart()
    if not heart.beats:
        say(f"\n{heart.words}; {heart.next}")
    elif view.published.trouble.words:
        say(f"\nthe batch system does not answer: {plain(view.published.trouble.words)}")
