"""Explains that hosts are avoided, and which attempts do not count because of a host."""

from __future__ import annotations

from collections.abc import Iterator

from jim.evidence.avoiding import SPARED_AT_MOST
from jim.jobs import LocalJob
from jim.reading.before_submission import Wait
from jim.reading.hosts import avoided_now
from jim.reading.quantities import how_many
from jim.reading.view import View

HOSTS_TOLD = 3


def hosts(view: View) -> Iterator[Wait]:
    """Report hosts on which nothing runs at present."""
    found = sorted(avoided_now(view))
    if found:
        more = f" and {len(found) - HOSTS_TOLD} more" if len(found) > HOSTS_TOLD else ""
        words = f"JIM avoids {how_many(len(found), 'host')}: {', '.join(found[:HOSTS_TOLD])}{more}"
        yield Wait(words, "local jobs run elsewhere; `jim hosts` says why, and `jim site avoid HOST --not` ends it")


def spared(view: View, local: LocalJob) -> Iterator[Wait]:
    """Report attempts that do not count, as their hosts were to blame."""
    times = view.store.spared.count(local.grid, local.n)
    if times:
        words = f"not counted, because a host was to blame: {how_many(times, 'attempt')}"
        yield Wait(words, f"at most {SPARED_AT_MOST} attempts of a local job are left out of the count", "fence")
