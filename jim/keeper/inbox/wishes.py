"""Takes wishes into the store; evidence/transitions.py decides which changes of local jobs are possible."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

from jim.errors import JimError, StoreError, UnknownJob, plain
from jim.evidence.analysis import Action
from jim.evidence.transitions import (
    FAMILY_VERBS,
    NotPossible,
    again_of,
    not_done_again,
    not_forced,
    too_early_to_remove,
    too_early_to_retry,
    too_late,
    too_late_to_end,
)
from jim.jobs import GridJob, LocalJob
from jim.keeper import reasons
from jim.keeper.attempts import judging
from jim.keeper.inbox.editing import edit
from jim.keeper.inbox.resplitting import STEPS, Resplits
from jim.keeper.inbox.wish_targets import Slices, chosen
from jim.keeper.keeper import Keeper
from jim.keeper.queue.fulfilling import end_single
from jim.keeper.results import lost_outputs
from jim.keeper.results.finishing import end_unsent, is_unsent
from jim.model import MOST_PRIORITY, State, Step, Verb, Witness
from jim.statusdb.seen.record import completed_of, from_gatekeeper, retryable

NONE_TO_RETRY = "no local job that it chooses failed, is held or was killed, and can run again"
NONE_COMPLETED = "none of these local jobs has completed"
NARROWED = ("failed", "reason", "most")  # fields that narrow a retry to fewer local jobs


def take(keeper: Keeper, job: GridJob, verb: str, slices: Slices, content: dict[str, Any], resplits: Resplits) -> None:
    """Fulfil a wish and note its changes in the journal; an impossible wish changes nothing."""
    n = slices[0][0] if len(slices) == 1 and slices[0][0] == slices[0][1] and slices[0][0] < job.size else None
    try:
        if slices and slices[-1][1] >= job.size:
            raise UnknownJob(f"there is no local job {job.id}.{slices[-1][1]}: there are {job.size:,}")
        if verb in FAMILY_VERBS:
            said = _change(keeper, job, verb, slices, content, resplits)
        else:
            said = _end(keeper, job, verb, slices) if slices else _for_all(keeper, job, verb, content)
    except StoreError:  # the store failed, not the wish: the wish is taken in again
        raise
    except JimError as error:
        keeper.store.note(job.id, f"{verb} changes nothing", Witness.KEEPER, str(error), n)
    else:
        if said:
            keeper.store.note(job.id, verb, Witness.KEEPER, said)


def _change(
    keeper: Keeper, job: GridJob, verb: str, slices: Slices, content: dict[str, Any], resplits: Resplits
) -> str:
    if job.step not in STEPS:
        raise NotPossible(f"{job.id} is at step {job.step.value}")
    if verb == Verb.EDIT:
        return edit(keeper, job, content)
    if verb == Verb.RETRY:
        return _retry(keeper, job, slices, content)
    if verb == Verb.REDO:
        return _redo(keeper, job, slices, content)
    if verb == Verb.FORCE:
        return _force(keeper, job, slices, content)
    return resplits.resplit(keeper, job, slices)


def _end(keeper: Keeper, job: GridJob, verb: str, slices: Slices) -> str:
    """Wish the end of those local jobs that have not ended."""
    if job.step is Step.FINISHED:
        raise NotPossible(too_late(job, verb))
    named = list(chosen(keeper.store, job.id, slices))
    alive = [each for each in named if not each.state.final]
    for each in alive:
        keeper.store.set_local_job(job.id, each.n, wish=verb)
        end_single(keeper, job.id, each.n)  # at once, so that the next wish finds them ended
    if late := too_late_to_end({each.state for each in named}):
        raise NotPossible(f"{f'{job.id}.{named[0].n} is' if len(named) == 1 else 'all are'} {late}")
    return f"{len(named) - len(alive):,} of {len(named):,} have ended already" if len(alive) < len(named) else ""


def _retry(keeper: Keeper, job: GridJob, slices: Slices, content: dict[str, Any]) -> str:
    """Allow local jobs a new set of attempts; a finished grid job opens again, a suspended one stays suspended."""
    if early := too_early_to_retry(job):
        raise NotPossible(early)
    ended = _as_failed(keeper, job, slices)
    again = again_of(ended, slices, **{name: content[name] for name in NARROWED if name in content})
    if not again and job.step is not Step.COLLECTING:
        raise NotPossible(NONE_TO_RETRY)
    if job.step is Step.COLLECTING:  # it has failed: what keeps the tar from being made is tried again, too
        lost_outputs.fail(keeper, job, gives_up=True, chosen={each.n for each in again})
        again = [each for each in again if keeper.store.state(job.id, each.n) is not State.COMPLETED]
        keeper.lost.spoilt.pop(job.id, None)  # the tar is tried anew
    for each in again:
        keeper.store.set_local_job(
            job.id, each.n, state=State.WAITING, witness=Witness.USER, reason=reasons.AGAIN, spent=0, due=0.0, wish=""
        )
    if again:
        wish = "" if job.step is Step.FINISHED else job.wish
        keeper.store.set_grid_job(job.id, step=Step.ACTIVE, wish=wish, outcome="", reason="")
    return f"{len(again):,} local job{'s wait' if len(again) != 1 else ' waits'} for another attempt"


def _redo(keeper: Keeper, job: GridJob, slices: Slices, content: dict[str, Any]) -> str:
    """Let completed local jobs run once more, as what they have brought was wrong; the tar is made anew."""
    store = keeper.store
    if why := not_done_again(job, at_gatekeeper=from_gatekeeper(store, job), again=bool(content.get("again"))):
        raise NotPossible(why)
    completed = completed_of(store, job.id, slices)
    if not completed:
        raise NotPossible(NONE_COMPLETED)
    for each in completed:
        if last := store.last_run(job.id, each.n):  # its outputs count no more
            store.set_attempt(job.id, last.k, last.idx, verdict=judging.WORDS[Action.RETRY], reason=reasons.DONE_AGAIN)
        columns = {"witness": Witness.USER, "reason": reasons.DONE_AGAIN, "spent": 0, "due": 0.0, "wish": ""}
        store.set_local_job(job.id, each.n, state=State.WAITING, **columns)
    wish = "" if job.step is Step.FINISHED else job.wish
    store.set_grid_job(job.id, step=Step.ACTIVE, wish=wish, outcome="", reason="")
    return f"{len(completed):,} local job{'s are' if len(completed) != 1 else ' is'} done again"


def _as_failed(keeper: Keeper, job: GridJob, slices: Slices) -> list[LocalJob]:
    """Return the local jobs that a retry chooses from; those whose outputs were lost are seen as failed."""
    lost = lost_outputs.failing(keeper, job) if job.step is Step.COLLECTING else {}
    named = chosen(keeper.store, job.id, slices) if slices else retryable(keeper.store, job.id)
    ended = {each.n: each for each in named}
    for n, verdict in lost.items():
        local = ended.get(n) if slices else keeper.store.local_job(job.id, n)
        if local and local.state is State.COMPLETED:
            ended[n] = local._replace(state=State.FAILED, reason=verdict.reason.words, kind=verdict.reason.kind)
    return [ended[n] for n in (ended if slices else sorted(ended))]


def _for_all(keeper: Keeper, job: GridJob, verb: str, content: dict[str, Any]) -> str:
    """Record a wish for a whole grid job."""
    late = too_early_to_remove(job) if verb == Verb.REMOVE else too_late(job, verb)
    if late:
        raise NotPossible(late)
    if verb == Verb.PRIORITY:
        keeper.store.set_grid_job(job.id, priority=min(index(content[Verb.PRIORITY]), MOST_PRIORITY))
        return ""
    wished = job._replace(wish=verb)
    if is_unsent(wished) and end_unsent(keeper, wished):  # which stores the wish, too
        return ""
    keeper.store.set_grid_job(job.id, wish=verb, due=0.0)
    if verb == Verb.RESUME:
        _release(keeper, job.id)
    return ""


def fulfil_for_task(keeper: Keeper, job: GridJob, verb: Verb, why: str, content: Mapping[str, Any]) -> None:
    """Fulfil what a task wants of a grid job that it has handed in, because of something that happens to the task."""
    with keeper.store.transaction():
        keeper.store.note(job.id, f"{verb} requested", Witness.KEEPER, why)
        try:
            if verb is Verb.RETRY and not too_early_to_retry(job):
                _retry(keeper, job, [(n, n) for n in content["numbers"]], {})
            elif verb is Verb.EDIT:
                keeper.store.note(job.id, verb, Witness.KEEPER, edit(keeper, job, content, for_later=True))
            elif verb is not Verb.RETRY and not too_late(job, verb):
                _for_all(keeper, job, verb, {})
        except StoreError:
            raise
        except JimError as error:
            keeper.store.note(job.id, f"{verb} changes nothing", Witness.KEEPER, str(error))


def _release(keeper: Keeper, grid: int) -> None:
    """Release the local jobs that JIM holds."""
    held = keeper.store.held(grid)
    for each in held:
        keeper.store.set_local_job(grid, each.n, due=0.0, spent=0, reason=reasons.RESUMED, witness=Witness.USER)
    if held:
        keeper.store.note(grid, "released", Witness.KEEPER, f"{len(held):,} held local jobs")


def _force(keeper: Keeper, job: GridJob, slices: Slices, content: dict[str, Any]) -> str:
    """Set local jobs to failed or completed, whatever the evidence shows."""
    to, reason = State(content["to"]), plain(content.get("reason") or "no reason given")
    changed = [each for each in chosen(keeper.store, job.id, slices) if each.state is not to]
    for each in changed:
        if wrong := not_forced({each.state}, to):
            ended = f": it cannot be forced to be {to.value}" if each.state.final else ""
            raise NotPossible(f"{job.id}.{each.n} is {wrong}{ended}")
    for each in changed:
        why = reasons.forced(to, reason)
        keeper.store.set_local_job(job.id, each.n, state=to, witness=Witness.USER, reason=why, wish="")
    if changed and job.step is Step.FINISHED:
        keeper.store.set_grid_job(job.id, step=Step.ACTIVE, wish="", outcome="", reason="")
    keeper.lost.spoilt.pop(job.id, None)  # the tar is tried anew
    return f"{len(changed):,} local job{'s are' if len(changed) != 1 else ' is'} {to.value} now: {reason}"
