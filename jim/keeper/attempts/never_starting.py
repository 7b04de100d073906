"""Ends local jobs that can never start, once the batch system has said so for long enough.

The keeper takes the claim, and judges only then: a wrapper that has won the claim runs, and JIM adopts its
attempt. What is left in the queue is cancelled like any batch job whose attempt has ended (asking.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from jim.errand import Errand
from jim.evidence import verdict
from jim.jobs import Key
from jim.keeper.attempts import arrivals, judging
from jim.keeper.keeper import Keeper
from jim.keeper.missing_directories import Holders, take_claims

IN_VAIN, AT_ONCE = "in vain", 500


class InVain:
    """The move that gives up attempts which wait in vain. The next keeper goes on counting."""

    def __init__(self) -> None:
        self._told: Mapping[Key, str] | None = None  # by the last listing

    def __call__(self, keeper: Keeper) -> None:
        """After each listing, let a worker take the claims of attempts whose time is over."""
        if not keeper.doubts.listed.at or keeper.doubts.listed.in_vain is self._told:
            return
        self._told, now = keeper.doubts.listed.in_vain, keeper.clock.steady()
        since = {
            key: then for key, then in keeper.store.senders.in_vain().items() if then <= now
        }  # a clock may be set back
        begun, over = dict.fromkeys(self._told.keys() - since.keys(), now), since.keys() - self._told.keys()
        if begun or over:
            keeper.store.senders.set_in_vain(begun, over)
        since |= begun
        patience = keeper.site.limits.stuck_seconds
        late = [key for key in self._told if now - since[key] >= patience][:AT_ONCE]
        # A fence that does not reach the worker nodes forbids nothing.
        if late and keeper.adapter.shared_work and keeper.workers.ready(IN_VAIN):
            taken = partial(_taken, keeper, self._told)
            keeper.workers.start(Errand(IN_VAIN, partial(take_claims, keeper, late), taken))


def _taken(keeper: Keeper, reasons: Mapping[Key, str], holders: Holders) -> None:
    with keeper.store.transaction():
        for key, holder in holders.items():
            attempt = keeper.store.attempt(*key)
            if attempt is None or attempt.verdict:
                continue
            if holder and not holder.fence:
                arrivals.begun(keeper, attempt, holder)
                continue
            cancelled = judging.cancelled(keeper, attempt.grid, attempt.n)
            judging.record(keeper, key, verdict.of_waiting_in_vain(reasons[key], cancelled=cancelled))
