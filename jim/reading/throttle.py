"""The limits of the site that delay submissions, with the numbers that have reached them."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from jim.jobs import GridJob
from jim.model import IN_BATCH, State
from jim.reading.view import View


class Throttle:
    """The limits of the site that delay submissions. What is in the queue is counted once, for many grid jobs."""

    def __init__(self, view: View) -> None:
        self._view = view

    def words(self, job: GridJob) -> str:
        """Name the limit that delays a grid job; empty if none does."""
        limits, store = self._view.site.limits, self._view.store
        if self._queued >= limits.queued:
            return f"{self._queued:,} local jobs are in the queue, and limits.queued allows {limits.queued:,}"
        counts, most = store.counts(job.id), limits.queued_per_grid_job
        mine = sum(counts.get(state, 0) for state in IN_BATCH)
        if mine >= most:
            return f"{mine:,} local jobs of it are in the queue, and limits.queued_per_grid_job allows {most:,}"
        most = limits.queued_per_dn
        mine = self._of_senders[store.senders.of(job.id).counted_as] if most else 0
        if most and mine >= most:
            return f"{mine:,} local jobs of its sender are in the queue, and limits.queued_per_dn allows {most:,}"
        return ""

    def delays(self, job: GridJob) -> str:
        """Say what delays a grid job that has local jobs to send now; empty if nothing does."""
        store = self._view.store
        if job.wish or not store.counts(job.id).get(State.WAITING):
            return ""
        words = self.words(job)
        due = words and store.local_jobs(job.id, (State.WAITING,), limit=1, due=store.clock.steady())
        return f"waits: {words}" if due else ""

    @cached_property
    def _queued(self) -> int:
        return self._view.store.in_batch()

    @cached_property
    def _of_senders(self) -> Counter[str]:
        counted = Counter[str]()  # without a DN: none
        for _, dn, count in self._view.store.senders.in_batch_of_senders():
            counted[dn] += count
        return counted
