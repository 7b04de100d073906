"""Reads how attempts ended on each host, and which hosts are black holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jim.errors import BadSite, UnknownJob
from jim.evidence.hosts import BlackHole, black_holes, heeded
from jim.jobs import Alike
from jim.reading.filters import Filter, Filters
from jim.reading.groups import Group, grouped
from jim.reading.lists import LIMIT, PAGE, Page
from jim.reading.quantities import span
from jim.reading.view import View
from jim.site.avoid import Order, ordered
from jim.statusdb.asked import AttemptSeen, GridJobOnHost, HostTotal
from jim.statusdb.tried import tried_lately
from jim.workdir.avoid import orders_of

MOST_REASONS = 10_000
LAST_ATTEMPTS, MOST_GRID_JOBS, MOST_GROUPS = 50, 100, 20
HOSTS = {
    "after": Filter("where the page begins: rank, failures and name of the last row before", pattern=r"\d+,\d+,.+"),
    "limit": LIMIT,
}
VERDICTS = {"": "runs", "again": "failed, tried again", "elsewhere": "failed, tried elsewhere", "held": "failed, held"}
BLACK = 1001  # the rank of a black hole: above any share of failures in per mille


@dataclass(frozen=True, slots=True)
class Host:
    """A host: its attempts by result, the reasons of failures, and the evidence that it is a black hole."""

    total: HostTotal
    reasons: Sequence[Group]
    hole: BlackHole | None

    @property
    def name(self) -> str:
        """Return the name."""
        return self.total.host

    @property
    def place(self) -> tuple[int, int, str]:
        """Return the place in the list: black holes first, then by the share of failures."""
        rank = BLACK if self.hole else round(1000 * self.total.share)
        return -rank, -self.total.failed, self.name

    @property
    def key(self) -> str:
        """Return the place as text, for the address of the next page."""
        rank, failed, name = self.place
        return f"{-rank},{-failed},{name}"


@dataclass(frozen=True, slots=True)
class OneHost:
    """One host, its grid jobs, and its last attempts."""

    host: Host
    grid_jobs: Sequence[GridJobOnHost]
    attempts: Sequence[AttemptSeen]


def all_hosts(view: View) -> list[Host]:
    """Return all hosts: black holes first, then by the share of failures."""
    reasons, holes = view.store.host_reasons(MOST_REASONS), judged(view)
    totals = view.store.host_totals()
    found = [Host(each, _groups(reasons, each.host), holes.get(each.host)) for each in totals]
    return sorted(found, key=lambda each: each.place)


def _groups(reasons: Mapping[str, Sequence[Alike]], host: str) -> list[Group]:
    return grouped(reasons.get(host, ()), (host,))[:MOST_GROUPS]


def one_host(view: View, name: str) -> OneHost | None:
    """Return one host; None if no attempt ran on it."""
    totals = view.store.host_totals(name)
    if not totals:
        return None
    host = Host(totals[0], _groups(view.store.host_reasons(MOST_REASONS, name), name), judged(view).get(name))
    return OneHost(host, view.store.grid_jobs_on(name, MOST_GRID_JOBS), view.store.attempts_on(name, LAST_ATTEMPTS))


def required(found: OneHost | None, name: str) -> OneHost:
    """Return a host, or refuse a name on which nothing ran."""
    if found is None:
        raise UnknownJob(f"no attempt is known to have run on a host {name!r}")
    return found


def judged(view: View) -> dict[str, BlackHole]:
    """Return the black holes of the last day by name."""
    tried = tried_lately(view.store, datetime.fromisoformat(view.now()).timestamp())
    orders: Sequence[Order] = ()
    with suppress(BadSite):  # `jim site avoid` says what is wrong
        orders = ordered(view.site)
    trusted = orders_of(orders, {each.host for each in tried}).trust
    return {each.host: each for each in black_holes(heeded(tried, trusted))}


def page(hosts: Sequence[Host], asked: Filters) -> Page[Host]:
    """Return a page of the list."""
    limit, after = int(asked.one("limit", str(PAGE))), asked.one("after")
    rest = [each for each in hosts if not after or each.place > _place(after)]
    last = rest[limit - 1].key if len(rest) > limit else ""
    return Page(rest[:limit], last, len(hosts))


def _place(text: str) -> tuple[int, int, str]:
    rank, failed, name = text.split(",", 2)
    return -int(rank[:9]), -int(failed[:18]), name


def verdict_words(verdict: str) -> str:
    """Return how an attempt ended, in words."""
    return VERDICTS.get(verdict, verdict)


def hole_words(hole: BlackHole) -> str:
    """Return the evidence that a host is a black hole, in words."""
    return (
        f"{hole.failed:,} attempts failed in a row within {span(hole.last - hole.since)}, each in at most "
        f"{span(hole.longest)}, while {hole.good_elsewhere} of the last {hole.elsewhere} elsewhere went well"
    )


def record(host: Host) -> dict[str, Any]:
    """Return a host as all machine-readable output has it."""
    names = ("host", "started", "running", "completed", "failed", "last_failure", "last_success")
    return {
        **{name: getattr(host.total, name) for name in names},
        "share_failed": round(host.total.share, 4),
        "black_hole": hole_words(host.hole) if host.hole else "",
        "reasons": [{"words": each.words, "times": each.times} for each in host.reasons],
    }
