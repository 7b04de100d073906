"""Decides which hosts are black holes: attempts fail on them within seconds, so that they empty a queue in minutes.

A host is a black hole if at least three attempts at three pieces failed on it in a row within an hour, each of them
quickly, while elsewhere at least three, and half of the last 20, ended well or have already run ten times as long.
Failures everywhere are the job's fault, not a host's. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from jim.jobs import Key
from jim.model import Kind

LEAST = 3  # attempts, and pieces
WITHIN_SECONDS = 3600.0
TIMES = 10  # quick: less than a tenth of what good attempts take
QUICK_SECONDS = 60.0  # if no attempt has ended well
LEAST_QUICK_SECONDS = 1.5  # worker nodes tell whole seconds: what fails at once may seem to take one
LOOKED_AT = 20  # the last attempts elsewhere
MOST = 1 / 4  # of the hosts; if more are suspected, they testify against each other
# A person or JIM itself ended these attempts, or their outputs were lost elsewhere: they say nothing about the host.
NOT_THE_HOST = frozenset(
    {
        *(
            Kind.CANCELLED,
            Kind.REMOVED,
            Kind.PUT_BACK,
            Kind.WISHED,
            Kind.RESTORED,
            Kind.LOST,
            Kind.AVOIDED,
            Kind.NOT_BEGUN,
        ),
        Kind.OUTPUTS_LOST,
    }
)


class Tried(NamedTuple):
    """An attempt that has started on a host. Times are seconds since 1970."""

    host: str
    grid: int
    n: int
    began: float
    at: float  # when it ended; if it still runs, when it began
    seconds: float  # how long it ran, or has run so far
    good: bool | None  # None: it still runs
    key: Key = (0, 0, 0)  # of the attempt


class BlackHole(NamedTuple):
    """A host that is a black hole, and the evidence for that."""

    host: str
    failed: int  # attempts in a row
    since: float  # the first of these ended
    last: float
    longest: float  # seconds
    good_elsewhere: int
    elsewhere: int
    eaten: tuple[Key, ...] = ()  # these attempts


def speaks(verdict: str, kind: Kind) -> bool:
    """Tell whether the end of an attempt says anything about its host."""
    return verdict == "completed" or (verdict not in ("", "killed") and kind not in NOT_THE_HOST)


def black_holes(tried: Iterable[Tried]) -> list[BlackHole]:
    """Judge all hosts of a site by the latest attempts; the one with the most failures comes first."""
    judged = (hole for hole in _suspected(tried).values() if hole)
    return sorted(judged, key=lambda each: (-each.failed, each.host))


def acquitted(tried: Iterable[Tried]) -> set[str]:
    """Return the hosts on which attempts failed as on a black hole, but elsewhere, too: the job is to blame."""
    return {host for host, hole in _suspected(tried).items() if not hole}


def _suspected(tried: Iterable[Tried]) -> dict[str, BlackHole | None]:
    """Judge the hosts on which enough attempts failed quickly, in a row."""
    by_host = _by_host(tried)
    quick = _quick(by_host.values())
    rows = {host: row for host, those in by_host.items() if _is_black(row := _row(those, quick))}
    few = len(rows) <= max(1.0, MOST * len(by_host))
    others = {*by_host} - rows.keys() if few else {*by_host}
    return {host: _judged(host, row, _on(others - {host}, by_host)) for host, row in rows.items()}


def heeded(tried: Iterable[Tried], since: Mapping[str, float]) -> list[Tried]:
    """Leave out what hosts did before a time from which on a person trusts them."""
    return [each for each in tried if each.began >= since.get(each.host, 0.0)]


def sign(tried: Iterable[Tried], host: str, since: float) -> bool | None:
    """Tell how attempts went that began on a host since a time: well, or as on a black hole; None: nobody knows yet."""
    by_host = _by_host(tried)
    quick = _quick(by_host.values())
    latest = [each for each in by_host.get(host, ()) if each.began >= since]
    if _row(latest, quick):
        return False
    return True if any(_went_well(each, quick) for each in latest) else None


def _by_host(tried: Iterable[Tried]) -> dict[str, list[Tried]]:
    """Return the attempts of each host, the latest first."""
    found: dict[str, list[Tried]] = {}
    for each in sorted(tried, key=lambda each: each.at, reverse=True):
        found.setdefault(each.host, []).append(each)
    return found


def _quick(hosts: Iterable[Sequence[Tried]]) -> dict[int, float]:
    """Return below how many seconds a failure is quick, by grid job; grid jobs differ in what good attempts take."""
    good: dict[int, list[float]] = {}
    for those in hosts:
        for each in those:
            if each.good:
                good.setdefault(each.grid, []).append(each.seconds)
    return {grid: max(LEAST_QUICK_SECONDS, median(seconds) / TIMES) for grid, seconds in good.items()}


def _row(those: Iterable[Tried], quick: Mapping[int, float]) -> list[Tried]:
    """Return the quick failures of a host since its last good sign, the latest first.

    A slow failure is no good sign, and no sign of a black hole either.
    """
    row = []
    for each in those:
        if _went_well(each, quick):
            break
        if each.good is False and each.seconds < quick.get(each.grid, QUICK_SECONDS):
            row.append(each)
    return row


def _went_well(each: Tried, quick: Mapping[int, float]) -> bool:
    """Tell whether an attempt ended well, or runs for so long that it is no quick failure."""
    return bool(each.good) or (each.good is None and each.seconds >= TIMES * quick.get(each.grid, QUICK_SECONDS))


def _is_black(row: Sequence[Tried]) -> bool:
    """Tell whether enough pieces failed within an hour."""
    return any(len(_pieces(row, at)) >= LEAST for at in range(len(row) - LEAST + 1))


def _pieces(row: Sequence[Tried], at: int) -> set[tuple[int, int]]:
    """Return the first pieces that failed in the hour before one failure, and on it."""
    found: set[tuple[int, int]] = set()
    for each in row[at:]:
        if row[at].at - each.at > WITHIN_SECONDS or len(found) == LEAST:
            break
        found.add((each.grid, each.n))
    return found


def _on(hosts: Collection[str], by_host: Mapping[str, Sequence[Tried]]) -> list[Tried]:
    return [each for host in hosts for each in by_host[host]]


def _judged(host: str, row: Sequence[Tried], others: Sequence[Tried]) -> BlackHole | None:
    """Compare a host with the others: at the same grid jobs if these were tried there, else at all."""
    longest = max(each.seconds for each in row)
    grids = {each.grid for each in row}
    speaking = [each for each in others if each.good is not None or each.seconds >= TIMES * longest]
    same = [each for each in speaking if each.grid in grids]
    speaking = sorted(same if len(same) >= LEAST else speaking, key=lambda each: each.began)[-LOOKED_AT:]
    good = sum(each.good is not False for each in speaking)
    if good < LEAST or 2 * good < len(speaking):
        return None
    eaten = tuple(each.key for each in row)
    return BlackHole(host, len(row), row[-1].at, row[0].at, longest, good, len(speaking), eaten)
