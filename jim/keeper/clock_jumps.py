"""Decides whether stored due times still hold: only while the clock goes on as it did when they were stored.

After a reboot or a jump of the clock, everything is due at once. No delay that the promise needs becomes shorter:
silence and sight of the work directory are measured in memory, by the clock that no one can set. How far the clock has
jumped while the machine ran on is known, so that items of tasks have not waited for that. The looks for a lost
submission, which need some time between them, begin anew.
"""

from __future__ import annotations

import logging

from jim.clock import Clock
from jim.keeper.keeper import Keeper
from jim.statusdb.store import Store

log = logging.getLogger(__name__)
JUMP_SECONDS = 10.0  # more than gradual clock correction (slewing) changes in hours
BOOT, AHEAD = "boot", "ahead"  # facts: the boot that stored times refer to, and the clock's offset


def resume(store: Store, clock: Clock) -> None:
    """Take over the due times of the keeper before; after a reboot or a jump of the clock, make everything due."""
    ahead = store.fact(AHEAD) if store.fact(BOOT) == clock.boot_id() else ""
    jump = clock.ahead() - float(ahead) if ahead else 0.0  # after a reboot, nobody knows of any
    if ahead and abs(jump) <= JUMP_SECONDS:
        clock.follow(float(ahead))
    else:
        _count_anew(store, clock, jump)


def follow_clock(keeper: Keeper) -> None:
    """Make everything due if the clock was set back or forth."""
    jump = keeper.clock.ahead() - keeper.clock.followed
    if abs(jump) > JUMP_SECONDS:
        _count_anew(keeper.store, keeper.clock, jump)
        keeper.looks.add(keeper.store.answers.owed())
        log.warning("the clock has jumped by %+.0f s: all delayed tries are due now", jump)


def _count_anew(store: Store, clock: Clock, jump: float) -> None:
    ahead = clock.ahead()
    with store.transaction():
        store.make_due(jump)
        store.set_fact(BOOT, clock.boot_id())
        store.set_fact(AHEAD, repr(ahead))
    clock.follow(ahead)  # only after the commit: until then the stored due times refer to the old offset
