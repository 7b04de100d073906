"""What doors hand in, taken into the store: a request as its key's, a wish once and in its turn."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from jim.doors import inbox
from jim.evidence.transitions import FAMILY_VERBS
from jim.jobs import GridJob
from jim.keeper import wishes
from jim.keeper.aging import is_going
from jim.keeper.keeper import House
from jim.keeper.wishes import Slices
from jim.model import Step, Verb, Witness

log = logging.getLogger(__name__)


def take_request(house: House, path: Path, content: dict[str, Any]) -> bool:
    """Store a request; tell whether that is settled. It waits while its key is that of a grid job to be removed."""
    number, key = content["id"], content["key"]
    told = content["owner"], content["created"], content["request"], content.get("nonce", ""), content.get("door", "")
    new = house.store.add_grid_job(number, key, *told)
    owner = house.store.known_as(key)
    if owner == number:
        log.info("%d: %s", number, "accepted" if new else "known already")
        inbox.keep(path, content)
    elif not owner:
        raise ValueError(f"{number} is another grid job's number")
    elif inbox.kept_id(house.site.state, path.name) == owner:  # so its door has given this id
        log.info("%d: dropped, for its key is that of %d", number, owner)
        inbox.drop(path, number)
    else:
        if not is_going(house, house.store.grid_job(owner)) and house.pace(("key", number)):
            log.warning("%d: waits, for its key is still that of %d", number, owner)
        return False
    return True


class Wishes:
    """The wishes of one look into the inbox: each is taken once, and none before an earlier one of its local jobs."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.waiting: list[tuple[int, Slices]] = []
        self.unread: set[int] = set()  # grid jobs with a wish of which nothing more is known just now
        self.fulfilled = house.store.fulfilled()
        gone = self.fulfilled.difference(inbox.names(house.site.state)) if self.fulfilled else set()
        if gone:
            house.store.wishes_are_gone(gone)

    def take(self, name: str, content: dict[str, Any]) -> bool:
        """Record a wish; one whose time has not come stays in the inbox."""
        if name in self.fulfilled:  # by a keeper that was killed then
            return True
        house, (grid, slices), verb = self.house, inbox.slices_of(content["target"]), content["verb"]
        job = house.store.grid_job(grid)
        if grid in self.unread or self._is_behind(grid, slices, verb) or _must_wait(house, job, slices, content):
            self.waiting.append((grid, slices))
            return False
        with house.store.transaction():
            house.store.fulfil(name)
            n = slices[0][0] if len(slices) == 1 and slices[0][0] == slices[0][1] else None
            several = content["target"] if slices and n is None else ""
            by = content.get("by", "")
            house.store.note(grid, f"{verb} wished", Witness.USER, ", ".join(filter(None, (by, several))), n)
            wishes.take(house, job, verb, slices, content)
        for what in ("wish", "cancel"):
            house.paced.pop((what, grid), None)
        return True

    def _is_behind(self, grid: int, slices: Slices, verb: str) -> bool:
        """Tell whether it waits for an earlier wish. What is for a whole grid job does, if it chooses local jobs."""
        if not slices and verb not in FAMILY_VERBS:
            return False
        return any(each == grid and wishes.meet(slices, others) for each, others in self.waiting)


def _must_wait(house: House, job: GridJob, slices: Slices, content: dict[str, Any]) -> bool:
    """Tell whether a wish waits: for a split, the tar or its own pieces, or until its grid job is removed."""
    verb = content["verb"]
    if (slices or verb == Verb.EDIT) and job.step in (Step.ACCEPTED, Step.RESOLVED) and not job.outcome:
        return True
    if verb in FAMILY_VERBS and job.step is Step.COLLECTING:
        return True
    if house.workers.busy(("age", job.id)) or is_going(house, job):
        return True
    return verb == Verb.RESPLIT and not wishes.has_pieces(house, job, slices, content)
