"""/hosts and /hosts/NAME: how attempts ended on each host."""

from __future__ import annotations

from typing import Any

from flask import Flask, g, request

from jim.pages.app import DOCUMENT_SECONDS, Pages, require_no_filter
from jim.pages.made import Made, as_csv, as_json
from jim.pages.refusals import Refused
from jim.reading import filters, hosts
from jim.reading.view import View

COLUMNS = ("host", "black_hole", "started", "running", "completed", "failed", "share_failed", "last_failure")
COLUMNS_ALSO = ("last_success", "avoided")
OF_ATTEMPT = ("grid", "n", "attempt", "started", "verdict", "updated", "reason")


def add(app: Flask, pages: Pages) -> None:
    """Add the pages."""
    pages.add(app, "/hosts", all_hosts, "html", "json", "csv")
    pages.add(app, "/hosts/<HOST>", one_host, "html", "json", "csv")


def all_hosts(pages: Pages, view: View, kind: str) -> Made:
    """Show a page of the list."""
    asked = filters.read(hosts.HOSTS, request.args.items(multi=True))
    at, found = _found(pages, "hosts", hosts.all_hosts, kind)
    page = hosts.page(found or (), asked)
    if kind == "csv":
        names = (*COLUMNS, *COLUMNS_ALSO)
        records = [hosts.record(each) for each in page.rows]
        return as_csv("hosts", names, ([each[name] for name in names] for each in records))
    after = f"?{asked.but(after=page.after).query()}" if page.after else ""
    if kind == "json":
        following = f"{g.root}/hosts.json{after}" if after else None
        records = [hosts.record(each) for each in page.rows]
        return as_json({"hosts": records, "next": following, "shown_of": page.shown_of, "at": at})
    return pages.html(view, "hosts.html", asked=asked, page=page, after=after, found_at=at, **_in_templates())


def _in_templates() -> dict[str, Any]:
    return {
        "hole_words": hosts.hole_words,
        "avoided_words": hosts.avoided_words,
        "verdict_words": hosts.verdict_words,
    }


def _found(pages: Pages, name: str, find: Any, kind: str) -> tuple[str, Any]:
    """Return what a thread has found out; a document waits for the answer, a page says that there is none yet."""
    if kind == "html":
        return pages.cache.answer(name, find)
    at, found = pages.cache.answer(name, find, DOCUMENT_SECONDS)
    if not at:
        raise Refused(503, "this is being found out; try again in a while", **{"Retry-After": "10"})
    return at, found


def one_host(pages: Pages, view: View, kind: str, host: str) -> Made:
    """Show one host."""
    require_no_filter()
    at, found = _found(pages, f"host {host}", lambda other: hosts.one_host(other, host), kind)
    if not at:
        return pages.html(view, "host.html", name=host, one=None, found_at="", **_in_templates())
    one = hosts.required(found, host)
    if kind == "csv":
        rows = ([getattr(each, name) for name in OF_ATTEMPT] for each in one.attempts)
        return as_csv("host", OF_ATTEMPT, rows)
    if kind == "json":
        attempts = [{name: getattr(each, name) for name in OF_ATTEMPT} for each in one.attempts]
        grid_jobs = [each._asdict() for each in one.grid_jobs]
        return as_json({**hosts.record(one.host), "grid_jobs": grid_jobs, "attempts": attempts, "at": at})
    return pages.html(view, "host.html", name=host, one=one, found_at=at, **_in_templates())
