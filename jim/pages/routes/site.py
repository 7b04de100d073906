"""/site: the last test and check of the site, its limits, the room on its disks, and files left for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Flask

from jim.pages.admission import require_look
from jim.pages.app import Pages, require_no_filter
from jim.pages.made import Made, as_json
from jim.pages.marks import OFTEN
from jim.reading.site import site_state
from jim.reading.view import View


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    pages.add(app, "/site", site, "html", "json", seconds=OFTEN)


def site(pages: Pages, view: View, kind: str) -> Made:
    """Show the state of the site; it names files of requests."""
    require_look()
    require_no_filter()
    at, found = pages.cache.answer("site", site_state.look_around, of_files=True)
    facts = {
        "tested": site_state.report(view, view.site.tested),
        "checked": site_state.report(view, view.site.checked),
        "drained": site_state.drained(view),
        "versions": site_state.versions(),
    }
    limits = site_state.limits(view)
    if kind == "html":
        return pages.html(view, "site.html", found=found, found_at=at, limits=limits, **facts)
    named = {section: {name: value for name, _, value in those} for section, those in limits.items()}
    plain = {name: asdict(each) if isinstance(each, site_state.Report) else each for name, each in facts.items()}
    return as_json({"site": view.site.site.name, **plain, **named, "found_at": at, "found": _plain(found)})


def _plain(found: site_state.Found | None) -> dict[str, Any] | None:
    return asdict(found) if found else None
