"""A state directory of the test's own on the site's real batch system, its keeper's rounds made by hand."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from jim import request
from jim.admin.finding import WARNING, Finding
from jim.doors import inbox
from jim.errors import JimError, UnknownJob
from jim.jobs import GridJob, LocalJob, whole_reason
from jim.keeper.fulfilling import unsaid
from jim.keeper.looking_up import LOST
from jim.keeper.opening import open_keeper
from jim.model import FINAL, NO_REASON, Kind, Reason, State, Step, SubmissionState, Verb
from jim.plugins import foreign
from jim.run_grid_job import rounds
from jim.site.file import Site, make_state

PREFIX = "site-test-"
CLEANING_SECONDS = 60.0
STUMBLING_SECONDS = 10.0  # of these, with an adapter that cannot read who has ended: the next minute it cannot, either
ROUND_SECONDS = 0.1
PATIENCE_SECONDS = 180.0  # with a batch system that gives no good answer
COMMAND_SECONDS = 60.0  # for commands that have so long
REASONS = 20
# Submissions that may have a batch id.
GIVEN = (
    SubmissionState.UNKNOWN,
    SubmissionState.FULL,
    SubmissionState.RECORDED,
    SubmissionState.CONFIRMED,
    SubmissionState.ENDED,
    SubmissionState.VOID,
)
UNSENT = frozenset({State.WAITING, State.SUBMITTING})
PENDING = frozenset({State.SUBMITTED, State.HELD})
# What differs where two attempts say the same: how long it took, which attempt it was, its mark, its directory.
NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def prefix(site: Site) -> str:
    """Begin the name of a trial with its batch system: only there its ids mean its jobs."""
    return f"{PREFIX}{site.batch.system}-"


class TrialSite:
    """Grid jobs of a test, from submission to the end, and nothing left behind."""

    def __init__(self, site: Site, heed: Callable[[], None] = lambda: None, place: Path | None = None) -> None:
        """Make one, or, to clean it up, open one that is there already. `heed` raises when the test shall end."""
        self._heed = heed
        self.remains: list[Finding] = []  # what could not be cleaned up
        self.fault = f"the adapter of {site.batch.system}, or JIM itself, has a fault"
        with ExitStack() as undoing:
            if place is None:
                place = Path(tempfile.mkdtemp(prefix=prefix(site), dir=site.state))
                undoing.callback(self._remove)
            self.site = site._replace(state=place, managed=False)
            self.ledger = self.site.work / "ledger"
            make_state(self.site)
            self.ledger.mkdir(exist_ok=True)
            with foreign(self.fault):
                self.rounds = rounds()(open_keeper(self.site))
            undoing.pop_all()
        self.store, self.adapter = self.rounds.keeper.store, self.rounds.keeper.adapter
        slower = max(1.0, site.batch.command_seconds / COMMAND_SECONDS)
        self.patience = PATIENCE_SECONDS * slower + 2 * site.batch.visible_seconds

    def __enter__(self) -> TrialSite:
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel what is not finished, wait for it, and remove every file."""
        began, limit = time.monotonic(), CLEANING_SECONDS
        while not self._all_cancelled() and time.monotonic() < began + limit:
            with suppress(JimError, OSError):  # what is wrong with the batch system has been said
                self._round()
            in_vain = self._stumbled() and not unsaid(self.rounds.keeper)
            limit = min(CLEANING_SECONDS, STUMBLING_SECONDS) if in_vain else CLEANING_SECONDS
        while not self.rounds.keeper.workers.idle():  # a command under way would make its files again
            with suppress(JimError, OSError), foreign(self.fault):
                self.rounds.deliver(ROUND_SECONDS)
        with suppress(JimError):
            self.remains += self._remains(limit)
        self.rounds.close()
        self._remove()

    def _all_cancelled(self) -> bool:
        """Wish the end of what has not ended, also of what is taken in only now; tell whether all has."""
        unfinished = self._unfinished()
        for job in unfinished:
            if job.wish != Verb.CANCEL:
                with suppress(JimError, OSError):
                    inbox.wish(self.site.state, Verb.CANCEL, str(job.id))
        return not unfinished and not any((self.site.state / "inbox").glob("request-*"))

    def _unfinished(self) -> list[GridJob]:
        return self.store.grid_jobs(*(step for step in Step if step is not Step.FINISHED))

    def _remains(self, seconds: float) -> Iterator[Finding]:
        """Name the batch jobs that may be left after so long, with the commands that end or find them."""
        ids = [(each.batch_id, each.idx) for each in self.store.live() if each.batch_id]
        lost = [each for job in self._unfinished() for each in self.store.submissions(*LOST, grid=job.id)]
        marks = [each.mark for each in lost]
        with foreign(self.fault):
            end = [f"end them: {shlex.join(self.adapter.cancel_command(ids))}"] if ids else []
            find = [f"find them: {shlex.join(self.adapter.find_command(mark))}" for mark in marks]
        if end or find:
            said = f"after {seconds:.0f} s these may still be there: "
            said += ", ".join([*(f"batch job {id_}, index {index}" for id_, index in ids), *marks])
            yield Finding("cleaning", WARNING, said, "; ".join((*end, *find)))

    def _remove(self) -> None:
        """Remove every file, from other names first, where nobody makes one any more."""
        moved = []
        for place in dict.fromkeys((self.site.work, self.site.state)):
            if place.exists() and (place == self.site.state or place.parent != self.site.state):
                moved.append(place.rename(place.with_name(f".{place.name}")))
        for place in moved:
            shutil.rmtree(place, ignore_errors=True)

    @contextmanager
    def preceded(self, *words: str) -> Iterator[None]:
        """Put a command before every batch command; it gets the verb, then the real words."""
        real = self.adapter.commands
        self.adapter.commands = {verb: (*words, verb, *each) for verb, each in real.items()}
        try:
            yield
        finally:
            self.adapter.commands = real

    # What is handed in

    def submit(self, name: str, script: str, **attributes: Any) -> int:
        """Hand in a shell script as one local job."""
        shell = {"job_type": "executable", "executable": "/bin/sh", "arguments": ["-c", self._noted(script)]}
        return self._deposit(name, shell | attributes)

    def submit_many(self, name: str, script: str, pieces: int, **attributes: Any) -> int:
        """Hand in a shell script as so many local jobs, each with its number as $1."""
        sets = [["-c", self._noted(script), "sh", str(n)] for n in range(pieces)]
        return self._deposit(
            name, {"job_type": "parametric", "executable": "/bin/sh", "argument_sets": sets} | attributes
        )

    def cancel(self, job: int) -> None:
        """Wish that a grid job ends."""
        inbox.wish(self.site.state, Verb.CANCEL, str(job))

    def _deposit(self, name: str, attributes: dict[str, Any]) -> int:
        _, checked = request.check(attributes | {"environment": {"LEDGER": str(self.ledger)}})
        return inbox.deposit(self.site.state, name, checked | {"key": name})

    def _noted(self, script: str) -> str:
        """Let a script leave a file for each time it is started: grid job, local job, attempt, process."""
        return f': >"$LEDGER/$JIM_GRID_JOB.$JIM_LOCAL_JOB.$JIM_ATTEMPT.$(uname -n).$$"; {script}'

    # What comes of it

    def until(self, true: Callable[[], bool], limit: float) -> bool:
        """Make rounds until something holds; tell whether it did before nothing had moved for so many seconds.

        A busy queue may let jobs wait; a batch system that gives no good answer is waited for less long.
        """
        limit = max(limit, self.patience)
        moved = heard = time.monotonic()
        progress = self._progress()
        furthest = _distance(progress)
        while not true():
            self._heed()
            self._round()
            was, progress, now = progress, self._progress(), time.monotonic()
            heard = now if progress != was or self._answers() else heard
            # Not each change: what is lost and sent again, and again, would be waited for without an end.
            if _distance(progress) > furthest:
                moved, furthest = now, _distance(progress)
            if now > min(moved + limit, heard + self.patience):
                return False
        return True

    def _round(self) -> None:
        with foreign(self.fault):
            self.rounds.round()
            if self.rounds.deliver(ROUND_SECONDS):
                while self.rounds.deliver(0):
                    pass
        if trouble := self._stumbled():  # a keeper goes on, but this site's adapter is on trial
            raise JimError(f"{self.fault}: {trouble}")

    def _troubles(self) -> tuple[Reason, Reason]:
        """Give why the batch system, and its history, gave no good answer when they were asked last."""
        return self.rounds.keeper.health.trouble, self.rounds.keeper.history.trouble

    def _stumbled(self) -> Reason:
        """Give what the batch system, or its history, has said last, if its adapter stumbled over it."""
        return next((each for each in self._troubles() if each.kind is Kind.STUMBLED), NO_REASON)

    def _progress(self) -> dict[State, int]:
        """Count the local jobs that the batch system has taken, by state."""
        counts: dict[State, int] = {}
        for job in self.store.grid_jobs():
            for state, count in self.store.counts(job.id).items():
                counts[state] = counts.get(state, 0) + count
        return {state: count for state, count in counts.items() if state not in UNSENT}

    @property
    def silent(self) -> bool:
        """Tell whether the batch system, or its history, did not answer when it was asked last."""
        return bool(self.rounds.keeper.health.failures or self.rounds.keeper.history.failures)

    def _answers(self) -> bool:
        """Tell whether it answers what it is asked, and has jobs of ours, unless it was given none."""
        waits = bool(self.store.grid_jobs(Step.SPLIT, Step.ACTIVE)) and self._progress().keys() <= FINAL
        return not (self.silent or waits)

    def finished(self, *jobs: int) -> bool:
        """Tell whether these grid jobs are finished."""
        try:
            return all(self.store.grid_job(job).step is Step.FINISHED for job in jobs)
        except UnknownJob:
            return False

    def in_vain(self, job: int) -> bool:
        """Tell whether the batch system says that some of a grid job can never start."""
        reasons, _ = self.store.reasons(job, (State.SUBMITTED,), REASONS)
        return any(each.reason.kind is Kind.NEVER_STARTS for each in reasons)

    def over(self, *jobs: int) -> bool:
        """Tell whether none of these grid jobs is worth waiting for."""
        return all(self.finished(job) or self.in_vain(job) for job in jobs)

    def queued(self, job: int) -> bool:
        """Tell whether nothing is the matter but that the batch system lets jobs wait."""
        counts = self.store.counts(job).keys()
        waits = bool(counts & PENDING) and counts <= PENDING | {State.COMPLETED, State.RUNNING}
        return waits and self._answers() and not self.in_vain(job)

    def local_job(self, job: int, n: int = 0) -> LocalJob:
        """Give a local job as it is known now."""
        return self.store.local_job(job, n)

    def starts(self, job: int) -> list[str]:
        """Give the starts of a grid job's payloads, as the payloads themselves noted them."""
        return sorted(each.name for each in self.ledger.iterdir() if each.name.startswith(f"{job}."))

    def story(self, job: int) -> str:
        """Tell where a grid job is, and why, each reason once."""
        try:
            counts = ", ".join(f"{count} {state.value}" for state, count in self.store.counts(job).items())
            reasons = self.reasons(job)
        except UnknownJob:
            return "it was never taken in"
        return "; ".join(filter(None, (counts, *_distinct([each.words for each in reasons]))))

    def reasons(self, job: int) -> list[Reason]:
        """Give why a grid job is where it is: its local jobs, what is being sent of it, and the batch system."""
        reasons = [each.reason for each in self.store.reasons(job, tuple(State), 2)[0]]
        reasons += map(whole_reason, self.store.submissions(SubmissionState.INTENDED, *LOST, grid=job))
        if self.store.counts(job).get(State.SUBMITTING):  # while it is sent again, only its last attempt tells why
            reasons += map(whole_reason, self.store.attempts(job)[-2:])
        return [*reasons, *self._troubles()]

    def batch_jobs(self, job: int) -> list[str]:
        """Name the batch jobs that a grid job was given."""
        return [each.batch_id for each in self.store.submissions(*GIVEN, grid=job) if each.batch_id]

    def completed(self, job: int) -> bool:
        """Tell whether all of a grid job completed."""
        counts = self.store.counts(job)
        return self.finished(job) and set(counts) == {State.COMPLETED}


def _distance(progress: dict[State, int]) -> int:
    """Tell how far jobs have come: a step for each that has begun, two for each that has ended."""
    return sum(count * (state not in PENDING) * (1 + (state in FINAL)) for state, count in progress.items())


def _distinct(reasons: list[str]) -> Iterator[str]:
    """Leave out what another reason says, too, but for its numbers."""
    told: list[str] = []
    for reason in sorted(reasons, key=len, reverse=True):
        words = NUMBERS.sub("", reason)
        if words and not any(words in each for each in told):
            told.append(words)
            yield reason
