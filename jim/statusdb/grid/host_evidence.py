"""Reads the attempts of the last day as evidence about the hosts on which they ran."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

from jim.evidence.exit_record import times_of
from jim.evidence.hosts import Tried, speaks
from jim.statusdb.list_filters import AttemptSeen
from jim.statusdb.store import Store

JUDGED_SECONDS = 86_400.0  # attempts that ended longer ago say nothing about a host
MOST = 5_000  # attempts that ended, and attempts that run: to read these takes a keeper a fifth of a second


def tried_lately(store: Store, now: float) -> list[Tried]:
    """Return the attempts that say something about their hosts; `now` in seconds since 1970."""
    found = (_tried(each, now) for each in store.hosts.tried_lately(_long_ago(now), MOST))
    return [each for each in found if each]


def left_lately(store: Store, now: float) -> set[str]:
    """Return the hosts that were avoided when an attempt last came there; `now` in seconds since 1970."""
    return store.spared.left_since(_long_ago(now))


def _long_ago(now: float) -> str:
    return datetime.fromtimestamp(now - JUDGED_SECONDS, UTC).isoformat(timespec="milliseconds")[:23]


def _tried(seen: AttemptSeen, now: float) -> Tried | None:
    """Return an attempt as evidence about its host; None if it says nothing."""
    if seen.verdict and not speaks(seen.verdict, seen.kind):
        return None
    with suppress(ValueError):  # a worker node has written the time of the start
        began, ended = _seconds(seen.started), _seconds(seen.updated) if seen.verdict else now
        measured = times_of(seen.record) if seen.record else None
        seconds = measured[0] if measured else max(0.0, ended - began)
        good = seen.verdict == "completed" if seen.verdict else None
        key = seen.grid, seen.k, seen.idx
        return Tried(seen.host, seen.grid, seen.n, began, ended if seen.verdict else began, seconds, good, key)
    return None


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
