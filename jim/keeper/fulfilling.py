"""Fulfils wishes to cancel, suspend and resume: repeats the commands until the evidence shows their effect."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from functools import partial

from jim.errand import Errand
from jim.errors import JimError
from jim.evidence.exit_record import Claim
from jim.jobs import GridJob, Live
from jim.keeper.keeper import Keeper
from jim.keeper.looks import LISTING, SPARE_THREAD
from jim.keeper.reasons import NEVER_SENT
from jim.keeper.workers import NEVER
from jim.model import State, Step, Verb, Witness
from jim.workdir.submission import fence, submission_directory, was_removed

log = logging.getLogger(__name__)
OTHERS = 1  # wishes leave one thread for submissions and look-ups, as their commands are repeated (SPARE_THREAD)
WAITING_AT_ONCE = 5000  # about 50 ms of the loop
LEFTOVERS = "leftovers"
# The batch system's verbs that fulfil a wish, for pending and for running jobs; the state that each verb applies to.
BATCH_VERBS: dict[str, tuple[str, str]] = {Verb.SUSPEND: ("hold", "suspend"), Verb.RESUME: ("release", "resume")}
ACTED_ON = {"hold": State.SUBMITTED, "suspend": State.RUNNING, "release": State.HELD, "resume": State.SUSPENDED}


class Fulfilling:
    """The move that fulfils the wishes for a grid job and for single local jobs of it."""

    def __init__(self) -> None:
        self._told: dict[int, float] = {}  # when the batch system was last told to release what a resume is about

    def __call__(self, keeper: Keeper, job: GridJob) -> float:
        """Repeat the commands as long as live attempts show that the batch system has not obeyed."""
        if job.step in (Step.COLLECTING, Step.FINISHED):
            return NEVER
        single = keeper.store.wished(job.id)
        live = list(keeper.store.live(job.id)) if job.wish or single else []
        if job.wish == Verb.CANCEL:
            if job.step in (Step.SPLIT, Step.ACTIVE):  # before the split ends, pieces do not count: they are dropped
                _end_waiting(keeper, job.id)
            return _cancel(keeper, job.id, live)
        when = self._change(keeper, job, live) if job.wish else NEVER
        for n in single:
            end_single(keeper, job.id, n)
        return min(when, _cancel(keeper, job.id, [each for each in live if each.n in single]))

    def _change(self, keeper: Keeper, job: GridJob, live: Sequence[Live]) -> float:
        """Hold or release pending jobs; suspend or resume running ones, where the batch system lets users do so."""
        key, targets = ("wish", job.id), _targets(keeper, job.wish, self._reached(keeper, job, live))
        if keeper.workers.busy(key):
            return NEVER
        if any(targets.values()) and keeper.workers.crowded(spare=OTHERS):
            return keeper.looks.wait_for(SPARE_THREAD, job.id)
        if any(targets.values()):
            work, done = partial(_tell, keeper, targets), partial(self._say, keeper, job)
            failed = partial(self._not_told, keeper, job)
            return keeper.workers.start(Errand(key, work, done, failed, command=True, grid=job.id, repeats=True))
        if job.wish == Verb.RESUME:
            # A listing from before the command may not yet show held jobs, and one that misses them says nothing.
            told = self._told.setdefault(job.id, keeper.clock.boot())
            if live and (keeper.doubts.listed.at <= told or any(_is_in_doubt(keeper, each) for each in live)):
                return keeper.looks.wait_for(LISTING, job.id)
            self._told.pop(job.id, None)
            keeper.store.set_grid_job(job.id, wish="")
        return keeper.looks.wait_for(LISTING, job.id) if live else NEVER

    def _reached(self, keeper: Keeper, job: GridJob, live: Sequence[Live]) -> Sequence[Live]:
        """Return the attempts that a verb may still reach.

        A job that was resumed, and is missed by listings before and after, has left the queue: as long as JIM resumed
        it, its silence would be that of a suspended job. Some batch systems list ended jobs for hours.
        """
        if job.wish != Verb.RESUME or keeper.doubts.listed.at <= self._told.get(job.id, math.inf):
            return live
        return [each for each in live if not keeper.doubts.is_missed((each.grid, each.k, each.idx))]

    def _say(self, keeper: Keeper, job: GridJob, what: str) -> None:
        self._note(keeper, job)
        _said(job.id, what)

    def _not_told(self, keeper: Keeper, job: GridJob, error: BaseException) -> None:
        """Believe no earlier listing: the batch system may have obeyed a command that did not answer."""
        self._note(keeper, job)
        _not_said(job.id, error)

    def _note(self, keeper: Keeper, job: GridJob) -> None:
        """Remember when the batch system was told: of a hold, that says nothing about a resume after it."""
        if job.wish == Verb.RESUME:
            self._told[job.id] = keeper.clock.boot()
        else:
            self._told.pop(job.id, None)


def _is_in_doubt(keeper: Keeper, live: Live) -> bool:
    """Tell whether the last listing has missed an attempt, and the next one decides whether it is in the queue."""
    key = (live.grid, live.k, live.idx)
    return key in keeper.doubts and not keeper.doubts.is_missed(key)


def _end_waiting(keeper: Keeper, grid: int) -> None:
    """End local jobs that were never sent, by not sending them; in parts, as there may be very many."""
    name = ("never sent", grid)
    if not keeper.store.counts(grid).get(State.WAITING):
        return
    if not keeper.workers.busy(name) and keeper.store.end_waiting(grid, NEVER_SENT, WAITING_AT_ONCE) == WAITING_AT_ONCE:
        keeper.workers.later(name, partial(_end_waiting, keeper, grid))


def end_single(keeper: Keeper, grid: int, n: int) -> None:
    """End a local job that waits or is held by JIM: the batch system has nothing of it."""
    if keeper.store.local_job(grid, n).state is State.WAITING:
        keeper.store.set_local_job(grid, n, state=State.KILLED, witness=Witness.USER, reason=NEVER_SENT)


def _cancel(keeper: Keeper, grid: int, live: Sequence[Live]) -> float:
    """Tell the batch system to end live jobs; return when to do so again."""
    key = ("cancel", grid)
    if not live:
        return NEVER
    if keeper.workers.crowded(spare=OTHERS) and keeper.workers.ready(key):
        return keeper.looks.wait_for(SPARE_THREAD, grid)
    work = partial(_end, keeper, live, _others(keeper, live))
    said, failed = partial(_said, grid), partial(_not_said, grid)
    return keeper.workers.start(Errand(key, work, said, failed, command=True, grid=grid, repeats=True))


def _others(keeper: Keeper, live: Sequence[Live]) -> frozenset[tuple[str, str]]:
    """Return batch ids, with our marks, that may be another's jobs now: after a crash, ids are given out again.

    Before the first good listing, all of them may be. A later listing shows jobs that one listing omitted by mistake.
    """
    listed = keeper.doubts.listed
    return listed.unseen if listed.at else frozenset((each.batch_id, each.mark) for each in live)


def _end(keeper: Keeper, live: Sequence[Live], others: frozenset[tuple[str, str]]) -> str:
    """Fence attempts that have not started, then tell the batch system to end all. Runs in a worker."""
    by_submission: dict[int, list[Live]] = {}
    for each in live:
        by_submission.setdefault(each.k, []).append(each)
    ids: dict[tuple[str, int], None] = {}  # in order, each once
    unfenced: list[Exception] = []
    for k, mine in by_submission.items():
        try:
            holders = _fenced(keeper, mine[0].grid, k, [each.idx for each in mine])
        except (OSError, JimError) as error:  # this submission may start yet; the others are ended nevertheless
            unfenced.append(error)
            continue
        # A batch system that accepted a submission twice may run an attempt under another batch id than the stored one.
        for each in mine:
            told = holders[each.idx].batch if holders else ""
            holder = told and keeper.adapter.batch_id(told)
            ours = [id_ for id_ in (each.batch_id, holder) if id_ and (id_, each.mark) not in others]
            ids |= dict.fromkeys((id_, each.idx) for id_ in ours)
    said = _end_in_queue(keeper, list(ids))
    if unfenced:
        raise unfenced[0]
    return said


def _fenced(keeper: Keeper, grid: int, k: int, indices: Sequence[int]) -> Mapping[int, Claim]:
    """Fence the unstarted attempts of a submission; return who holds its claims, if it has a directory."""
    directory = submission_directory(keeper.directory(grid), k)
    return {} if was_removed(keeper.site.work, directory) else fence(directory, indices)


def _end_in_queue(keeper: Keeper, ids: Sequence[tuple[str, int]]) -> str:
    """Cancel these batch jobs; return words for the log."""
    keeper.channel.cancel(ids)
    return f"cancel of {len(ids)} local jobs"


def clear(keeper: Keeper, ids: Sequence[tuple[str, int]]) -> None:
    """Cancel batch jobs of attempts that have ended. The promise does not need this: none of them could start."""
    work, said = partial(_end_in_queue, keeper, ids), partial(_said, LEFTOVERS)
    errand = Errand(LEFTOVERS, work, said, partial(_not_said, LEFTOVERS), command=True, repeats=True)
    if not keeper.workers.crowded() and keeper.workers.ready(LEFTOVERS):
        log.info("%d jobs of ended attempts are still in the queue: cancelled", len(ids))
        keeper.workers.start(errand)


def _targets(keeper: Keeper, wish: str, live: Sequence[Live]) -> dict[str, list[tuple[str, int]]]:
    """Return, by verb, the batch jobs to hold or release, and those to suspend or resume."""
    others = _others(keeper, live)
    ours = [each for each in live if (each.batch_id, each.mark) not in others]
    pending, running = BATCH_VERBS[wish]
    verbs = (pending, running) if keeper.adapter.can_suspend else (pending,)
    return {verb: [(each.batch_id, each.idx) for each in ours if each.state is ACTED_ON[verb]] for verb in verbs}


def _tell(keeper: Keeper, targets: dict[str, list[tuple[str, int]]]) -> str:
    for verb, ids in targets.items():
        keeper.channel.change(verb, ids)
    return ", ".join(f"{verb} of {len(ids)} local jobs" for verb, ids in targets.items() if ids)


def _said(what: int | str, said: str) -> None:
    log.info("%s: %s sent to the batch system; states change once the effect is seen", what, said)


def _not_said(what: int | str, error: BaseException) -> None:
    log.warning("%s: the command to the batch system failed: %s", what, error)


def unsaid(keeper: Keeper) -> dict[int, str]:
    """Return why commands for wishes failed, by grid job."""
    return keeper.workers.troubles("wish", "cancel")
