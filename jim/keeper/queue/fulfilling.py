"""Fulfils wishes to cancel, suspend and resume: repeats the commands until the evidence shows their effect."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from jim.errand import Errand
from jim.errors import JimError
from jim.evidence import verdict
from jim.evidence.exit_record import Claim
from jim.jobs import GridJob, Live
from jim.keeper.attempts import arrivals, judging
from jim.keeper.keeper import Keeper
from jim.keeper.looks import LISTING, SPARE_THREAD
from jim.keeper.missing_directories import Holders, fence, take_claims
from jim.keeper.queue.reused_ids import Others, also_of, others_of, require_no_doubt
from jim.keeper.reasons import NEVER_SENT
from jim.keeper.workers import NEVER
from jim.model import State, Step, Verb, Witness
from jim.workdir.claims import stop_carriers
from jim.workdir.submission import submission_directory

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
        self._stops: dict[int, tuple[str, list[int]]] = {}  # the last wish that carriers were told, and which ones

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
        wished = [each for each in live if each.n in single]
        _cancel_carried(keeper, job.id, [each for each in wished if each.carriers])
        return min(when, _cancel(keeper, job.id, [each for each in wished if not each.carriers]))

    def _change(self, keeper: Keeper, job: GridJob, live: Sequence[Live]) -> float:
        """Hold or release pending jobs; suspend or resume running ones, where the batch system lets users do so."""
        key = ("wish", job.id)
        if keeper.workers.busy(key):
            return NEVER
        carried = sorted({each.k for each in live if each.carriers})
        if carried and self._stops.get(job.id) != (job.wish, carried):
            stop = partial(_stop_carriers, keeper, job, carried)
            return keeper.workers.start(
                Errand(key, stop, partial(self._stopped, job, carried), grid=job.id, repeats=True)
            )
        verbs = _verbs(keeper, job.wish)
        acted_on = [each for each in self._reached(keeper, job, live) if each.state in verbs or _is_unbegun(each)]
        others = others_of(keeper, acted_on)
        targets = _targets(verbs, acted_on, others)
        tells = bool(targets or others.doubted)
        if tells and keeper.workers.crowded(spare=OTHERS):
            return keeper.looks.wait_for(SPARE_THREAD, job.id)
        if tells:
            work, done = partial(_tell, keeper, targets, others), partial(self._say, keeper, job)
            failed = partial(self._not_told, keeper, job)
            return keeper.workers.start(Errand(key, work, done, failed, command=True, grid=job.id, repeats=True))
        keeper.workers.forget(key)  # whatever could not be told is fulfilled, or cannot be any more
        if job.wish == Verb.RESUME:
            # A listing from before the command may not yet show held jobs, and one that misses them says nothing.
            since = self._told.setdefault(job.id, keeper.clock.boot())
            if live and (keeper.doubts.listed.at <= since or any(_is_in_doubt(keeper, each) for each in live)):
                return keeper.looks.wait_for(LISTING, job.id)
            self._told.pop(job.id, None)
            keeper.store.set_grid_job(job.id, wish="")
        return keeper.looks.wait_for(LISTING, job.id) if live else NEVER

    def _stopped(self, job: GridJob, carried: list[int], _: None) -> None:
        self._stops[job.id] = job.wish, carried

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
    work = partial(_end, keeper, live, others_of(keeper, live))
    said, failed = partial(_said, grid), partial(_not_said, grid)
    return keeper.workers.start(Errand(key, work, said, failed, command=True, grid=grid, repeats=True))


def _end(keeper: Keeper, live: Sequence[Live], others: Others) -> str:
    """Fence attempts that have not started, then tell the batch system to end all. Runs in a worker."""
    by_submission: dict[int, list[Live]] = {}
    for each in live:
        by_submission.setdefault(each.k, []).append(each)
    ids: list[tuple[str, str, int]] = []
    untold: list[Exception] = []
    for k, mine in by_submission.items():
        try:
            holders = _fenced(keeper, mine[0].grid, k, [each.idx for each in mine])
        except (OSError, JimError) as error:  # this submission may start yet; the others are ended nevertheless
            untold.append(error)
            continue
        ids += _ids(keeper, mine, holders)
    stored = {(each.batch_id, each.mark) for each in live}
    held = {(id_, mark) for id_, mark, _ in ids} - stored
    left_out = also_of(keeper, others, held) if held else others
    ours = dict.fromkeys((id_, idx) for id_, mark, idx in ids if not left_out.have((id_, mark)))
    said = _end_in_queue(keeper, list(ours))
    if untold:
        raise untold[0]
    require_no_doubt(left_out)
    return said


def _ids(keeper: Keeper, live: Sequence[Live], holders: Mapping[int, Claim]) -> Iterator[tuple[str, str, int]]:
    """Yield the batch ids of attempts, each with mark and index.

    A batch system that accepted a submission twice may run an attempt under another batch id than the stored one.
    """
    if live[0].carriers:
        yield from _carriers(keeper, live[0], holders.values())
        return
    for each in live:
        batch = holders[each.idx].batch if holders else ""
        for id_ in dict.fromkeys((each.batch_id, batch and keeper.adapter.batch_id(batch))):
            if id_:
                yield id_, each.mark, each.idx


def _carriers(keeper: Keeper, one: Live, holders: Iterable[Claim]) -> Iterator[tuple[str, str, int]]:
    """Yield the batch ids of all carriers of a submission, of which one local job is given, with mark and index."""
    batches = {keeper.adapter.batch_id(each.batch) for each in holders if each.batch}
    for id_ in sorted({one.batch_id, *batches} - {""}):
        yield from ((id_, one.mark, index) for index in range(1, one.carriers + 1))


def _cancel_carried(keeper: Keeper, grid: int, live: Sequence[Live]) -> None:
    """End single local jobs of carriers. These go on with others, so the batch system has nothing to end."""
    key = ("cancel carried", grid)
    if live and keeper.workers.ready(key) and not keeper.workers.crowded(spare=OTHERS):
        work = partial(take_claims, keeper, [(each.grid, each.k, each.idx) for each in live])
        keeper.workers.start(Errand(key, work, partial(_end_carried, keeper), grid=grid, repeats=True))


def _end_carried(keeper: Keeper, holders: Holders) -> None:
    """Judge those that were fenced, and give up those that run: their wrappers look for that every ten seconds."""
    with keeper.store.transaction():
        for key, holder in holders.items():
            attempt = keeper.store.attempt(*key)
            if attempt is None or attempt.verdict or attempt.over:
                continue
            if holder is None or holder.fence:
                judging.record(keeper, key, verdict.of_lost(None, cancelled=True))
            else:
                arrivals.begun(keeper, attempt, holder)
                judging.give_up(keeper, key, verdict.of_vanished(None, cancelled=True), judging.NEVER_TOUCHED)


def _stop_carriers(keeper: Keeper, job: GridJob, submissions: Sequence[int]) -> None:
    """Have carriers begin nothing while a grid job is suspended. Runs in a worker."""
    for k in submissions:
        stop_carriers(submission_directory(keeper.directory(job.id), k), stops=job.wish == Verb.SUSPEND)


def _fenced(keeper: Keeper, grid: int, k: int, indices: Sequence[int]) -> Mapping[int, Claim]:
    """Fence the unstarted attempts of a submission; return who holds its claims."""
    return fence(keeper, submission_directory(keeper.directory(grid), k), indices)


def _end_in_queue(keeper: Keeper, ids: Sequence[tuple[str, int]]) -> str:
    """Cancel these batch jobs; return words for the log."""
    keeper.channel.cancel(ids)
    return f"cancel of {len(ids)} local jobs" if ids else ""


def clear(keeper: Keeper, ids: Sequence[tuple[str, int]]) -> None:
    """Cancel batch jobs of attempts that have ended. The promise does not need this: none of them could start."""
    work, said = partial(_end_in_queue, keeper, ids), partial(_said, LEFTOVERS)
    errand = Errand(LEFTOVERS, work, said, partial(_not_said, LEFTOVERS), command=True, repeats=True)
    if not keeper.workers.crowded() and keeper.workers.ready(LEFTOVERS):
        log.info("%d jobs of ended attempts are still in the queue: cancelled", len(ids))
        keeper.workers.start(errand)


def _verbs(keeper: Keeper, wish: str) -> dict[State, str]:
    """Return the batch system's verbs that fulfil a wish, by the state that each applies to."""
    pending, running = BATCH_VERBS[wish]
    return {ACTED_ON[verb]: verb for verb in ((pending, running) if keeper.adapter.can_suspend else (pending,))}


def _is_unbegun(live: Live) -> bool:
    """Tell whether a local job waits for any carrier: what is done about that is done to all its carriers."""
    return bool(live.carriers and not live.carrier)


def _targets(verbs: Mapping[State, str], live: Sequence[Live], others: Others) -> dict[str, list[tuple[str, int]]]:
    """Return, by verb, the batch jobs to hold or release, and those to suspend or resume.

    Pending jobs come first: where a suspended job frees its slot, one that is not held yet would start there.
    """
    targets: dict[str, list[tuple[str, int]]] = {verb: [] for verb in verbs.values()}
    for each in live:
        if not others.have((each.batch_id, each.mark)) and not _is_unbegun(each):
            targets[verbs[each.state]].append((each.batch_id, each.carrier or each.idx))
    unbegun = {each.batch_id: each for each in live if _is_unbegun(each)}
    for (batch_id, index), state in others.listed.carriers.items():
        if state in verbs and batch_id in unbegun and not others.have((batch_id, unbegun[batch_id].mark)):
            targets[verbs[state]].append((batch_id, index))
    return {verb: list(dict.fromkeys(ids)) for verb, ids in targets.items() if ids}


def _tell(keeper: Keeper, targets: dict[str, list[tuple[str, int]]], others: Others) -> str:
    for verb, ids in targets.items():
        keeper.channel.change(verb, ids)
    require_no_doubt(others)
    return ", ".join(f"{verb} of {len(ids)} local jobs" for verb, ids in targets.items())


def _said(what: int | str, said: str) -> None:
    if said:  # there may be nothing that is still ours
        log.info("%s: %s sent to the batch system; states change once the effect is seen", what, said)


def _not_said(what: int | str, error: BaseException) -> None:
    log.warning("%s: the batch system could not be told of all: %s", what, error)


def unsaid(keeper: Keeper) -> dict[int, str]:
    """Return why commands for wishes failed, by grid job."""
    return keeper.workers.troubles("wish", "cancel")
