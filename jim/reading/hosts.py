"""Reads how attempts ended on each host, and which hosts are black holes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jim.errors import BadSite, UnknownJob
from jim.evidence.avoiding import FACT, Avoided, stored
from jim.evidence.hosts import BlackHole, black_holes, heeded
from jim.jobs import Alike
from jim.reading.filters import Filter, Filters
from jim.reading.groups import Group, grouped
from jim.reading.lists import LIMIT, PAGE, Page
from jim.reading.quantities import span
from jim.reading.view import View
from jim.site.avoid import Order, ordered
from jim.site.notices import utc
from jim.statusdb.grid.host_evidence import tried_lately
from jim.statusdb.list_filters import AttemptSeen, GridJobOnHost, HostTotal
from jim.workdir.avoid import orders_of

MOST_REASONS = 10_000
LATE_SECONDS = 30.0  # after so long a keeper that runs has read an order
LAST_ATTEMPTS, MOST_GRID_JOBS, MOST_GROUPS = 50, 100, 20
HOSTS = {
    "after": Filter("where the page begins: rank, failures and name of the last row before", pattern=r"\d+,\d+,.+"),
    "limit": LIMIT,
}
VERDICTS = {"": "runs", "again": "failed, tried again", "elsewhere": "failed, tried elsewhere", "held": "failed, held"}
BLACK = 1001  # the rank of a black hole, or of an avoided host: above any share of failures in per mille
FEW = "JIM avoids at most a quarter of its hosts, and never the last one"
NOT_IN_FORCE = f"named, but not avoided: {FEW}"
HOLE_IN_USE = f"a black hole, but not avoided: {FEW}"
NO_KEEPER = "named; no keeper runs, and the next one reads this"
NOT_READ = "named; a keeper reads this within 10 s"


@dataclass(frozen=True, slots=True)
class Host:
    """A host: its attempts by result, the reasons of failures, and why it is a black hole, or avoided."""

    total: HostTotal
    reasons: Sequence[Group]
    hole: BlackHole | None
    avoided: Avoided | None = None
    named: str = ""  # what keeps JIM from avoiding a host that a person has named, or a black hole

    @property
    def name(self) -> str:
        """Return the name."""
        return self.total.host

    @property
    def place(self) -> tuple[int, int, str]:
        """Return the place in the list: black holes first, then by the share of failures."""
        rank = BLACK if self.hole or self.avoided else round(1000 * self.total.share)
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
    reasons, holes, avoided = view.store.hosts.reasons(MOST_REASONS), judged(view), avoided_now(view)
    totals = {each.host: each for each in view.store.hosts.totals()}
    named = _not_in_force(view, avoided, totals.keys(), holes.values())
    totals |= {host: _unused(host) for host in (*avoided, *named) if host not in totals}
    found = [
        Host(total, _groups(reasons, host), holes.get(host), avoided.get(host), named.get(host, ""))
        for host, total in totals.items()
    ]
    return sorted(found, key=lambda each: each.place)


def _unused(host: str) -> HostTotal:
    return HostTotal(host, 0, 0, 0, 0, "", "")


def avoided_now(view: View) -> dict[str, Avoided]:
    """Return the hosts that the keeper avoids, by name."""
    return stored(view.store.fact(FACT))


def _orders(view: View) -> Sequence[Order]:
    with suppress(BadSite):  # `jim site avoid` says what is wrong
        return ordered(view.site)
    return ()


def _not_in_force(
    view: View, avoided: Mapping[str, Avoided], hosts: Collection[str], holes: Iterable[BlackHole]
) -> dict[str, str]:
    """Return the black holes, and the hosts that a person has named, that are not avoided, with the reason."""
    named = orders_of(_orders(view), hosts).avoid
    late = datetime.fromisoformat(view.now()).timestamp() - LATE_SECONDS
    idle = not view.heart().beats
    in_use = (each for each in holes if each.last < late and not idle)
    words = {each.host: f"{HOLE_IN_USE}; {hole_words(each)}" for each in in_use}
    words |= {host: _why_not(each, late, idle=idle) for host, each in named.items()}
    return {host: why for host, why in words.items() if host not in avoided}


def _why_not(named: Avoided, late: float, *, idle: bool) -> str:
    if idle:
        return NO_KEEPER
    return NOT_READ if named.since > late else NOT_IN_FORCE


def _groups(reasons: Mapping[str, Sequence[Alike]], host: str) -> list[Group]:
    return grouped(reasons.get(host, ()), (host,))[:MOST_GROUPS]


def one_host(view: View, name: str) -> OneHost | None:
    """Return one host; None if no attempt ran on it, and nobody has named it."""
    totals, avoided = view.store.hosts.totals(name), avoided_now(view)
    hosts = {each.host for each in view.store.hosts.totals()} if _orders(view) else ()
    holes = judged(view)
    named = _not_in_force(view, avoided, hosts, holes.values()).get(name, "")
    if not totals and name not in avoided and not named:
        return None
    groups = _groups(view.store.hosts.reasons(MOST_REASONS, name), name)
    host = Host(totals[0] if totals else _unused(name), groups, holes.get(name), avoided.get(name), named)
    return OneHost(
        host, view.store.hosts.grid_jobs_on(name, MOST_GRID_JOBS), view.store.hosts.attempts_on(name, LAST_ATTEMPTS)
    )


def required(found: OneHost | None, name: str) -> OneHost:
    """Return a host, or refuse a name on which nothing ran."""
    if found is None:
        raise UnknownJob(f"no attempt is known to have run on a host {name!r}")
    return found


def judged(view: View) -> dict[str, BlackHole]:
    """Return the black holes of the last day by name."""
    tried = tried_lately(view.store, datetime.fromisoformat(view.now()).timestamp())
    trusted = orders_of(_orders(view), {each.host for each in tried}).trust
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


def avoided_words(host: Host) -> str:
    """Return since when JIM avoids a host, until when, and why; empty if it does not."""
    each = host.avoided
    if each is None:
        return host.named
    if each.is_named:
        until = "" if each.until is None else f", until {utc(each.until)}"
        return f"avoided since {utc(each.since)}{until}: named by an administrator{each.reason and f': {each.reason}'}"
    if each.trial:
        return f"on trial since {utc(each.tried_since)}: one attempt may try it, others leave it"
    often = f", {each.times} times in a row" if each.times > 1 else ""
    then = f"one attempt may try it from {utc(each.until or 0.0)} on"
    return f"avoided as a black hole since {utc(each.since)}{often}; {then}"


def record(host: Host) -> dict[str, Any]:
    """Return a host as all machine-readable output has it."""
    names = ("host", "started", "running", "completed", "failed", "last_failure", "last_success")
    return {
        **{name: getattr(host.total, name) for name in names},
        "share_failed": round(host.total.share, 4),
        "black_hole": hole_words(host.hole) if host.hole else "",
        "avoided": avoided_words(host),
        "reasons": [{"words": each.words, "times": each.times} for each in host.reasons],
    }
