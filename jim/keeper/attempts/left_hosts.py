"""Fences attempts whose wrapper has left a host that JIM avoids: only then another attempt may follow.

A wrapper that leaves takes no claim, so another start of the same attempt may have won it; JIM adopts that one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from jim.errand import Errand
from jim.evidence import verdict
from jim.evidence.avoiding import SPARED_AT_MOST
from jim.jobs import Attempt, Key
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
                arrivals.begun(keeper, attempt, holder)
            else:
                left(keeper, attempt, hosts.get(key, ""))


def left(keeper: Keeper, attempt: Attempt, host: str) -> None:
    """Judge a fenced attempt whose wrapper has left a host; the first ones of a local job do not count."""
    if not attempt.verdict:
        _spare(keeper, (attempt.grid, attempt.k, attempt.idx), attempt.n, partial(verdict.of_left, host), host)


def left_over(keeper: Keeper, key: Key, n: int) -> None:
    """Judge a fenced attempt that no carrier has begun; the first ones of a local job do not count.

    Nor do others, as long as local jobs of its submission end well: these take all the time that there is.
    """
    _spare(keeper, key, n, verdict.of_left_over, others_do=True)


def _spare(
    keeper: Keeper, key: Key, n: int, judge: Callable[..., verdict.Verdict], host: str = "", *, others_do: bool = False
) -> None:
    with keeper.store.transaction():
        before = keeper.store.spared.count(key[0], n)
        if before >= SPARED_AT_MOST and others_do and keeper.store.any_completed(*key[:2]):
            before = 0
        if before < SPARED_AT_MOST:
            keeper.store.spared.spare(key, n, host)
        else:
            keeper.store.spared.count_in(key)
        judging.record(keeper, key, judge(before=before, cancelled=judging.cancelled(keeper, key[0], n)))
