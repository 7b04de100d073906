"""Decides which hosts JIM avoids, and for how long: pure functions from evidence and people's orders.

A black hole is avoided for an hour. Then one attempt may try it: if that goes well, the host is as good as any other;
if not, the host is avoided for twice as long, at most a day. At most a quarter of the hosts are avoided, and never the
last one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from jim.evidence.hosts import MOST, BlackHole, Tried, acquitted, sign

FACT = "avoided"  # by which the store keeps the hosts
FIRST_SECONDS, MOST_SECONDS = 3600.0, 86_400.0
TRIAL_SECONDS = 3600.0  # without a result, another attempt may try
TRIAL = "trial."  # begins the names of trials
SPARED_AT_MOST = 10  # attempts of a piece that do not count; further ones do
LEFT_AT_ONCE = 3  # attempts of a piece that are sent anew at once if a wrapper has left; further ones wait


@dataclass(frozen=True, slots=True)
class Avoided:
    """A host that JIM avoids. Times are seconds since 1970."""

    host: str
    since: float
    until: float | None = None  # None: until a person says otherwise
    times: int = 0  # how often in a row it was a black hole; 0: a person has named it
    tried_since: float = 0.0  # since when one attempt may try it; 0: none may
    reason: str = ""  # of the person
    hole: BlackHole | None = None  # the evidence

    @property
    def is_named(self) -> bool:
        """Tell whether a person has named it."""
        return not self.times

    @property
    def trial(self) -> str:
        """Return the name of the trial, which the first attempt takes that comes; empty: no attempt may try it."""
        return f"{TRIAL}{self.host}.{self.tried_since:.0f}" if self.tried_since else ""

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Avoided:
        """Return what `told` has returned."""
        return cls(**{**told, "hole": BlackHole(*told["hole"]) if told["hole"] else None})

    def told(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        names = ("host", "since", "until", "times", "tried_since", "reason", "hole")
        return {name: getattr(self, name) for name in names}


def stored(told: str) -> dict[str, Avoided]:
    """Read the hosts that the store keeps; what another version has written, and this one cannot read, is none."""
    with suppress(ValueError, TypeError, KeyError):
        return {each.host: each for each in map(Avoided.read, json.loads(told or "[]"))}
    return {}


def to_store(avoided: Iterable[Avoided]) -> str:
    """Return hosts as the store keeps them."""
    records = [each.told() for each in avoided]
    return json.dumps(records) if records else ""


@dataclass(frozen=True, slots=True)
class Orders:
    """What people have ordered about hosts."""

    avoid: Mapping[str, Avoided]
    trust: Mapping[str, float]  # what a host did before this time counts no more


def avoided(
    known: Mapping[str, Avoided],
    orders: Orders,
    tried: Sequence[Tried],
    holes: Sequence[BlackHole],
    now: float,
    left: Collection[str] = (),
) -> dict[str, Avoided]:
    """Return the hosts to avoid from now on: first those that a person has named, then the black holes.

    `left` are hosts that wrappers have left: there are such hosts, though nothing ran on them.
    """
    found, innocent = {**orders.avoid}, acquitted(tried)
    for host, each in known.items():
        overruled = each.is_named or host in found or host in innocent or orders.trust.get(host, 0.0) >= each.since
        if not overruled and (still := _still(each, tried, now)):
            found[host] = still
    for hole in holes:
        if hole.host not in found:
            evidence = hole._replace(eaten=())
            found[hole.host] = Avoided(hole.host, now, now + FIRST_SECONDS, times=1, hole=evidence)
    return _within_limits(found, {each.host for each in tried} | {*left})


def _still(each: Avoided, tried: Sequence[Tried], now: float) -> Avoided | None:
    """Return what a host that was a black hole is now; None: it is as good as any other."""
    if each.until is None or now < each.until:
        return each
    went_well = sign(tried, each.host, each.tried_since) if each.tried_since else None
    if went_well is False:
        longer = min(FIRST_SECONDS * 2**each.times, MOST_SECONDS)
        return replace(each, until=now + longer, times=each.times + 1, tried_since=0.0)
    if went_well or now - each.until > MOST_SECONDS:  # or nothing comes there any more
        return None
    return replace(each, tried_since=now) if now - each.tried_since > TRIAL_SECONDS else each


def _within_limits(wanted: Mapping[str, Avoided], seen: set[str]) -> dict[str, Avoided]:
    """Return at most a quarter of the seen hosts, never the last one; where nothing has run, the rest costs nothing."""
    room = min(max(1, int(MOST * len(seen))), len(seen) - 1)
    found = {}
    for host, each in wanted.items():
        if host in seen:
            room -= 1
        if host not in seen or room >= 0:
            found[host] = each
    return found
