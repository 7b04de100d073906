"""Splits a local job again: a worker makes the pieces, then one transaction fulfils the wish."""

from __future__ import annotations

import json
from collections.abc import Hashable
from functools import partial
from typing import Any

from jim.errand import Errand
from jim.errors import JimError, StoreError
from jim.evidence.transitions import FREEZES_AS, NotPossible, not_split_again
from jim.jobs import GridJob, LocalJob
from jim.keeper import reasons
from jim.keeper.inbox.wish_targets import Slices, chosen
from jim.keeper.keeper import Keeper
from jim.keeper.results import lost_outputs
from jim.model import Piece, Step, Witness
from jim.request import handler_of
from jim.site.file import Site
from jim.work.followup_requests import smaller
from jim.work.pieces import herd_of, within_limits

STEPS = (Step.SPLIT, Step.ACTIVE, Step.COLLECTING, Step.FINISHED)  # collecting: only where that has failed


class Resplits:
    """Pieces that workers have made for waiting wishes."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Hashable, list[Piece] | BaseException]] = {}

    def has_pieces(self, keeper: Keeper, job: GridJob, slices: Slices, content: dict[str, Any]) -> bool:
        """Let a worker make the pieces, if the resplit is possible; tell whether the wish can be taken now."""
        try:
            old = _resplittable(keeper, job, slices)
        except StoreError:
            raise
        except JimError:
            self.made.pop(job.id, None)
            return True  # taken now, the wish is refused with this reason
        asked = _asked(job, old, content)
        if not keeper.workers.busy(("resplit", job.id)) and self.made.get(job.id, (None, None))[0] == asked:
            return True
        keep = partial(self._keep, job.id, asked)
        work = partial(_pieces_of, keeper.site, job, old, content["parameters"])
        # A splitter of the site may hang.
        keeper.workers.start(Errand(("resplit", job.id), work, keep, keep, source=True, heeds=(BaseException,)))
        return False

    def _keep(self, grid: int, asked: Hashable, made: list[Piece] | BaseException) -> None:
        self.made[grid] = asked, made

    def resplit(self, keeper: Keeper, job: GridJob, slices: Slices) -> str:
        """Freeze an ended local job and add new local jobs for its work, numbered after the last one."""
        old, store = _resplittable(keeper, job, slices), keeper.store
        _, pieces = self.made.pop(job.id)
        if isinstance(pieces, BaseException):
            raise NotPossible(str(pieces) or type(pieces).__name__) from pieces
        if job.step is Step.COLLECTING:
            lost_outputs.fail(keeper, job, gives_up=True, chosen={old.n})
            keeper.lost.spoilt.pop(job.id, None)  # the tar is tried anew
            old = store.local_job(job.id, old.n)
        why = reasons.split_again(old.reason)
        store.set_local_job(job.id, old.n, state=FREEZES_AS[old.state], witness=Witness.USER, reason=why, wish="")
        store.add_pieces(job.id, job.size, pieces)
        store.end_split(job.id, job.size + len(pieces))
        store.set_grid_job(job.id, step=Step.ACTIVE, wish="", outcome="", reason="")
        frozen = f"{job.id}.{old.n} is {FREEZES_AS[old.state].value}"
        return f"{frozen}; {job.id}.{job.size} and on do its work: {len(pieces):,}"


def _asked(job: GridJob, old: LocalJob, content: dict[str, Any]) -> Hashable:
    """Return everything that the pieces depend on; their numbers follow the grid job's last local job."""
    return old.n, job.size, json.dumps(content["parameters"], sort_keys=True)


def _pieces_of(site: Site, job: GridJob, old: LocalJob, parameters: dict[str, Any]) -> list[Piece]:
    again = smaller(job.request, old.piece, parameters)
    room = site.limits.local_jobs - job.size
    handler = handler_of(job.job_type, site.site.handlers)
    herd = herd_of(handler, again, job.id, site.site, room, job.size)
    return [each._replace(source=old.n) for each in within_limits(herd, handler, again, site)]


def _resplittable(keeper: Keeper, job: GridJob, slices: Slices) -> LocalJob:
    """Return the local job to split again; refuse with the reason if it cannot be split."""
    if job.step not in STEPS:
        raise NotPossible(f"{job.id} is at step {job.step.value}")
    if job.wish and job.step is not Step.FINISHED:
        raise NotPossible(f"a {job.wish} of {job.id} is under way")
    old, *others = chosen(keeper.store, job.id, slices)
    if others:
        raise NotPossible("only one local job at a time can be split again")
    if wrong := not_split_again(old):
        raise NotPossible(f"{job.id}.{old.n} {wrong}")
    return old
