"""jim explain: what a job waits for, on which evidence, and what happens next and when."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from jim.cli.text import plain, say, say_json, with_local_times
from jim.jobs import GridJob, LocalJob
from jim.reading.documents.json_documents import NOTHING, explained, waits
from jim.reading.job import last_lines
from jim.reading.quantities import ago
from jim.reading.view import View, add_json, look


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim explain`."""
    parser.add_argument("target", metavar="G|G.n", help="a grid job, or local jobs of it: 12.3, 12.1-4,7")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what the job waits for."""
    view = look()
    job, members = view.members(arguments.target)
    asked: Sequence[LocalJob | None] = members if members else (None,)
    if arguments.json:
        lines = {} if members else {"last_lines": last_lines.records(view, job)}
        documents = [explained(view, job, local) | lines for local in asked]
        say_json(documents if len(documents) > 1 else documents[0])
        return 0
    for at, local in enumerate(asked):
        if at:
            say()
        say(_head(view, job, local))
        for wait in waits(view, job, local) or [NOTHING]:
            say()
            say(with_local_times(plain(wait.what)), "* ")
            say(f"{wait.witness}, {f'seen {ago(view.age(wait.seen))}' if wait.seen else 'just now'}", "  evidence: ")
            say(with_local_times(plain(wait.next)), "  next:     ")
        _say_last_lines(view, job, local)
    return 0


def _say_last_lines(view: View, job: GridJob, local: LocalJob | None) -> None:
    """Say with which words the programs of failed local jobs have ended: whoever runs this may read their logs."""
    said = list(last_lines.sentences(view, job)) if local is None else []
    if said:
        say()
        say("The last line on stderr of failed local jobs:")
    for each in said:
        say(plain(each), "  ")


def _head(view: View, job: GridJob, local: LocalJob | None) -> str:
    if local is not None:
        return f"{job.id}.{local.n}: {local.state.value}, attempt {local.attempt}"
    size = f"; size: {plain(job.why)}" if job.why else ""
    return f"{job.id}: {view.status(job)} ({view.progress(job)}; step {job.step.value}){size}"
