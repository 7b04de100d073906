"""Fences attempts whose wrapper has left a host that JIM avoids: only then another attempt may follow.

A wrapper that leaves takes no claim, so another start of the same attempt may have won it; JIM adopts that one.
"""

from __future__ import annotations

from functools import partial

from jim.errand import Errand
from jim.evidence import verdict
from jim.evidence.avoiding import SPARED_AT_MOST
from jim.jobs import Attempt
from jim.keeper.attempts import arrivals, judging
from jim.keeper.keeper import Keeper
from jim.keeper.missing_directories import Holders, take_claims

LEAVING, AT_ONCE, EVERY_SECONDS = "leaving", 500, 0.5


def leave(keeper: Keeper) -> None:
    """Let a worker take the claims of these attempts."""
    if keeper.workers.ready(LEAVING) and (left := list(keeper.store.spared.to_fence(AT_ONCE))):
        keeper.workers.start(Errand(LEAVING, partial(take_claims, keeper, left), partial(_taken, keeper)))
        keeper.workers.wait(LEAVING, EVERY_SECONDS)


def _taken(keeper: Keeper, holders: Holders) -> None:
    with keeper.store.transaction():
        hosts = keeper.store.spared.to_fence(AT_ONCE)
        for key, holder in holders.items():
            attempt = keeper.store.attempt(*key)
            if attempt is None or attempt.verdict:
                keeper.store.spared.count_in(key)
            elif holder and not holder.fence:
                keeper.store.spared.count_in(key)
                arrivals.begun(keeper, attempt, holder.host, holder.batch, holder.nonce)
            else:
                left(keeper, attempt, hosts.get(key, ""))


def left(keeper: Keeper, attempt: Attempt, host: str) -> None:
    """Judge a fenced attempt whose wrapper has left a host; the first ones of a local job do not count."""
    if attempt.verdict:
        return
    key = attempt.grid, attempt.k, attempt.idx
    with keeper.store.transaction():
        before = keeper.store.spared.count(attempt.grid, attempt.n)
        if before < SPARED_AT_MOST:
            keeper.store.spared.spare(key, attempt.n, host)
        else:
            keeper.store.spared.count_in(key)
        wish = judging.cancelled(keeper, attempt.grid, attempt.n)
        judging.record(keeper, key, verdict.of_left(host, before=before, cancelled=wish))
