"""Wishes that change what becomes of a grid job's local jobs, as `jim/family.py` decides: retry and force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jim.errors import JimError, UnknownJob
from jim.family import FORCED_FROM, NotPossible
from jim.house import House
from jim.model import State, Step, Witness
from jim.statusdb.rows import GridJob, LocalJob

Slices = Sequence[tuple[int, int]]
VERBS = ("retry", "force")
ENDED_BADLY = (State.FAILED, State.KILLED, State.NEW)


def chosen(house: House, grid: int, slices: Slices) -> Iterator[LocalJob]:
    """Give the local jobs that slices name."""
    for first, last in slices:
        for n in range(first, last + 1):
            yield house.store.local_job(grid, n)


def take(house: House, job: GridJob, verb: str, slices: Slices, content: dict[str, Any]) -> None:
    """Fulfil a wish, and tell in the journal what it has changed; one that is not possible changes nothing."""
    try:
        said = _retry(house, job, slices) if verb == "retry" else _force(house, job, slices, content)
    except UnknownJob:
        raise
    except JimError as error:
        house.store.note(job.id, f"{verb} changes nothing", Witness.KEEPER, str(error))
    else:
        house.store.note(job.id, verb, Witness.KEEPER, said)


def _retry(house: House, job: GridJob, slices: Slices) -> str:
    """Give local jobs a new set of attempts; a finished grid job opens again."""
    if job.step not in (Step.SPLIT, Step.ACTIVE, Step.FINISHED):
        raise NotPossible(f"it came too early or too late: at step {job.step.value}")
    store = house.store
    ended = list(chosen(house, job.id, slices)) if slices else store.local_jobs(job.id, ENDED_BADLY)
    again = again_of(ended, slices)
    for each in again:
        house.store.set_local_job(
            job.id, each.n, state=State.WAITING, witness=Witness.USER, reason="retry", spent=0, due=0.0, wish=""
        )
    if again:
        house.store.set_grid_job(job.id, step=Step.ACTIVE, wish="", outcome="", reason="")
    return f"{len(again):,} local jobs wait for another attempt"


def again_of(ended: Sequence[LocalJob], slices: Slices) -> list[LocalJob]:
    """Say which of the local jobs that ended badly are tried again.

    Those that are named; of a whole grid job only what failed, or where nothing did, what was killed. What has failed
    on its creation can never run.
    """
    able = [each for each in ended if each.state in ENDED_BADLY and not each.piece.failure]
    if slices:
        return able
    failed = [each for each in able if each.state is not State.KILLED]
    return failed or able


def _force(house: House, job: GridJob, slices: Slices, content: dict[str, Any]) -> str:
    """Say of local jobs that they have failed, or completed, whatever was seen."""
    to, reason = State(content["to"]), content.get("reason") or "no reason given"
    if job.step not in (Step.SPLIT, Step.ACTIVE, Step.FINISHED):
        raise NotPossible(f"it came too early or too late: at step {job.step.value}")
    changed = [each for each in chosen(house, job.id, slices) if each.state is not to]
    for each in changed:
        if not each.state.final:
            raise NotPossible(f"{job.id}.{each.n} is {each.state.value}; cancel it first")
        if each.state not in FORCED_FROM[to]:
            raise NotPossible(f"{job.id}.{each.n} is {each.state.value}: it cannot be forced to be {to.value}")
    for each in changed:
        why = f"forced to be {to.value}: {reason}"
        house.store.set_local_job(job.id, each.n, state=to, witness=Witness.USER, reason=why, wish="")
    if changed and job.step is Step.FINISHED:
        house.store.set_grid_job(job.id, step=Step.ACTIVE, wish="", outcome="", reason="")
    return f"{len(changed):,} local jobs are {to.value} now: {reason}"
