"""The one page of `jim pages --site`: all accounts, with links to their own pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from flask import Flask, Response, render_template

from jim.model import State
from jim.pages.admission import HEALTH
from jim.pages.app import Pages, require_no_filter
from jim.pages.made import HTML, TEXT, Made, accepted, answer, as_csv, as_json, name_of_page
from jim.reading.lists import counted
from jim.reading.site.accounts import Account, Accounts

COLUMNS = ("account", "changed", "seen", "grid_jobs", "trouble", "problem", "url")


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
    if pages.accounts is None:
        return
    accounts = pages.accounts
    app.add_url_rule("/", "accounts", lambda: page(pages, accounts, ""))
    for kind in ("json", "csv"):
        app.add_url_rule(f"/index.{kind}", f"accounts.{kind}", lambda kind=kind: page(pages, accounts, kind))
    app.add_url_rule("/healthz", HEALTH, lambda: Response("ok\n", content_type=TEXT))


def page(pages: Pages, accounts: Accounts, fixed: str) -> Response:
    """Show all accounts, or send them as a document."""
    require_no_filter()
    kind = fixed or accepted(("html", "json", "csv"))
    return answer(*pages.cache.page(name_of_page(kind), "", lambda: _made(pages, accounts, kind)))


def _made(pages: Pages, accounts: Accounts, kind: str) -> Made:
    found = accounts.all()
    if kind == "csv":
        states = [state for state in State if state is not State.UNKNOWN]
        return as_csv("accounts", (*COLUMNS, *(state.value for state in states)), _rows(accounts, found, states))
    if kind == "json":
        site = accounts.site.site.name
        return as_json({"site": site, "accounts": [_plain(accounts, each) for each in found]})
    total = sum((Counter(each.counts) for each in found), Counter[State]())
    facts = {"accounts": accounts, "found": found, "total": total, "url": lambda name: url(accounts, name)}
    seen = {"site_name": accounts.site.site.name, "now": accounts.now(), "here": "/", "may_control": False}
    body = render_template("accounts.html", **seen, **facts)
    mark = f"{found} {pages.marks.minute()}"
    return Made(body.encode(errors="backslashreplace"), HTML, accounts.now(), mark=mark)


def url(accounts: Accounts, name: str) -> str:
    """Return the address of the pages of an account; empty if the site file names none."""
    return accounts.site.pages.account_url.replace("{account}", quote(name, safe=""))


def _plain(accounts: Accounts, each: Account) -> dict[str, Any]:
    counts = {state.value: count for state, count in counted(each.counts)}
    told = {"changed": each.at, "seen": each.seen, "trouble": each.trouble, "problem": each.problem}
    return {
        "account": each.name,
        **told,
        "grid_jobs": dict(each.grid_jobs),
        "counts": counts,
        "url": url(accounts, each.name),
    }


def _rows(accounts: Accounts, found: Iterable[Account], states: Iterable[State]) -> Iterable[tuple[object, ...]]:
    for each in found:
        about = (each.name, each.at, each.seen, sum(each.grid_jobs.values()), each.trouble, each.problem)
        yield (*about, url(accounts, each.name), *(each.counts.get(state, 0) for state in states))
