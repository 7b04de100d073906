"""Tells what a wish would do now, before it is stored: the same words for the command line and the pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from jim.doors.inbox import require_local_job, slices_of
from jim.errors import BadRequest, UnknownJob
from jim.evidence.transitions import (
    ENDED_BADLY,
    FORCED_FROM,
    again_of,
    not_done_again,
    not_forced,
    too_early_to_remove,
    too_early_to_retry,
    too_late,
    too_late_to_end,
)
from jim.jobs import GridJob, LocalJob
from jim.model import NOTHING, State, Step, Verb
from jim.reading.quantities import how_many, size_of
from jim.reading.view import View, refuse_local_job
from jim.statusdb.seen.record import completed_of, from_gatekeeper, retryable
from jim.tasks.pieces.wave_wishes import refused_on_wave
from jim.workdir.removed import can_run_nothing

Slices = tuple[tuple[int, int], ...]
NEXT = {
    Verb.CANCEL: "waiting local jobs are not submitted, others are cancelled; completed outputs are still collected",
    Verb.FORCE: "the keeper accepts your statement, and collects the outputs again",
    Verb.SUSPEND: "JIM submits no more, holds queued jobs, and suspends running jobs if the batch system can",
    Verb.RESUME: "JIM releases held jobs, and submits again",
    Verb.PRIORITY: "jobs in the batch system keep their place there",
    Verb.REMOVE: "nothing brings them back; its key is free for another request",
}
WHOLE = (Verb.SUSPEND, Verb.RESUME, Verb.PRIORITY, Verb.REMOVE)  # wishes for whole grid jobs only
RUN = (State.RUNNING, State.COMPLETING)
SUSPENDED, HELD = "are suspended", "are held"
IDLE = {  # words of a wish that concerns nothing just now; an earlier wish may still be in the inbox
    Verb.SUSPEND: "all of its local jobs are suspended already",
    Verb.RESUME: "none of its local jobs is suspended or held, so it goes on as before",
}
SAID = {"run": "runs", "wait": "waits", "are": "is", "were": "was"}  # of several, of one


class Effect(NamedTuple):
    """What a wish would do: why nothing; else how many local jobs it concerns, by their present states, and words."""

    late: str = ""
    hit: Mapping[str, int] = NOTHING
    words: str = ""
    again: tuple[LocalJob, ...] = ()  # those that a retry tries again


def effect(view: View, verb: str, target: str, more: Mapping[str, Any] = NOTHING) -> Effect:
    """Return what a wish would do now; refuse a target that the verb does not take."""
    number, slices = view.named(slices_of, target)
    job = view.grid_job(number)
    _require_target(job, verb, target, slices)
    refuse_on_wave(view, job, {**more, "verb": verb, "target": target}, slices)
    if verb == Verb.RETRY:
        return _retry(view, job, slices, more)
    if verb == Verb.REDO:
        return _redo(view, job, slices, more)
    if verb == Verb.REMOVE:
        return Effect(too_early_to_remove(job), words=_removed(job))
    states = _states(view, job, slices)
    if late := _too_late(job, slices, verb, states, more):
        return Effect(late)
    if verb == Verb.FORCE:
        hit = _by_state({state: count for state, count in states.items() if state.value != more["to"]})
        return Effect("", hit, f"declares {_told(hit, more['to'])}")
    return _of_living(view, job, verb, states, more)


def then(verb: str, would: Effect | None) -> str:
    """Return what follows from a wish; empty if it concerns nothing just now."""
    idle = verb in IDLE and would is not None and not would.hit and would.words == IDLE[Verb(verb)]
    return "" if idle or verb not in NEXT else NEXT[Verb(verb)]


def refuse_on_wave(
    view: View, job: GridJob, content: Mapping[str, Any], slices: Sequence[tuple[int, int]] = ()
) -> None:
    """Refuse a verb that would take work out of the hands of a task."""
    if job.is_of_task and (why := refused_on_wave(view, job, slices, content)):
        raise BadRequest(why)


def offered(job: GridJob, states: Iterable[State], local: LocalJob | None = None) -> list[Verb]:
    """Return the wishes that may change something, for a grid job or one of its local jobs in these states."""
    there = set(states)
    ended_badly = bool(there & {*ENDED_BADLY}) or (local is not None and local.held)
    lost = local is None and _may_lack_outputs(job)
    again = [Verb.RETRY] if (ended_badly or lost) and not too_early_to_retry(job) else []
    if local is not None:
        alive = [Verb.CANCEL] if job.step is not Step.FINISHED and not local.state.final else []
        return alive + again + [Verb.FORCE] * any(local.state in those for those in FORCED_FROM.values())
    turn = Verb.RESUME if job.wish == Verb.SUSPEND else Verb.SUSPEND
    return [each for each in (Verb.CANCEL, turn, Verb.PRIORITY) if not too_late(job, each)] + again


def grown(shown: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Tell whether a wish would concern more local jobs of any kind than someone was shown."""
    return any(count > shown.get(name, 0) for name, count in now.items())


def _require_target(job: GridJob, verb: str, target: str, slices: Slices) -> None:
    if verb in WHOLE:
        refuse_local_job(target, verb)
    if verb == Verb.FORCE and not slices:
        raise BadRequest(f"`jim force` needs a local job, for example {job.id}.0; {job.id} is a whole grid job")
    if slices and job.step is Step.FINISHED and not job.size:
        raise UnknownJob(f"there is no local job {target}: grid job {job.id} ended before it was split")
    if slices:
        require_local_job(job.id, slices[-1][1], job.size)


def _states(view: View, job: GridJob, slices: Slices) -> Counter[State]:
    if not slices or not job.size:
        return Counter(view.store.counts(job.id) if job.size else {})
    return Counter(view.store.state(job.id, n) for first, last in slices for n in range(first, last + 1))


def _too_late(job: GridJob, slices: Slices, verb: str, states: Counter[State], more: Mapping[str, Any]) -> str:
    """Return why a wish would have no effect; empty if it may have one."""
    if verb == Verb.FORCE:
        to = State(more["to"])
        return f"already {to.value}" if states.keys() == {to} else not_forced(states.keys(), to)
    if not slices:
        return too_late(job, verb)
    if job.step is Step.FINISHED:  # the outcome belongs to the grid job, not to a local job
        return too_late(job, verb)
    return too_late_to_end(states.keys())


# Words


def _of_living(view: View, job: GridJob, verb: str, states: Counter[State], more: Mapping[str, Any]) -> Effect:
    """Describe a wish for the local jobs that have not ended."""
    hit = _of_pause(view, job, verb, states) if verb in IDLE else _living(states)
    if verb == Verb.PRIORITY:
        hit = {"wait": hit["wait"]} if hit.get("wait") else {}
        waiting = how_many(hit.get("wait", 0), "waiting local job") if hit else "the grid job"
        return Effect("", hit, f"gives {waiting} priority {more['priority']} instead of {job.priority}")
    if not hit and verb in IDLE and any(not state.final for state in states):
        return Effect("", hit, IDLE[Verb(verb)])
    if not hit:
        what = "all local jobs have ended" if job.size else "it has no local jobs yet"
        return Effect("", hit, f"{'ends' if verb == Verb.CANCEL else verb + 's'} the grid job; {what}")
    acts = {Verb.CANCEL: "ends", Verb.SUSPEND: "suspends", Verb.RESUME: "continues"}
    return Effect("", hit, f"{acts[Verb(verb)]} {_told(hit)}")


def _of_pause(view: View, job: GridJob, verb: str, states: Counter[State]) -> dict[str, int]:
    """Count the local jobs that a suspend or a resume concerns."""
    hit = _living(states)
    if verb == Verb.SUSPEND:
        return {name: count for name, count in hit.items() if name != SUSPENDED}
    if job.wish == Verb.SUSPEND:
        return hit
    held = states[State.HELD] + len(view.store.held(job.id))
    found = {SUSPENDED: hit.get(SUSPENDED, 0), HELD: held}
    return {name: count for name, count in found.items() if count}


def _living(states: Counter[State]) -> dict[str, int]:
    """Count local jobs that have not ended, by what they do."""
    found = Counter[str]()
    for state, count in states.items():
        if not state.final:
            found["run" if state in RUN else SUSPENDED if state is State.SUSPENDED else "wait"] += count
    return {name: found[name] for name in ("run", SUSPENDED, "wait") if found[name]}


def _by_state(states: Mapping[State, int]) -> dict[str, int]:
    words = {State.KILLED: "were killed", State.HELD: HELD}
    found = ((words.get(state, state.value), states.get(state, 0)) for state in State)
    return {name: count for name, count in found if count}


def _told(hit: Mapping[str, int], become: str = "") -> str:
    """Write counts: "2,333 local jobs: 1,100 run, 1,233 wait", with what all become before the colon."""
    parts = (f"{count:,} {_of_one(name) if count == 1 else name}" for name, count in hit.items())
    all_ = how_many(sum(hit.values()), "local job")
    return f"{all_}{' ' + become if become else ''}: {', '.join(parts)}"


def _of_one(name: str) -> str:
    first, _, rest = name.partition(" ")
    return f"{SAID.get(first, first)} {rest}".strip()


def _removed(job: GridJob) -> str:
    tar = f"its tar ({size_of(job.result['bytes'])}), " if job.result else ""
    return f"removes {tar}its logs, its journal and {how_many(job.size, 'local job')}"


# Redo and retry


def _redo(view: View, job: GridJob, slices: Slices, more: Mapping[str, Any]) -> Effect:
    at_gatekeeper = from_gatekeeper(view.store, job)
    late = not_done_again(job, at_gatekeeper=at_gatekeeper, again=bool(more.get("again"))) or nowhere_to_run(view, job)
    completed = completed_of(view.store, job.id, slices) if job.size and not late else []
    if late or not completed:
        return Effect(late or "none of these local jobs has completed")
    many = how_many(len(completed), "completed local job")
    words = f"{many} {'is' if len(completed) == 1 else 'are'} done again, and the tar is made anew"
    return Effect("", {State.COMPLETED.value: len(completed)}, words)


def _retry(view: View, job: GridJob, slices: Slices, more: Mapping[str, Any]) -> Effect:
    if late := too_early_to_retry(job) or nowhere_to_run(view, job):
        return Effect(late)
    ended = _ended(view, job, slices) if job.size else []
    again = again_of(ended, slices, **more)
    if not again and _may_lack_outputs(job):
        return Effect("", words="local jobs whose outputs were lost get another set of attempts")
    if not again:
        return Effect(_nothing_to_retry(job, ended, more))
    hit = _by_state(Counter(State.HELD if each.held else each.state for each in again))
    what = "1 local job gets" if len(again) == 1 else f"{len(again):,} local jobs get"
    return Effect("", hit, f"{what} another set of attempts", tuple(again))


def _may_lack_outputs(job: GridJob) -> bool:
    """Tell whether the tar cannot be made, perhaps for want of outputs of completed local jobs: the keeper knows."""
    return job.step is Step.COLLECTING and job.tries > 0


def nowhere_to_run(view: View, job: GridJob) -> str:
    """Return why no attempt of a grid job can run any more: its directory was removed, and JIM makes no new one."""
    if not job.place:  # it has none yet: the keeper may not even have taken it
        return ""
    place = view.directory(job.id)
    with suppress(OSError):  # the work directory is out of reach just now
        if view.disk(partial(can_run_nothing, view.site.work, place)):
            return f"{place} was removed, and nothing of {job.id} can run without it; `jim copy` writes a new request"
    return ""


def _ended(view: View, job: GridJob, slices: Slices) -> list[LocalJob]:
    """Return the local jobs among which a retry chooses, in their present state."""
    if not slices:
        return retryable(view.store, job.id)
    return [view.store.local_job(job.id, n) for first, last in slices for n in range(first, last + 1)]


def _nothing_to_retry(job: GridJob, ended: list[LocalJob], more: Mapping[str, Any]) -> str:
    if more.get("failed") or more.get("reason"):
        return _none_like(**more)
    if job.step is Step.FINISHED and not job.size:
        return "it has no local jobs"
    if any(each.piece.failure for each in ended):
        return "the failed local jobs failed on their creation, and can never run"
    finished = job.step is Step.FINISHED
    return f"no local job {'failed' if finished else 'has failed'} or was killed{'' if finished else ' so far'}"


def _none_like(*, failed: bool = False, reason: str = "", **_: Any) -> str:
    """Say that nothing was chosen by kind and words of a reason, as options of `jim retry` or fields of a page."""
    kind = "failed" if failed else "failed, held or killed"
    return f"there is no {kind} local job{f' with {reason!r} in its reason' if reason else ''}"
