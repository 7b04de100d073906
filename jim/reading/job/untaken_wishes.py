"""Tells of wishes that no keeper has taken yet, and of those that none can take."""

from __future__ import annotations

from collections.abc import Iterator

from jim.doors import untaken_files
from jim.evidence.transitions import FAMILY_VERBS
from jim.jobs import GridJob
from jim.model import Step, Verb
from jim.reading.before_submission import Wait
from jim.reading.view import View


def wishes(view: View, job: GridJob) -> Iterator[Wait]:
    """Tell of the wishes for a grid job that are still in the inbox."""
    for verb, target in view.wishes(job):
        then = "a keeper applies this in its next round"
        cures = verb in (Verb.RETRY, Verb.FORCE) and job.tries  # where collecting has failed
        if job.step is Step.COLLECTING and verb in FAMILY_VERBS and not cures:
            then = "a keeper applies this once the outputs are collected"
        elif job.step in (Step.ACCEPTED, Step.RESOLVED) and (verb == Verb.EDIT or "." in target):
            then = "a keeper applies this once there are local jobs"
        yield Wait(f"{verb} of {target} was requested, but no keeper has applied it yet", then, "user")
    yield from _lost(view, job)


def _lost(view: View, job: GridJob) -> Iterator[Wait]:
    state = view.site.state
    for path in untaken_files.barred(state):
        if untaken_files.wish_for(path) == job.id:
            what = f"something was requested, but this account may not read {path}; later requests wait behind it"
            yield Wait(what, f"{untaken_files.remedy(path)}; or remove the file, and ask again", "user")
    for path in untaken_files.aside(state):
        if untaken_files.wish_for(path) == job.id:
            what = f"something was requested, but its file was damaged, and was put aside as {path}"
            yield Wait(what, "ask again, and remove the file", "user")
