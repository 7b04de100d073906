"""Takes requests and wishes from doors into the store: each key makes one grid job; wishes are taken in order."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from jim.doors import inbox
from jim.evidence.transitions import FAMILY_VERBS
from jim.jobs import GridJob
from jim.keeper import wishes
from jim.keeper.aging import is_going
from jim.keeper.keeper import Keeper
from jim.keeper.resplitting import Resplits
from jim.keeper.slices import Slices, meet
from jim.model import Step, Verb, Witness

log = logging.getLogger(__name__)
# Errands that a wish for a grid job makes due at once, however often they have failed.
TRIED_AT_ONCE = ("split", "collect", "wish", "cancel")


def take_request(keeper: Keeper, path: Path, content: dict[str, Any]) -> bool:
    """Store a request; tell whether its file is settled. A key of a grid job to be removed makes the request wait."""
    number, key = content["id"], content["key"]
    told = content["owner"], content["created"], content["request"], content.get("nonce", ""), content.get("door", "")
    new = keeper.store.add_grid_job(number, key, *told)
    owner = keeper.store.known_as(key)
    if owner == number:
        log.info("%d: %s", number, "accepted" if new else "known already")
        inbox.keep(path, content)
    elif not owner:
        raise ValueError(f"number {number} belongs to another grid job")
    elif inbox.kept_id(keeper.site.state, path.name) == owner:  # so the door returned the owner's id
        log.info("%d: request dropped: its key belongs to grid job %d", number, owner)
        inbox.drop(path, number)
    else:
        if not is_going(keeper, keeper.store.grid_job(owner)) and keeper.workers.pace(("key", number)):
            log.warning("%d: request waits: its key still belongs to grid job %d", number, owner)
        return False
    return True


class Wishes:
    """The wishes of one look into the inbox. Each is taken once, and after earlier wishes for the same local jobs."""

    def __init__(self, keeper: Keeper, resplits: Resplits) -> None:
        self.keeper, self.resplits = keeper, resplits
        self.waiting: list[tuple[int, Slices]] = []
        self.unread: set[int] = set()  # grid jobs with a wish file that cannot be read at the moment
        self.fulfilled = keeper.store.fulfilled()
        gone = self.fulfilled.difference(inbox.names(keeper.site.state)) if self.fulfilled else set()
        if gone:
            keeper.store.wishes_are_gone(gone)

    def take(self, name: str, content: dict[str, Any]) -> bool:
        """Record a wish and tell whether its file is settled; a wish that must wait stays in the inbox."""
        if name in self.fulfilled:  # by a keeper that was killed before it removed the file
            return True
        keeper, (grid, slices), verb = self.keeper, inbox.slices_of(content["target"]), content["verb"]
        job = keeper.store.grid_job(grid)
        if grid in self.unread or self._is_behind(grid, slices, verb) or self._must_wait(job, slices, content):
            self.waiting.append((grid, slices))
            return False
        with keeper.store.transaction():
            keeper.store.fulfil(name)
            n = slices[0][0] if len(slices) == 1 and slices[0][0] == slices[0][1] else None
            several = content["target"] if slices and n is None else ""
            by = content.get("by", "")
            keeper.store.note(grid, f"{verb} requested", Witness.USER, ", ".join(filter(None, (by, several))), n)
            wishes.take(keeper, job, verb, slices, content, self.resplits)
        for what in TRIED_AT_ONCE:
            keeper.workers.forget((what, grid))
        keeper.looks.add([grid])
        return True

    def _is_behind(self, grid: int, slices: Slices, verb: str) -> bool:
        """Tell whether a wish waits for an earlier one. A wish for all waits only if it chooses local jobs."""
        if not slices and verb not in FAMILY_VERBS:
            return False
        return any(each == grid and meet(slices, others) for each, others in self.waiting)

    def _must_wait(self, job: GridJob, slices: Slices, content: dict[str, Any]) -> bool:
        """Tell whether a wish waits for the split, the tar, its own pieces, or the removal of its grid job."""
        verb = content["verb"]
        if (slices or verb == Verb.EDIT) and job.step in (Step.ACCEPTED, Step.RESOLVED) and not job.outcome:
            return True
        if verb in FAMILY_VERBS and job.step is Step.COLLECTING:
            return True
        if self.keeper.workers.busy(("age", job.id)) or is_going(self.keeper, job):
            return True
        return verb == Verb.RESPLIT and not self.resplits.has_pieces(self.keeper, job, slices, content)
