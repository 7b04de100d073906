"""Stores submissions that are found in the work directory after a restore."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jim.jobs import GridJob, LocalJob, Submission
from jim.model import FROZEN, NO_REASON, Kind, Reason, State, Step, SubmissionState, Witness
from jim.statusdb.store import Store

AFTER_THE_BACKUP = "submitted after the backup was made"
TAKEN_UP = Reason(Kind.RESTORED, words=AFTER_THE_BACKUP)
SUPERSEDED = Reason(Kind.RESTORED, words="another attempt was submitted after it")
DONE = FROZEN | {State.COMPLETED}
Place = tuple[int, int]  # submission and index
Attempts = Mapping[int, tuple[int, int]]  # by index: n, attempt


def void(store: Store, job: GridJob, k: int) -> None:
    """Forget an intended submission whose directory belongs to another submission: it was never submitted."""
    with store.transaction():
        for each in store.attempts(job.id, k=k):
            local = store.local_job(job.id, each.n)
            if (local.submission, local.attempt) == (k, each.attempt):
                before = {"state": State.WAITING, "attempt": each.attempt - 1, "submission": None}
                store.set_local_job(job.id, each.n, **before, witness=Witness.KEEPER, reason=NO_REASON)
        store.forget_submission(job.id, k)


def latest(store: Store, job: GridJob, found: Mapping[int, Attempts]) -> dict[int, tuple[Place, int]]:
    """Return for each local job the found attempt that it continues with: its place and its number.

    Attempts are numbered, and each is submitted only after the end of the one before. A completed local job continues
    with none.
    """
    last: dict[int, tuple[Place, int]] = {}
    for k, attempts in sorted(found.items()):
        for idx, (n, attempt) in attempts.items():
            if n < job.size and attempt > last.get(n, ((0, 0), 0))[1]:
                last[n] = (k, idx), attempt
    local = {n: store.local_job(job.id, n) for n in last}
    return {n: each for n, each in last.items() if _goes_on(local[n], each[1])}


def _goes_on(local: LocalJob, attempt: int) -> bool:
    return local.state not in DONE and attempt > local.attempt


def superseded(
    store: Store, job: GridJob, found: Mapping[int, Attempts], last: Mapping[int, tuple[Place, int]]
) -> Iterator[Place]:
    """Return the attempts that must not run: found ones that do not count, and those before others."""
    counts = {place for place, _ in last.values()}
    yield from ((k, idx) for k, attempts in found.items() for idx in attempts if (k, idx) not in counts)
    for n in last:
        yield from ((each.k, each.idx) for each in store.attempts(job.id, n=n) if not each.verdict)


def take_up(
    store: Store, job: GridJob, sent: Mapping[int, tuple[str, int]], found: Mapping[int, Attempts], highest: int
) -> None:
    """Store found submissions, each with its mark and carriers; JIM looks for each as if its answer was lost.

    Only attempts with which their local jobs continue are stored.
    """
    last = latest(store, job, found)
    now, counts = store.clock.utc(), {place for place, _ in last.values()}
    with store.transaction():
        for each in [each for n in last for each in store.attempts(job.id, n=n) if not each.verdict]:
            store.set_attempt(job.id, each.k, each.idx, verdict="again", reason=SUPERSEDED)
            _doubt_intent(store, job.id, each.k)
        for k, attempts in found.items():
            counting = {idx: each for idx, each in attempts.items() if (k, idx) in counts}
            state = SubmissionState.UNKNOWN if counting else SubmissionState.ENDED
            mark, carriers = sent[k]
            lost = Submission(job.id, k, mark, max(attempts), state, "", 0, TAKEN_UP.words, 0.0, now)
            store.take_up(lost._replace(kind=TAKEN_UP.kind, carriers=carriers), counting)
        for n, ((k, _), attempt) in last.items():
            told: dict[str, Any] = {"state": State.SUBMITTING, "witness": Witness.KEEPER, "reason": TAKEN_UP}
            if store.local_job(job.id, n).state.final:  # someone had retried it, which the store has forgotten
                told["spent"] = 0
            store.set_local_job(job.id, n, attempt=attempt, submission=k, **told)
        store.set_grid_job(job.id, submissions=max(highest, job.submissions))
        store.note(job.id, "restored", Witness.KEEPER, f"{len(found):,} submissions found, {AFTER_THE_BACKUP}")
        if last and job.step in (Step.COLLECTING, Step.FINISHED):  # as the forgotten retry did
            store.set_grid_job(job.id, step=Step.ACTIVE, wish="", outcome="", reason="")


def _doubt_intent(store: Store, grid: int, k: int) -> None:
    """Have an intended submission looked for: its local jobs have later attempts, so it was submitted or given up."""
    intended = store.submission(grid, k)
    if intended and intended.state is SubmissionState.INTENDED:
        store.set_submission(grid, k, state=SubmissionState.UNKNOWN, reason=TAKEN_UP, tries=0, due=0.0)
