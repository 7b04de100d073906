"""Wishes that change what becomes of local jobs: retry, force and resplit, as evidence/transitions.py decides."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from operator import index
from typing import Any

from jim.errors import JimError, StoreError, UnknownJob
from jim.evidence.transitions import (
    FAMILY_VERBS,
    FREEZES_AS,
    NotPossible,
    again_of,
    not_forced,
    not_split_again,
    too_early_to_retry,
    too_late,
    too_late_to_end,
)
from jim.jobs import GridJob, LocalJob
from jim.keeper import reasons
from jim.keeper.editing import edit
from jim.keeper.fulfilling import end_single
from jim.keeper.keeper import House
from jim.model import MOST_PRIORITY, Piece, State, Step, Verb, Witness
from jim.request import handler_of
from jim.site.file import Site
from jim.statusdb.record import retryable
from jim.work.pieces import herd_of, smaller, within_limits

Slices = Sequence[tuple[int, int]]
STEPS = (Step.SPLIT, Step.ACTIVE, Step.FINISHED)
NARROWED = ("failed", "reason", "most")  # by what a retry may be for fewer


def chosen(house: House, grid: int, slices: Slices) -> Iterator[LocalJob]:
    """Give the local jobs that slices name."""
    for first, last in slices:
        for n in range(first, last + 1):
            yield house.store.local_job(grid, n)


def meet(some: Slices, others: Slices) -> bool:
    """Tell whether slices have a local job in common; none means all."""
    if not some or not others:
        return True
    return any(first <= end and begin <= last for first, last in some for begin, end in others)


def take(house: House, job: GridJob, verb: str, slices: Slices, content: dict[str, Any]) -> None:
    """Fulfil a wish, and tell in the journal what it has changed; one that is not possible changes nothing."""
    n = slices[0][0] if len(slices) == 1 and slices[0][0] == slices[0][1] and slices[0][0] < job.size else None
    try:
        if slices and slices[-1][1] >= job.size:
            raise UnknownJob(f"there is no local job {job.id}.{slices[-1][1]}: there are {job.size:,}")
        if verb in FAMILY_VERBS:
            said = _change(house, job, verb, slices, content)
        else:
            said = _end(house, job, verb, slices) if slices else _for_all(house, job, verb, content)
    except StoreError:  # nothing is known of what is wished: it is taken in again
        raise
    except JimError as error:
        house.store.note(job.id, f"{verb} changes nothing", Witness.KEEPER, str(error), n)
    else:
        if said:
            house.store.note(job.id, verb, Witness.KEEPER, said)


def _change(house: House, job: GridJob, verb: str, slices: Slices, content: dict[str, Any]) -> str:
    if job.step not in STEPS:
        raise NotPossible(f"{job.id} is at step {job.step.value}")
    if verb == Verb.EDIT:
        return edit(house, job, content)
    if verb == Verb.RETRY:
        return _retry(house, job, slices, content)
    return (_force if verb == Verb.FORCE else _resplit)(house, job, slices, content)


def _end(house: House, job: GridJob, verb: str, slices: Slices) -> str:
    """Let local jobs be ended, those of them that have not ended."""
    if job.step is Step.FINISHED:
        raise NotPossible(f"{job.id} {too_late(job, verb)}")
    named = list(chosen(house, job.id, slices))
    alive = [each for each in named if not each.state.final]
    for each in alive:
        house.store.set_local_job(job.id, each.n, wish=verb)
        end_single(house, job.id, each.n)  # at once: what is wished next is wished of what has ended
    if late := too_late_to_end({each.state for each in named}):
        raise NotPossible(f"{f'{job.id}.{named[0].n} is' if len(named) == 1 else 'all are'} {late}")
    return f"{len(named) - len(alive):,} of {len(named):,} have ended already" if len(alive) < len(named) else ""


def _retry(house: House, job: GridJob, slices: Slices, content: dict[str, Any]) -> str:
    """Give local jobs a new set of attempts; a finished grid job opens again, a suspended one stays suspended."""
    store = house.store
    if early := too_early_to_retry(job):
        raise NotPossible(early)
    ended = list(chosen(house, job.id, slices)) if slices else retryable(store, job.id)
    again = again_of(ended, slices, **{name: content[name] for name in NARROWED if name in content})
    for each in again:
        house.store.set_local_job(
            job.id, each.n, state=State.WAITING, witness=Witness.USER, reason=reasons.AGAIN, spent=0, due=0.0, wish=""
        )
    if again:
        wish = "" if job.step is Step.FINISHED else job.wish
        house.store.set_grid_job(job.id, step=Step.ACTIVE, wish=wish, outcome="", reason="")
    return f"{len(again):,} local job{'s wait' if len(again) != 1 else ' waits'} for another attempt"


def _for_all(house: House, job: GridJob, verb: str, content: dict[str, Any]) -> str:
    """Record what is wished for a whole grid job."""
    late = too_late(job, verb)
    if late:
        raise NotPossible(late)
    if verb == Verb.PRIORITY:
        house.store.set_grid_job(job.id, priority=min(index(content[Verb.PRIORITY]), MOST_PRIORITY))
        return ""
    house.store.set_grid_job(job.id, wish=verb, due=0.0)
    if verb == Verb.RESUME:
        _release(house, job.id)
    return ""


def _release(house: House, grid: int) -> None:
    """Let what JIM holds go on."""
    held = house.store.held(grid)
    for each in held:
        house.store.set_local_job(grid, each.n, due=0.0, spent=0, reason=reasons.RESUMED, witness=Witness.USER)
    if held:
        house.store.note(grid, "released", Witness.KEEPER, f"{len(held):,} local jobs that were held")


def _force(house: House, job: GridJob, slices: Slices, content: dict[str, Any]) -> str:
    """Say of local jobs that they have failed, or completed, whatever was seen."""
    to, reason = State(content["to"]), content.get("reason") or "no reason given"
    changed = [each for each in chosen(house, job.id, slices) if each.state is not to]
    for each in changed:
        if wrong := not_forced({each.state}, to):
            ended = f": it cannot be forced to be {to.value}" if each.state.final else ""
            raise NotPossible(f"{job.id}.{each.n} is {wrong}{ended}")
    for each in changed:
        why = reasons.forced(to, reason)
        house.store.set_local_job(job.id, each.n, state=to, witness=Witness.USER, reason=why, wish="")
    if changed and job.step is Step.FINISHED:
        house.store.set_grid_job(job.id, step=Step.ACTIVE, wish="", outcome="", reason="")
    return f"{len(changed):,} local job{'s are' if len(changed) != 1 else ' is'} {to.value} now: {reason}"


def has_pieces(house: House, job: GridJob, slices: Slices, content: dict[str, Any]) -> bool:
    """Let a worker make the pieces of a resplit, if it is possible; tell whether the wish can be fulfilled now."""
    try:
        old = _resplittable(house, job, slices)
    except StoreError:
        raise
    except JimError:
        house.resplits.pop(job.id, None)
        return True  # and it changes nothing, as will be told
    name = ("resplit", job.id)
    if house.workers.busy(name):
        return False
    asked = _asked(job, old, content)
    made, _ = house.resplits.get(job.id, (None, None))
    if made == asked:
        return True
    keep = partial(_keep, house, job.id, asked)
    house.workers.start(name, partial(_pieces_of, house.site, job, old, content["parameters"]), keep, keep)
    return False


def _asked(job: GridJob, old: LocalJob, content: dict[str, Any]) -> Hashable:
    """Name what pieces depend on: they are numbered on from the last that there is."""
    return old.n, job.size, json.dumps(content["parameters"], sort_keys=True)


def _keep(house: House, grid: int, asked: Hashable, made: list[Piece] | BaseException) -> None:
    house.resplits[grid] = asked, made


def _pieces_of(site: Site, job: GridJob, old: LocalJob, parameters: dict[str, Any]) -> list[Piece]:
    again = smaller(job.request, old.piece, parameters)
    room = site.limits.local_jobs - job.size
    handler = handler_of(job.job_type, site.site.handlers)
    herd = herd_of(handler, again, job.id, site.site.name, room, job.size)
    return [each._replace(source=old.n) for each in within_limits(herd, handler, again, site)]


def _resplittable(house: House, job: GridJob, slices: Slices) -> LocalJob:
    """Give the local job to be split again, or say why it cannot be."""
    if job.step not in STEPS:
        raise NotPossible(f"{job.id} is at step {job.step.value}")
    if job.wish and job.step is not Step.FINISHED:
        raise NotPossible(f"a {job.wish} of {job.id} is under way")
    old, *others = chosen(house, job.id, slices)
    if others:
        raise NotPossible("local jobs are split again one by one")
    if wrong := not_split_again(old):
        raise NotPossible(f"{job.id}.{old.n} {wrong}")
    return old


def _resplit(house: House, job: GridJob, slices: Slices, content: dict[str, Any]) -> str:
    """Let new local jobs, numbered on from the last, do the work of one that has ended; that one is frozen."""
    old = _resplittable(house, job, slices)
    _, pieces = house.resplits.pop(job.id)
    if isinstance(pieces, BaseException):
        raise NotPossible(str(pieces) or type(pieces).__name__) from pieces
    why = reasons.split_again(old.reason)
    house.store.set_local_job(job.id, old.n, state=FREEZES_AS[old.state], witness=Witness.USER, reason=why, wish="")
    house.store.add_pieces(job.id, job.size, pieces)
    house.store.end_split(job.id, job.size + len(pieces))
    house.store.set_grid_job(job.id, step=Step.ACTIVE, wish="", outcome="", reason="")
    return f"{job.id}.{old.n} is {FREEZES_AS[old.state].value}; {job.id}.{job.size} and on do its work: {len(pieces):,}"
