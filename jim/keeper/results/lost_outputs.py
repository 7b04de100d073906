"""Decides about completed local jobs whose outputs are no longer what was verified: without them there is no tar."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from jim.errand import Errand
from jim.evidence import verdict
from jim.evidence.verdict import Verdict
from jim.idealizer.retry import AGAIN, delay
from jim.jobs import GridJob
from jim.keeper.attempts import judging
from jim.keeper.keeper import Keeper
from jim.keeper.recorded_outputs import FILE_SERVER_SECONDS, Claimed, Problems, Spoilt, problem_of
from jim.keeper.results.packing import SpoiltOutputs
from jim.model import State, Step, Verb, Witness
from jim.tasks.results.following import follow_wave, unsettle

log = logging.getLogger(__name__)
LOOK_AGAIN_SECONDS, HELD_SECONDS = 1.0, 30.0


def note(keeper: Keeper, job: GridJob, error: SpoiltOutputs) -> None:
    """Remember outputs that a try to make the tar has found spoilt; they may come back."""
    before = keeper.lost.spoilt.get(job.id)
    if before and before.had_time:
        keeper.lost.spoilt[job.id] = replace(before, problems=error.found, sure=True)
        _decide(keeper, job.id, error.found)
    else:
        keeper.lost.spoilt[job.id] = Spoilt(keeper.clock.boot(), error.found, times=before.times + 1 if before else 1)
        _show(keeper, job.id, str(error))


def look(keeper: Keeper, job: GridJob) -> float:
    """Let a worker look at spoilt outputs again; return when to ask again."""
    claims = [claimed for claimed, _ in keeper.lost.spoilt[job.id].problems]
    work, done = partial(_check, claims), partial(_decide, keeper, job.id)
    return keeper.workers.start(Errand(("collect", job.id), work, done, grid=job.id))


def _check(claims: Sequence[Claimed]) -> Problems:
    return [(each, problem) for each in claims if (problem := problem_of(each))]


def _decide(keeper: Keeper, grid: int, problems: Problems) -> None:
    """Decide once spoilt outputs had time to come back."""
    job, found = keeper.store.grid_job(grid), keeper.lost.spoilt.get(grid)
    if job.step is not Step.COLLECTING or found is None:
        return
    keeper.lost.spoilt[grid] = replace(found, problems=problems)
    left = found.since + _patience(keeper, problems) - keeper.clock.boot()
    if not problems:
        _wait_and_collect(keeper, grid, found)
    elif left > 0:
        keeper.workers.wait(("collect", grid), min(LOOK_AGAIN_SECONDS, left))
    elif not found.sure:  # make the tar once more: what is found then is all that is spoilt
        keeper.lost.spoilt[grid] = replace(found, problems=problems, had_time=True)
        _look_at_once(keeper, grid)
    elif job.wish == Verb.CANCEL:
        fail(keeper, job, gives_up=True)
        _collect_again(keeper, grid)
    elif why := _held(keeper, grid, _not_kept(keeper, job, problems)):
        keeper.workers.wait(("collect", grid), HELD_SECONDS)
        _show(keeper, grid, f"{SpoiltOutputs(problems)}. {why}")
    else:
        with keeper.store.transaction():
            fail(keeper, job, gives_up=False)
            keeper.store.set_grid_job(grid, step=Step.ACTIVE, outcome="", reason="")
        _collect_again(keeper, grid)


def _not_kept(keeper: Keeper, job: GridJob, problems: Problems) -> Problems:
    kept = _kept_elsewhere(keeper, job, problems)
    return [(claimed, problem) for claimed, problem in problems if claimed.n not in kept]


def _patience(keeper: Keeper, problems: Problems) -> float:
    away = any(problem.passes for _, problem in problems)
    return FILE_SERVER_SECONDS if away else keeper.site.batch.visible_seconds


def _held(keeper: Keeper, grid: int, problems: Problems) -> str:
    """Say why nothing is tried again without a person; empty: these few are.

    A directory that is away may come back.
    """
    completed = keeper.store.counts(grid).get(State.COMPLETED, 0)
    away = next((claimed.directory for claimed, problem in problems if problem.away), None)
    if not away and verdict.few_lost(len(problems), completed):
        return ""
    of_all = f"{len(problems):,} of {completed:,} completed local jobs"
    most = verdict.most_lost(completed)
    why = f"{away} is away" if away else f"{of_all} are affected, and JIM tries only {most} of them again by itself"
    return (
        f"{why}. If the files come back, JIM goes on by itself. If not, `jim retry {grid}` tries these local jobs "
        f"again, `jim force {grid}.n failed` gives one up, and `jim cancel {grid}` makes the tar of the rest"
    )


def _show(keeper: Keeper, grid: int, words: str) -> None:
    """Show why there is no tar yet; the journal says it once."""
    reason, before = f"collecting: {words}", keeper.store.grid_job(grid)
    due = keeper.clock.steady(keeper.workers.due(("collect", grid)))
    keeper.store.set_grid_job(grid, tries=max(1, before.tries), due=due, reason=reason)
    if before.reason != reason:
        log.warning("%d: %s", grid, reason)
        keeper.store.note(grid, "collecting failed, will be tried again", Witness.KEEPER, words)


def _wait_and_collect(keeper: Keeper, grid: int, found: Spoilt) -> None:
    """Make the tar again after a pause, longer each time: a file server that flaps would have it made all the time."""
    keeper.lost.spoilt[grid] = Spoilt(found.since, (), times=found.times)
    _look_at_once(keeper, grid)
    keeper.workers.wait(("collect", grid), delay(AGAIN, found.times))


def _collect_again(keeper: Keeper, grid: int) -> None:
    keeper.lost.spoilt.pop(grid, None)
    _look_at_once(keeper, grid)


def _look_at_once(keeper: Keeper, grid: int) -> None:
    keeper.workers.forget(("collect", grid))
    keeper.looks.add([grid])


def failing(keeper: Keeper, job: GridJob) -> dict[int, Verdict]:
    """Return the local jobs that `fail` would let fail, and how."""
    found = keeper.lost.spoilt.get(job.id)
    problems = _not_kept(keeper, job, found.problems) if found else ()
    return {each.n: verdict.of_lost_outputs(problem.said) for each, problem in problems}


def fail(keeper: Keeper, job: GridJob, *, gives_up: bool, chosen: Collection[int] | None = None) -> None:
    """Let local jobs fail whose outputs are spoilt, and of which nothing is kept elsewhere.

    What is kept elsewhere counts, and must not be made a second time: the tar is made without it.
    """
    found = keeper.lost.spoilt.get(job.id)
    problems = found.problems if found else ()
    kept, failed = _kept_elsewhere(keeper, job, problems), _follows(keeper, job)
    with keeper.store.transaction():
        for claimed, problem in problems:
            if claimed.n in kept:
                keeper.lost.left_out.setdefault(job.id, set()).add(claimed.key)
            elif chosen is None or claimed.n in chosen:
                bad = verdict.of_lost_outputs(problem.said)
                judging.spoil(keeper, claimed.key, bad, gives_up=gives_up, failed=failed)


def fail_of_task(keeper: Keeper, job: GridJob, n: int, problem: str, again: bool) -> None:
    """Let a completed local job of a task's wave fail whose outputs were lost before the task could use them."""
    last = keeper.store.last_run(job.id, n)
    if last is None:
        return
    with keeper.store.transaction():
        if job.step is Step.FINISHED:
            keeper.store.set_grid_job(job.id, step=Step.ACTIVE, wish="", outcome="", reason="")
        bad = verdict.of_lost_outputs(problem)
        judging.spoil(keeper, (job.id, last.k, last.idx), bad, gives_up=not again, failed=_follows(keeper, job))


def _kept_elsewhere(keeper: Keeper, job: GridJob, problems: Problems) -> set[int]:
    """Return the local jobs whose outputs count elsewhere: a task has stored them, or an earlier tar was delivered."""
    before = int((job.result or {}).get("submissions", 0))  # all of these had ended, and a tar had their outputs
    return {claimed.n for claimed, _ in problems if claimed.key[1] <= before} | _kept_by_task(keeper, job)


def _kept_by_task(keeper: Keeper, job: GridJob) -> set[int]:
    wave = keeper.store.waves.of_grid_job(job.id) if job.is_of_task else None
    if wave is None or wave.t:
        return set()
    pieces = keeper.store.pieces.of_wave(wave.task, wave.w)
    return {each.n for each in pieces if keeper.store.outputs.is_used(wave.task, each.p)}


def _follows(keeper: Keeper, job: GridJob) -> Callable[[], None]:
    """Return what lets the task of a grid job see that a local job has failed, before that is tried again."""

    def follow() -> None:
        unsettle(keeper, job)
        wave = keeper.store.waves.of_grid_job(job.id)
        if wave is not None:
            follow_wave(keeper, wave)

    return follow if job.is_of_task else lambda: None
