"""Fulfilling wishes: cancel, suspend, resume. Said again until the evidence shows that it was obeyed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial

from jim.errors import BatchError, JimError
from jim.evidence.exit_record import Claim
from jim.jobs import GridJob, Live
from jim.keeper.keeper import House
from jim.keeper.reasons import NEVER_SENT
from jim.model import State, Step, Verb, Witness
from jim.workdir.submission import fence, submission_directory, was_removed

log = logging.getLogger(__name__)
OTHERS = 1  # a thread is left for what is sent and looked up: wishes are said again and again
WAITING_AT_ONCE = 5000  # about 50 ms of the loop


def fulfil(house: House) -> None:
    """Do what was wished for each grid job, and each local job."""
    live = None
    jobs = house.store.grid_jobs(Step.ACCEPTED, Step.RESOLVED, Step.SPLIT, Step.ACTIVE)
    for job in sorted(jobs, key=partial(_due, house)):
        single = house.store.wished(job.id)
        if not job.wish and not single:
            continue
        live = list(house.store.live()) if live is None else live
        mine = [each for each in live if each.grid == job.id]
        if job.wish == Verb.CANCEL:
            if job.step in (Step.SPLIT, Step.ACTIVE):  # before, they do not count: they are forgotten when it ends
                _cancel(house, job.id, mine)
                _end_waiting(house, job.id)
        elif job.wish:
            _change(house, job.id, job.wish, mine)
        if single and job.wish != Verb.CANCEL:
            for n in single:
                end_single(house, job.id, n)
            _cancel(house, job.id, [each for each in mine if each.n in single])


def _due(house: House, job: GridJob) -> float:
    """Tell since when the batch system is to be told of it, again or at all: who waits longest comes first."""
    return max(house.paced.get((what, job.id), (0.0, 0))[0] for what in ("wish", "cancel"))


def _end_waiting(house: House, grid: int) -> None:
    """End what was never sent: it is enough not to send it. There may be very many: so many at once."""
    name = ("never sent", grid)
    if not house.workers.busy(name) and house.store.end_waiting(grid, NEVER_SENT, WAITING_AT_ONCE) == WAITING_AT_ONCE:
        house.workers.later(name, partial(_end_waiting, house, grid))


def end_single(house: House, grid: int, n: int) -> None:
    """End a local job that waits, or is held: nothing of it is anywhere."""
    if house.store.local_job(grid, n).state is State.WAITING:
        house.store.set_local_job(grid, n, state=State.KILLED, witness=Witness.USER, reason=NEVER_SENT)


def _cancel(house: House, grid: int, live: Sequence[Live]) -> None:
    name = ("wish", grid)
    # A pace of its own: while a resume waits for free slots, it is told again and again, and would take every turn.
    if not live or house.workers.busy(name) or house.workers.crowded(spare=OTHERS):
        return
    if house.pace(("cancel", grid)):
        house.workers.start(
            name,
            partial(_end, house, live, _others(house, live)),
            partial(_said, house, grid),
            partial(_not_said, house, grid),
            command=True,
        )


def _others(house: House, live: Sequence[Live]) -> frozenset[tuple[str, str]]:
    """Give the batch ids, and our marks, that may be someone else's now: a crash gives ids out again.

    Before the first good listing each of them may. What a listing did not show by mistake, a later one does.
    """
    return house.unseen if house.listed else frozenset((each.batch_id, each.mark) for each in live)


def _end(house: House, live: Sequence[Live], others: frozenset[tuple[str, str]]) -> str:
    """Fence what has not started, then tell the batch system to end all of it. Runs in a worker."""
    by_submission: dict[int, list[Live]] = {}
    for each in live:
        by_submission.setdefault(each.k, []).append(each)
    ids: dict[tuple[str, int], None] = {}  # in order, each once
    unfenced: list[Exception] = []
    for k, mine in by_submission.items():
        try:
            holders = _fenced(house, mine[0].grid, k, [each.idx for each in mine])
        except (OSError, JimError) as error:  # it may start yet; the others are ended all the same
            unfenced.append(error)
            continue
        # A batch system that accepted it twice may run it as another batch job than the one we were told.
        for each in mine:
            told = holders[each.idx].batch if holders else ""
            holder = told and house.adapter.batch_id(told)
            ours = [id_ for id_ in (each.batch_id, holder) if id_ and (id_, each.mark) not in others]
            ids |= dict.fromkeys((id_, each.idx) for id_ in ours)
    said = _end_in_queue(house, list(ids))
    if unfenced:
        raise unfenced[0]
    return said


def _fenced(house: House, grid: int, k: int, indices: Sequence[int]) -> Mapping[int, Claim]:
    """Fence what has not started of a submission; tell who holds its claims, if it has a directory."""
    directory = submission_directory(house.directory(grid), k)
    return {} if was_removed(house.site.work, directory) else fence(directory, indices)


def _end_in_queue(house: House, ids: Sequence[tuple[str, int]]) -> str:
    """Tell the batch system to end these."""
    house.channel.cancel(ids)
    return f"cancel of {len(ids)} local jobs"


def clear(house: House, ids: Sequence[tuple[str, int]]) -> None:
    """Take out of the queue what is left there of attempts that have ended. Nothing hangs on it: none could start."""
    name = "leftovers"
    if not house.workers.busy(name) and not house.workers.crowded() and house.pace(name):
        log.info("%d jobs of ended attempts are still in the queue: cancelled", len(ids))
        house.workers.start(
            name,
            partial(_end_in_queue, house, ids),
            lambda _: None,
            partial(_not_said, house, "leftovers"),
            command=True,
        )


def _change(house: House, grid: int, wish: str, live: Sequence[Live]) -> None:
    """Hold or release what is pending; suspend or resume what runs, where users may."""
    pending, running = (
        ((State.SUBMITTED,), (State.RUNNING,)) if wish == Verb.SUSPEND else ((State.HELD,), (State.SUSPENDED,))
    )
    verbs = ("hold", "suspend") if wish == Verb.SUSPEND else ("release", "resume")
    others = _others(house, live)
    ours = [each for each in live if (each.batch_id, each.mark) not in others]
    targets = {
        verb: [(each.batch_id, each.idx) for each in ours if each.state in states]
        for verb, states in zip(verbs, (pending, running), strict=True)
    }
    if not house.adapter.can_suspend:
        del targets[verbs[1]]
    name = ("wish", grid)
    if house.workers.busy(name) or house.workers.crowded(spare=OTHERS):
        return
    if any(targets.values()):
        if house.pace(name):
            tell = partial(_tell, house, targets)
            house.workers.start(name, tell, partial(_told, house, grid), partial(_not_told, house, grid), command=True)
    elif wish == Verb.RESUME and (not live or house.listed > house.told.setdefault(grid, house.clock.boot())):
        house.told.pop(grid, None)
        house.store.set_grid_job(grid, wish="")


def _tell(house: House, targets: dict[str, list[tuple[str, int]]]) -> str:
    for verb, ids in targets.items():
        house.channel.change(verb, ids)
    return ", ".join(f"{verb} of {len(ids)} local jobs" for verb, ids in targets.items() if ids)


def _told(house: House, grid: int, what: str) -> None:
    """Believe no listing from before: it may not show yet what is held."""
    house.told[grid] = house.clock.boot()
    _said(house, grid, what)


def _not_told(house: House, grid: int, error: BaseException) -> None:
    """Likewise: a command that did not answer may have been obeyed all the same."""
    house.told[grid] = house.clock.boot()
    _not_said(house, grid, error)


def _said(house: House, grid: int, what: str) -> None:
    house.unsaid.pop(grid, None)
    log.info("%s: %s told to the batch system; believed when seen", grid, what)


def _not_said(house: House, what: int | str, error: BaseException) -> None:
    if not isinstance(error, BatchError | JimError | OSError):
        raise error
    log.warning("%s: the batch system could not be told: %s", what, error)
    if isinstance(what, int):
        house.unsaid[what] = str(error)
