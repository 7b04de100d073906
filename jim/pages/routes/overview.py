"""/: the site at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from flask import Flask, g

from jim.jobs import GridJob
from jim.model import State
from jim.pages.app import Pages, require_no_filter
from jim.pages.laid_aside import LaidAside, name_of
from jim.pages.made import Made, as_json
from jim.pages.routes.files import document
from jim.pages.tokens import Role
from jim.reading import lists
from jim.reading.filters import Filters
from jim.reading.hosts import hole_words
from jim.reading.job import history
from jim.reading.job.names import names_of
from jim.reading.site.site_view import (
    TasksSeen,
    WhatWaits,
    health,
    in_trouble,
    tasks_seen,
    unfinished_counts,
    what_waits,
)
from jim.reading.view import View

TROUBLE_DAYS = 7
NEWEST = 8
MOST_HOLES = 10
ASIDE_SHOWN = 20


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    pages.add(app, "/", overview, "html", "json", "xml", document=document)


def overview(pages: Pages, view: View, kind: str) -> Made:
    """Show the overview of the site."""
    require_no_filter()
    since = (datetime.fromisoformat(view.now()) - timedelta(days=TROUBLE_DAYS)).isoformat()
    aside = LaidAside(view.site.state)
    trouble = in_trouble(view, since, aside.changes())
    counts, tasks = unfinished_counts(view), _tasks(view, since, aside.changes())
    waits_at, waits = pages.cache.answer("what waits", what_waits, of_files=True)
    holes = pages.black_holes()
    if kind == "json":
        named = _beside(view, trouble)["names"]
        return as_json(
            {
                **_of_site(view, counts, tasks),
                "in_trouble": lists.records(view, trouble, named),
                "laid_aside": [name_of(thing) for thing, _ in aside.things(view, ASIDE_SHOWN)],
                "black_holes": [each.name for each in holes],
                "waits_at": waits_at,
                "waits": [_wait(each) for each in waits or ()],
            }
        )
    newest = _newest(view, trouble, aside)
    return pages.html(
        view,
        "overview.html",
        counts=counts,
        trouble=trouble,
        tasks=tasks,
        holes=holes[:MOST_HOLES],
        hole_words=hole_words,
        waits_at=waits_at,
        waits=waits,
        newest=newest,
        aside=[(name_of(thing), thing, entry) for thing, entry in aside.things(view, ASIDE_SHOWN)],
        hour=history.last_hour(view),
        **_beside(view, (*trouble, *newest)),
        days=TROUBLE_DAYS,
    )


def _newest(view: View, trouble: Sequence[GridJob], aside: LaidAside) -> list[GridJob]:
    """Return the newest grid jobs, without those that stand above them or were laid aside."""
    above, entries = {job.id for job in trouble}, aside.all()
    limit = min(lists.LONGEST_PAGE, NEWEST + len(above) + len(entries))
    page = lists.grid_jobs(view, Filters(lists.GRID_JOBS, (("limit", str(limit)),)), names=False, folded=True)
    return [job for job in page.rows if job.id not in above and not aside.has(job, entries)][:NEWEST]


def _of_site(view: View, counts: Mapping[State, int], tasks: TasksSeen) -> dict[str, Any]:
    return {
        "site": view.site.site.name,
        "keeper": view.heart().at_work,
        "batch_seen": view.seen(),
        "trouble": health(view).trouble.words,
        "counts": {state.value: count for state, count in lists.counted(counts)},
        "tasks": {**tasks._asdict(), "wanting": [each._asdict() for each in tasks.wanting]},
    }


def _beside(view: View, jobs: Sequence[GridJob]) -> dict[str, Any]:
    """Return what stands beside grid jobs: their counts, and for whoever may see requests their names."""
    names = names_of(view, jobs) if g.role is not Role.SEE else {}
    return {"tallies": view.store.seen.tallies([job.id for job in jobs]), "names": names}


def _tasks(view: View, since: str, aside: Mapping[str, str]) -> TasksSeen:
    """Tell of tasks without the words of their sources, if whoever asks may not see these."""
    seen = tasks_seen(view, since, aside)
    return seen._replace(wanting=[each._replace(more="") for each in seen.wanting]) if g.role is Role.SEE else seen


def _wait(each: WhatWaits) -> dict[str, Any]:
    wait = each.wait
    told = {"what": wait.what, "witness": wait.witness, "seen": wait.seen, "next": wait.next}
    return {**told, "grid_jobs": list(each.grid_jobs)}
