"""What a listing says of local jobs that carriers run: batch jobs that take one local job after another.

What is said of a carrier is said of the local jobs that it has claimed and not ended. A local job without a claim waits
for any carrier of its submission.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jim.jobs import Live
from jim.model import FINAL, Kind, Listing, Observation, State

LIMITS = (Kind.TIME_LIMIT, Kind.CPU_LIMIT, Kind.TIME_OR_MEMORY, Kind.MEMORY)
GOING = (State.RUNNING, State.SUSPENDED, State.UNKNOWN)  # such a carrier may take a local job, or may soon


class Carried:
    """What one listing says of local jobs. Many are of one submission, whose carriers are looked at once."""

    def __init__(self, listing: Listing, width: int) -> None:
        self._listing, self._width = listing, width
        self._waiting: dict[tuple[str, str], Observation | None] = {}

    def of(self, live: Live) -> Observation | None:
        """Return what is said of a local job; None if no batch job is listed that runs it, or could."""
        if not live.carriers:
            return self._listing.get((live.batch_id, live.idx))
        if live.carrier:
            return self._listing.get((live.batch_id, live.carrier))
        best = self._best(live)
        if live.started or best is None or best.state not in GOING:
            return best
        return Observation(State.SUBMITTED, best.mark)

    def _best(self, live: Live) -> Observation | None:
        """Return what is said of the carrier that is the first to take a local job."""
        key = live.batch_id, live.mark
        if key not in self._waiting:
            carriers = [each for each in shown(live, self._listing, self._width) if each]
            self._waiting[key] = min(carriers, key=_rank, default=None)
        return self._waiting[key]


def shown(live: Live, listing: Listing, width: int) -> Iterator[Observation | None]:
    """Yield what is said of each carrier of a local job's submission. Batch ids are reused: only the mark tells."""
    for index in range(1, live.carriers + 1):
        seen = listing.get((live.batch_id, index))
        yield seen if seen and seen.mark[:width] == live.mark[:width] else None


def _rank(seen: Observation) -> tuple[bool, bool, bool, bool]:
    return seen.state in FINAL, seen.state not in GOING, seen.state is not State.SUBMITTED, bool(seen.reason)


def end_of(live: Live, ended: Mapping[tuple[str, int], Observation], width: int) -> Observation | None:
    """Return how the batch job of an attempt ended; for one without a claim, only if no carrier goes on."""
    if live.carriers and not live.carrier:
        all_of_them = [each for each in shown(live, ended, width) if each and each.state in FINAL]
        return _of_all(max(all_of_them, key=_went_wrong)) if len(all_of_them) == live.carriers else None
    seen = ended.get((live.batch_id, live.carrier or live.idx))
    if seen is None or seen.mark[:width] != live.mark[:width]:
        return None
    return _of_all(seen) if live.carriers else seen


def _went_wrong(seen: Observation) -> bool:
    return seen.code != 0


def _of_all(seen: Observation) -> Observation:
    """Return the end of a carrier: its limits were those of all that it ran, and blame none of them."""
    return seen._replace(kind=Kind.ACCOUNTING) if seen.kind in LIMITS else seen


def carrier_states(listing: Listing, live: Iterable[Live], width: int) -> dict[tuple[str, int], State]:
    """Return where the listed carriers of these local jobs are: batch id and index."""
    one_of_each = {(each.batch_id, each.mark): each for each in live if each.carriers}
    return {
        (each.batch_id, index): seen.state
        for each in one_of_each.values()
        for index, seen in enumerate(shown(each, listing, width), 1)
        if seen
    }


def batch_jobs(live: Iterable[Live]) -> set[tuple[str, int]]:
    """Return the batch jobs that run these local jobs, or may take them: batch id and index."""
    found = set[tuple[str, int]]()
    carrying = set[tuple[str, int]]()
    for each in live:
        if each.carriers:
            carrying.add((each.batch_id, each.carriers))
        else:
            found.add((each.batch_id, each.idx))
    return found | {(batch_id, index) for batch_id, count in carrying for index in range(1, count + 1)}
