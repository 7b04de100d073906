"""When stored times to come are to be believed."""

from __future__ import annotations

from jim.clock import Clock
from jim.statusdb.contract import Store


def resume(store: Store, clock: Clock) -> None:
    """Make everything due when the machine was started anew: its seconds count from another zero."""
    if store.fact("boot") != clock.boot_id():
        with store.transaction():
            store.make_due()
            store.set_fact("boot", clock.boot_id())
