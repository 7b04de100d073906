"""Holds back further attempts at local jobs while most first ones of their grid job fail; first ones go as they do."""

from __future__ import annotations

from jim.jobs import GridJob, LocalJob
from jim.keeper.keeper import Keeper
from jim.model import Witness
from jim.statusdb.grid.first_attempts import PAUSE_SECONDS, Further


def not_held_back(keeper: Keeper, job: GridJob, waiting: list[LocalJob]) -> list[LocalJob]:
    """Return the local jobs that may be sent now, and let the others wait.

    Of a task, its throttle decides; and what a person wants is done at once.
    """
    again = [each for each in waiting if each.attempt and each.witness != Witness.USER.value]
    found = keeper.store.first_attempts.held_back(job.id) if again and not job.is_of_task else None
    if found is None:
        return waiting
    pause = _pause(keeper, found)
    held = again if pause else again[1:]
    due = keeper.clock.steady() + (pause or PAUSE_SECONDS)
    with keeper.store.transaction():
        for each in held:
            keeper.store.set_local_job(job.id, each.n, due=due)
    numbers = {each.n for each in held}
    return [each for each in waiting if each.n not in numbers]


def _pause(keeper: Keeper, found: Further) -> float:
    """Return for how many seconds nothing is to be tried again."""
    since = keeper.clock.since_booted(found.booted) if found.booted else None
    if found.live:
        return PAUSE_SECONDS
    return 0.0 if since is None else max(0.0, PAUSE_SECONDS - since)
