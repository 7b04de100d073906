"""/jobs/G: one grid job."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from flask import Flask, g, request

from jim.jobs import GridJob
from jim.model import State, Step
from jim.pages.admission import seen_by
from jim.pages.app import Pages, require_no_filter
from jim.pages.cache import Find
from jim.pages.laid_aside import LaidAside
from jim.pages.made import Made, as_csv, as_json
from jim.pages.routes.files import document
from jim.pages.tokens import Role
from jim.reading import filters, groups, lists
from jim.reading.documents import json_documents as documents
from jim.reading.job import history, last_lines, usage
from jim.reading.job import map as mapping
from jim.reading.job.effects import offered
from jim.reading.job.phases import phases
from jim.reading.view import View
from jim.statusdb.list_filters import HostSeen, LocalJobSeen
from jim.statusdb.status import status

HOSTS_SHOWN = 12
UNKNOWN_YET: dict[str, Any] = dict.fromkeys(("waits", "phases", "hosts", "spreads", "usage"), ()) | dict.fromkeys(
    ("failures", "timeline", "pace")
)
UNKNOWN_YET["last_lines"] = {}
COLUMNS = ("id", "state", "attempt", "submission", "host", "started", "witness", "updated", "reason", "wish")


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    pages.add(app, "/jobs/<G>", grid_job, "html", "json", "csv", "xml", document=document)
    pages.add(app, "/jobs/<G>/explain.json", explained, "json")


def grid_job(pages: Pages, view: View, kind: str, number: int) -> Made:
    """Show one grid job, with a page of its local jobs."""
    job = view.grid_job(number)
    if kind == "json" and not request.args:
        return as_json(seen_by(g.role, documents.of_job(view, job)))
    asked = filters.read(lists.LOCAL_JOBS, request.args.items(multi=True))
    page = lists.local_jobs(view, job, asked)
    if kind == "csv":
        return as_csv(f"{job.id}", COLUMNS, (_row(job, each) for each in page.rows))
    after = f"?{asked.but(after=page.after).query()}" if page.after else ""
    if kind == "json":
        rows = [dict(zip(COLUMNS, _row(job, each), strict=True)) for each in page.rows]
        following = f"{g.root}/jobs/{job.id}.json{after}" if after else None
        return as_json({"local_jobs": rows, "next": following, "shown_of": page.shown_of})
    return pages.html(view, "grid_job.html", asked=asked, page=page, after=after, **_facts(pages, view, job, asked))


def _row(job: GridJob, each: LocalJobSeen) -> tuple[object, ...]:
    return (f"{job.id}.{each.n}", each.state.value, *(getattr(each, name) for name in COLUMNS[2:]))


def _whole(view: View, number: int) -> dict[str, Any]:
    """Compute the parts that need a read of every local job; filters do not apply to them."""
    job = view.grid_job(number)
    minutes, ran = history.minutes(view, job), usage.completed(view, job)
    ended = job.updated if job.step.value == "finished" else view.now()
    failed = groups.failures(view, job.id, job.owner) if job.size else None
    return {
        "waits": documents.waits(view, job),
        "phases": phases(view, job),
        "failures": failed,
        "last_lines": last_lines.beside(view, job.id, failed.shown, job.owner) if failed else {},
        "hosts": _hosts(view, job),
        "timeline": history.timeline(minutes, ended),
        "pace": history.pace(view, job, minutes),
        "spreads": history.spreads_of(ran, job),
        "usage": usage.usage(ran),
    }


def _facts(pages: Pages, view: View, job: GridJob, asked: filters.Filters) -> dict[str, Any]:
    counts, at = view.store.counts(job.id), ""
    if job.size <= history.MOST:
        whole: dict[str, Any] | None = _whole(view, job.id)
        drawn = mapping.map_of(view, job, asked)
    else:
        at, whole = pages.cache.answer(f"grid job {job.id}", lambda other: _whole(other, job.id))
        drawn = _map_of_many(pages, view, job, asked)
    _, slowest = pages.cache.answer(f"slowest of {job.id}", _slowest(job.id)) if job.size <= history.MOST else ("", ())
    return {
        **(whole or UNKNOWN_YET),
        "holes": {each.name for each in pages.black_holes()},
        "slowest": slowest or (),
        "found_at": at,
        "unknown_yet": whole is None,
        "drawn": drawn,
        "narrowed": any(name != "limit" for name, _ in asked.given),
        "job": job,
        "led_to": documents.led_to(view, job),
        "of_task": view.store.seen_tasks.tasks_of([job.id]).get(job.id, "") if job.is_of_task else "",
        "counts": counts,
        "aside": LaidAside(view.site.state).about(job),
        "offered": offered(job, counts),
        "status": status(job, counts, strict=view.site.site.strict_status),
        "journal": view.store.journals.of_itself(job.id, documents.SHOWN),
        "bad_words": ", ".join(f"{counts[state]:,} {state.value}" for state in groups.BADLY if counts.get(state)),
        "failed_query": urlencode([("state", state.value) for state in groups.BADLY if counts.get(state)]),
        "reason_query": lambda words: urlencode({"reason": words[: filters.LONGEST]}, errors="surrogateescape"),
        "host_query": lambda host: urlencode({"host": host}, errors="surrogateescape"),
        "states": State,
        "steps": list(Step),
        "told": _told,
    }


def _slowest(number: int) -> Find:
    """Return a search for the slowest attempts: it reads each exit record, about 10 ms of each 1,000."""
    return lambda view: history.slowest(view, view.grid_job(number))


def _hosts(view: View, job: GridJob) -> list[HostSeen]:
    """Return the hosts with attempts that did not complete."""
    return [each for each in view.store.seen.hosts(job.id, HOSTS_SHOWN) if each.failed] if job.size else []


def _map_of_many(pages: Pages, view: View, job: GridJob, asked: filters.Filters) -> mapping.Map | None:
    """Draw a range of very many local jobs now, and the map of all in a thread."""
    if mapping.is_range(asked, job.size):
        return mapping.map_of(view, job, asked)
    nothing = filters.Filters(lists.LOCAL_JOBS)
    _, drawn = pages.cache.answer(f"map of {job.id}", lambda other: mapping.map_of(other, job, nothing))
    found: mapping.Map | None = drawn
    return found


def _told(value: object) -> str:
    """Return a value of a request as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def explained(_: Pages, view: View, kind: str, number: int) -> Made:
    """Show what a grid job waits for."""
    require_no_filter()
    job = view.grid_job(number)
    lines = {} if g.role is Role.SEE else {"last_lines": last_lines.records(view, job)}
    return as_json(documents.explained(view, job) | lines)
