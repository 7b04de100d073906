"""/jobs/G/n: one local job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from flask import Flask, g

from jim.clock import as_utc
from jim.jobs import Attempt, GridJob, LocalJob
from jim.model import State
from jim.pages.admission import seen_by
from jim.pages.app import Pages, require_no_filter
from jim.pages.made import XML, Made, as_json
from jim.pages.shown import cut
from jim.pages.tokens import Role
from jim.reading.before_submission import Wait
from jim.reading.documents import json_documents as documents
from jim.reading.documents.files import last_lines, log_files, outputs, sizes
from jim.reading.job import history
from jim.reading.job.claims import age, running
from jim.reading.job.effects import offered
from jim.reading.job.phases import phases
from jim.reading.job.piece_inputs import piece_words
from jim.reading.quantities import memory_words
from jim.reading.view import View
from jim.statusdb.published import UNCHECKED

LOGS_OF = 10  # last attempts whose logs are listed
ATTEMPTS = 20  # the last ones, which the page shows
PUBLISHED = 50_000  # characters of XML on the page
LONGEST_XML = 20_000
PHASE = "<phase "
BEING_FOUND_OUT = Wait("this is being found out", "look again in a while")


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    pages.add(app, "/jobs/<G>/<N>", local_job, "html", "json", "xml", files=_logs)
    pages.add(app, "/jobs/<G>/<N>/explain.json", explained_local, "json")


def local_job(pages: Pages, view: View, kind: str, number: int, n: int) -> Made:
    """Show one local job."""
    require_no_filter()
    job, local = view.grid_job(number), view.store.local_job(number, n)
    if kind == "json":
        return as_json(seen_by(g.role, documents.of_member(view, job, local)))
    if kind == "xml":
        from jim.statusdb.documents.writing import of_local_job

        return Made(of_local_job(view.store, number, n), XML)
    attempts = view.store.attempts(number, n=n)
    mine = running(view, local) if local.state is State.RUNNING else None
    made, files = outputs(view, local)
    return pages.html(
        view,
        "local_job.html",
        job=job,
        local=local,
        record=view.local_record(job, local),
        waits=_waits(pages, view, job, local),
        attempts=list(_attempts(view, attempts)),
        earlier=max(0, len(attempts) - ATTEMPTS),
        printed=_printed(view, attempts),
        running=mine,
        claim_touched=_touched(view, mine) if mine else "",
        phases=phases(view, job, n),
        published=list(_published(view, local)),
        refused=view.store.publications.refused(number, n),
        piece=piece_words(local.piece, whole=True),
        outputs=files if made else (),
        journal=view.store.journals.of(number, n, documents.SHOWN),
        last=job.size - 1,
        offered=offered(job, (local.state,), local),
    )


def _touched(view: View, attempt: Attempt) -> str:
    """Return when the claim of an attempt was touched; empty if the claim cannot be seen."""
    claim_age = age(view, attempt)
    return "" if claim_age is None else as_utc(view.store.clock.epoch() - claim_age)


def _logs(view: View, number: int, n: int) -> list[Path]:
    """Return the files that change, without a change in the store, what the page of a local job shows."""
    if view.store.local_job(number, n).state.final:
        return []
    latest = list(reversed(view.store.attempts(number, n=n)))[:LOGS_OF]
    return [path for attempt in latest for path in log_files(view, attempt).values()]


def _waits(pages: Pages, view: View, job: GridJob, local: LocalJob) -> list[Wait]:
    """Return what a local job waits for; among very many local jobs, the answer takes a while."""
    if job.size <= history.MOST or local.state.final:
        return documents.waits(view, job, local)
    name = f"local job {job.id}.{local.n}"
    _, found = pages.cache.answer(name, lambda other: documents.waits(other, job, local), of_files=True)
    return found or [BEING_FOUND_OUT]


def explained_local(_: Pages, view: View, kind: str, number: int, n: int) -> Made:
    """Show what a local job waits for."""
    require_no_filter()
    return as_json(documents.explained(view, view.grid_job(number), view.store.local_job(number, n)))


def _attempts(view: View, attempts: Sequence[Attempt]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the last attempts, the latest first; `logs` is None if they cannot be read just now."""
    latest, logs = list(reversed(attempts[-ATTEMPTS:])), None
    with suppress(OSError):
        logs = [*sizes(view, latest[:LOGS_OF]), *({} for _ in latest[LOGS_OF:])]
    for at, attempt in enumerate(latest):
        submission = view.store.submission(attempt.grid, attempt.k)
        record = documents.exit_record(attempt)
        cores = int((submission.asked.get("cores") if submission else 0) or 1)
        yield {
            "attempt": attempt,
            "batch_id": submission.batch_id if submission else "",
            "record": record,
            "memory": memory_words(record, submission.asked if submission else {}) if record else "",
            "share": 100 * record.cpu / record.seconds / cores if record and record.seconds > 0 else None,
            "cores": cores,
            "limit": submission.wall_seconds if submission else None,
            "logs": None if logs is None else logs[at],
        }


def _printed(view: View, attempts: Sequence[Attempt]) -> dict[str, str]:
    """Return the last lines that the payload of the latest attempt has written."""
    with suppress(OSError):
        return last_lines(view, attempts[-1]) if attempts and g.role is not Role.SEE else {}
    return {}


def _published(view: View, local: LocalJob) -> Iterator[tuple[str, str, str, str]]:
    """Return the publications of the payload other than phases, in a form for people, and how they are not valid."""
    from jim.statusdb.documents.xml import indented

    left = PUBLISHED
    for each in view.store.publications.details(local.grid, local.n):
        if not each.content.startswith(PHASE):
            content = cut(indented(each.content), min(LONGEST_XML, left)) if left > 0 else ""
            left -= len(content)
            yield each.name, content, each.updated, "" if each.valid == UNCHECKED else each.valid
