"""Whose turn it is to send: grid jobs with waiting local jobs, by the DN of their sender and by priority.

While most first attempts of a grid job fail, further ones have few turns.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush

from jim.jobs import GridJob, LocalJob
from jim.keeper.keeper import Keeper
from jim.model import IN_BATCH, Kind, Step, Witness
from jim.statusdb.grid.first_attempts import PAUSE_SECONDS, Further

ANYONE = ""  # instead of a DN: no proxy, or no limit for a DN


class Turns:
    """Grid jobs with local jobs to send, those of each sender apart: a sender without room holds up no other."""

    def __init__(self) -> None:
        self._priorities: dict[int, int] = {}  # of the grid jobs
        self._heaps: dict[str, list[tuple[int, int]]] = {}  # of these by sender, the highest priority first

    def add(self, sender: str, number: int, priority: int) -> None:
        """Let a grid job have its turn, in the order of its priority."""
        if self._priorities.get(number) != priority:
            self._priorities[number] = priority
            heappush(self._heaps.setdefault(sender, []), (-priority, number))

    def first(self, may_send: Callable[[str], bool]) -> tuple[str, int] | None:
        """Return the next grid job with its sender; None if none of the senders that may send has one."""
        heads = [(*heap[0], sender) for sender in [*self._heaps] if (heap := self._valid(sender)) and may_send(sender)]
        if not heads:
            return None
        _, number, sender = min(heads)
        return sender, number

    def _valid(self, sender: str) -> list[tuple[int, int]]:
        """Return what waits of a sender, without first entries of a priority that has changed."""
        heap = self._heaps[sender]
        while heap and self._priorities.get(heap[0][1]) != -heap[0][0]:
            heappop(heap)
        if not heap:
            del self._heaps[sender]
        return heap

    def had(self, sender: str, number: int) -> None:
        """Note that the first grid job of a sender has had its turn."""
        del self._priorities[number]
        heappop(self._heaps[sender])


class Senders:
    """How many local jobs of each DN are in the batch system: counted once, and then with each look at a grid job.

    Only a submission makes the number grow, and is counted at once. So no DN has more than the limit allows.
    """

    def __init__(self) -> None:
        self._of: dict[int, tuple[str, int]] | None = None  # unfinished grid jobs: sender, and local jobs in the queue
        self._queued = Counter[str]()

    def look(self, keeper: Keeper, job: GridJob) -> str:
        """Count the local jobs of a grid job; return its sender."""
        if not keeper.site.limits.queued_per_dn:
            return ANYONE
        if self._of is None:
            self._of = {number: (dn, count) for number, dn, count in keeper.store.senders.in_batch_of_senders()}
            for dn, count in self._of.values():
                self._queued[dn] += count
        known = self._of.pop(job.id, None)
        dn, before = known or (keeper.store.senders.of(job.id).counted_as, 0)
        if not dn:
            return ANYONE
        counts = keeper.store.counts(job.id)
        now = sum(counts.get(state, 0) for state in IN_BATCH)
        self._queued[dn] += now - before
        if job.step is not Step.FINISHED:
            self._of[job.id] = dn, now
        return dn

    def room(self, keeper: Keeper, sender: str) -> int:
        """Return how many more local jobs of a sender the limit allows in the batch system."""
        return keeper.site.limits.queued_per_dn - self._queued[sender] if sender else sys.maxsize


def not_held_back(keeper: Keeper, job: GridJob, waiting: list[LocalJob]) -> list[LocalJob]:
    """Return the local jobs that may be sent now, and let the others wait.

    Of a task, its throttle decides; and what a person wants is done at once.
    """
    again = [each for each in waiting if each.attempt and each.witness != Witness.USER.value and _has_begun(each)]
    further = keeper.store.first_attempts.held_back(job.id) if again and not job.is_of_task else None
    if further is None:
        return waiting
    pause = _pause(keeper, further)
    held = again if pause else again[1:]
    due = keeper.clock.steady() + (pause or PAUSE_SECONDS)
    with keeper.store.transaction():
        for each in held:
            keeper.store.set_local_job(job.id, each.n, due=due)
    numbers = {each.n for each in held}
    return [each for each in waiting if each.n not in numbers]


def _has_begun(job: LocalJob) -> bool:
    """Tell whether an attempt at it may have failed; what its carriers had no time for says nothing of it."""
    return job.kind is not Kind.NOT_BEGUN


def _pause(keeper: Keeper, further: Further) -> float:
    """Return for how many seconds nothing is to be tried again."""
    since = keeper.clock.since_booted(further.booted) if further.booted else None
    if further.live:
        return PAUSE_SECONDS
    return 0.0 if since is None else max(0.0, PAUSE_SECONDS - since)
