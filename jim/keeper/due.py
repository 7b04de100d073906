"""When what is stored as due later is to be believed: as long as the clock goes on as it did when that was stored.

After a reboot, or once the clock has jumped, everything is due at once. Nothing that the promise hangs on is shortened
by that: silence and sight of the work directory are counted by the clock that no one can set, in memory, and looks for
a lost submission, between which some time must pass, begin anew.
"""

from __future__ import annotations

import logging

from jim.clock import Clock
from jim.keeper.keeper import Keeper
from jim.statusdb.contract import Store

log = logging.getLogger(__name__)
JUMP_SECONDS = 10.0  # more than a clock is led back to the right time by, bit by bit, in hours
BOOT, AHEAD = "boot", "ahead"  # the facts by which machine's run, and how, stored times are counted


def resume(store: Store, clock: Clock) -> None:
    """Count times to come as the keeper before did; where the machine or its clock does not, make everything due."""
    told = store.fact(AHEAD)
    if told and store.fact(BOOT) == clock.boot_id() and abs(clock.ahead() - float(told)) <= JUMP_SECONDS:
        clock.follow(float(told))
    else:
        _count_anew(store, clock)


def follow_clock(keeper: Keeper) -> None:
    """Make everything due once the clock was set back or forth."""
    jump = keeper.clock.ahead() - keeper.clock.followed
    if abs(jump) > JUMP_SECONDS:
        _count_anew(keeper.store, keeper.clock)
        keeper.looks.add(keeper.store.left())
        log.warning("the clock has jumped by %+.0f s: what was to be tried again later is tried again now", jump)


def _count_anew(store: Store, clock: Clock) -> None:
    ahead = clock.ahead()
    with store.transaction():
        store.make_due()
        store.set_fact(BOOT, clock.boot_id())
        store.set_fact(AHEAD, repr(ahead))
    clock.follow(ahead)  # once that is stored: until then, what is due is so by the times of before
