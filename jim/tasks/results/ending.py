"""Lets the waves of a task follow what people want of the task: pauses, limits and its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from jim.doors import inbox
from jim.errors import UnknownJob
from jim.jobs import GridJob
from jim.model import Kind, Step, Verb, Witness
from jim.statusdb.task_rows import EATEN, WANTED, Ended, PieceRow, PieceState, Task, TaskState, Wave, WaveState
from jim.tasks.effects import OLDER, is_given_up, lacks_files
from jim.tasks.frozen_local_jobs import freeze
from jim.tasks.keeping import Keeper
from jim.tasks.pieces.batch_limits import Budget
from jim.tasks.results.following import unsettle

# The keeper fulfils a wish for a grid job: why, and what the wish says besides its verb.
Wish = Callable[[Any, GridJob, Verb, str, Mapping[str, Any]], None]


def go_on(keeper: Keeper, task: Task, wish: Wish) -> float:
    """Cancel, suspend or resume the grid jobs of a task, and give them room, as its state says.

    Return when to ask again.
    """
    task = keeper.store.tasks.one(task.id) or task  # an earlier part of the turn may have changed the throttle
    live = keeper.store.waves.live(task.id)
    if task.state is TaskState.CANCELLING:
        for each in live:
            _give_up(keeper, each)
    waves = [each for each in live if each.state is WaveState.HANDED_IN]
    budget = Budget(keeper, task)
    for wave in waves:
        with suppress(UnknownJob):  # the keeper has not taken it from the inbox yet
            job = keeper.store.grid_job(wave.grid)
            if wave.ending and job.wish != Verb.CANCEL and job.step is not Step.FINISHED:
                wish(
                    keeper,
                    job,
                    Verb.CANCEL,
                    f"{_who(keeper, task, wave.ending)}, by task {task.name}: {wave.ending}",
                    {},
                )
            elif not wave.t and not wave.ending:
                if job.priority != task.priority and not _is_preferred(keeper, job):
                    keeper.store.set_grid_job(job.id, priority=task.priority)
                _fix(keeper, task, wave, job, wish)
                _let_follow(keeper, task, job, wish)
                budget.give(job)
    now = keeper.store.tasks.one(task.id)
    if now and now.state is TaskState.RUNNING:
        _heed_throttle(keeper, now, wish)
    return budget.due


def _heed_throttle(keeper: Keeper, task: Task, wish: Wish) -> None:
    """Do once what a running task's throttle says: try failed pieces again, and let no pause go on."""
    if task.throttle.get("again"):
        since = float(task.throttle["again"])
        _try_again(keeper, task, wish, keeper.store.pieces.failed_since(task.id, since), "again")
    elif task.throttle.get("retry"):
        wanted = [each for each in keeper.store.pieces.failed(task.id) if each.again in (WANTED, EATEN)]
        _try_again(keeper, task, wish, wanted, "retry")
    elif task.throttle.get("suspend"):
        keeper.store.tasks.change(task.id, throttle={**task.throttle, "suspend": 0})


def _try_again(keeper: Keeper, task: Task, wish: Wish, pieces: Sequence[PieceRow], done: str) -> None:
    """Try failed pieces again; by itself none that a person has cancelled, or that lack a promised file.

    Nothing is tried again of a piece whose items a person has dropped, or of which a file is no longer kept.
    """
    why = "a person asked" if done == "retry" else "the bad time is over"
    if pieces and all(each.again == EATEN for each in pieces):
        why = "a black hole has eaten them"
    able = [each for each in pieces if each.kind is not Kind.NOT_MADE and not is_given_up(keeper.store, task, each)]
    able = [each for each in able if not lacks_files(keeper.store, each)]
    able = [each for each in able if each.again == WANTED or each.kind not in (Kind.CANCELLED, Kind.BROKEN)]
    grids = {each.w: each.grid for each in keeper.store.waves.all(task.id) if not each.t and each.grid}
    jobs: dict[int, GridJob] = {}
    for w in {each.wave for each in able} & grids.keys():
        with suppress(UnknownJob):  # its grid job was removed
            jobs[w] = keeper.store.grid_job(grids[w])
    if any(each.step is Step.COLLECTING for each in jobs.values()):
        return  # once the tars are made, the task has another turn
    with keeper.store.transaction():
        keeper.store.tasks.change(task.id, throttle={**task.throttle, done: 0})
        keeper.store.pieces.are_tried_again(task.id, [each.p for each in able])
        not_brought = [each for each in able if each.kind is Kind.NOT_BROUGHT]
        attempts = {
            each.p: freeze(keeper, each, "it lacks outputs; its piece is released again") for each in not_brought
        }
        attempts |= {each.p: 0 for each in able if each.kind is Kind.BROKEN}  # they wait for their promises again
        keeper.store.pieces.ready_again(task.id, attempts, "")
        for w, job in jobs.items():
            numbers = [each.n for each in able if each.wave == w and each.p not in attempts]
            if not numbers:
                continue
            wish(keeper, job, Verb.RETRY, f"task {task.name}: {why}", {"numbers": numbers})
            unsettle(keeper, job)
        if able:
            keeper.store.tasks.note(task.id, "tried again", f"{_in_words(able)}: {why}")


def _in_words(failed: Sequence[PieceRow]) -> str:
    """Return how many pieces have failed, and why, or why most of them."""
    ((reason, count), *others) = Counter(each.reason for each in failed).most_common()
    why = f" ({f'{count} × ' if others else ''}{reason})" if reason else ""
    return f"{len(failed)} failed piece{'s' * (len(failed) != 1)}{why}"


def prefer(keeper: Keeper, task: Task, priority: int) -> None:
    """Give a task and its waves a priority, also those waves to which a person has given another one before."""
    keeper.store.tasks.change(task.id, priority=priority)
    for wave in keeper.store.waves.live(task.id):
        with suppress(UnknownJob):  # it gets the priority of its task once the keeper has taken it from the inbox
            if not wave.t and wave.grid and keeper.store.grid_job(wave.grid).step is not Step.FINISHED:
                keeper.store.set_grid_job(wave.grid, priority=priority)


def _is_preferred(keeper: Keeper, job: GridJob) -> bool:
    """Tell whether a person has given this wave a priority of its own."""
    own = keeper.store.journals.of_itself(job.id)
    return any(each.now == f"{Verb.PRIORITY} requested" and each.witness == Witness.USER.value for each in own)


def _fix(keeper: Keeper, task: Task, wave: Wave, job: GridJob, wish: Wish) -> None:
    """Let the further attempts of a wave have the fixes that were made since it was released."""
    fixes = {number: changes for number, changes in keeper.store.tasks.fixes(task.id).items() if number > wave.fix}
    if not fixes or job.step not in (Step.SPLIT, Step.ACTIVE):
        return
    with keeper.store.transaction():
        for number, changes in fixes.items():
            wish(keeper, job, Verb.EDIT, f"task {task.name}: fix {number}", {"changes": changes})
        keeper.store.waves.change(wave, fix=max(fixes))


def _who(keeper: Keeper, task: Task, verb: str) -> str:
    """Return who has asked for the end of what is on the way."""
    asked = [line.reason for line in keeper.store.tasks.journal(task.id) if line.what == f"{verb} requested"]
    return inbox.account_in(asked[-1]) if asked else task.owner


def _give_up(keeper: Keeper, wave: Wave) -> None:
    """Give up a wave whose key belongs to other pieces: it can never be handed in."""
    if wave.state is WaveState.INTENDED and wave.reason == OLDER:
        pieces = keeper.store.pieces.of_wave(wave.task, wave.w)
        with keeper.store.transaction():
            keeper.store.waves.change(wave, state=WaveState.REFUSED)
            ended = [Ended(each.p, PieceState.FAILED, f"cancelled: {OLDER}") for each in pieces]
            keeper.store.pieces.move(wave.task, ended)


def _let_follow(keeper: Keeper, task: Task, job: GridJob, wish: Wish) -> None:
    """Suspend a grid job with its task, or let it go on with it."""
    suspend = bool(task.throttle.get("suspend"))
    if suspend and task.state is TaskState.PAUSED and not job.wish and job.step in (Step.SPLIT, Step.ACTIVE):
        wish(keeper, job, Verb.SUSPEND, f"task {task.name}: paused", {})
    elif suspend and task.state is TaskState.RUNNING and job.wish == Verb.SUSPEND:
        wish(keeper, job, Verb.RESUME, f"task {task.name}: resumed", {})
