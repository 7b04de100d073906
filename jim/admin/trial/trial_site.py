"""A temporary state directory on the site's real batch system; the test makes the rounds of its keeper itself."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from jim import request
from jim.admin.finding import WARNING, Finding
from jim.doors import inbox
from jim.errors import JimError, UnknownJob
from jim.jobs import GridJob, LocalJob, whole_reason
from jim.keeper.opening import open_keeper
from jim.keeper.queue.fulfilling import unsaid
from jim.keeper.queue.looking_up import LOST
from jim.model import FINAL, NO_REASON, Kind, Reason, State, Step, SubmissionState, Verb
from jim.run_grid_job import rounds
from jim.site.file import Site, make_state
from jim.trust.plugins import foreign

PREFIX = "site-test-"
CLEANING_SECONDS = 60.0
STUMBLING_SECONDS = 10.0  # the limit if the adapter cannot read how jobs ended: waiting longer would not help
ROUND_SECONDS = 0.1
TELL_SECONDS = 10.0  # between two lines that say what is waited for
PATIENCE_SECONDS = 180.0  # for a batch system that gives no good answer
COMMAND_SECONDS = 60.0  # for commands with this time limit
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
# The parts in which equal reasons of two attempts differ: duration, attempt, mark, directory.
NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def prefix(site: Site) -> str:
    """Return the first part of a trial site's name, with its batch system: its batch ids are valid only there."""
    return f"{PREFIX}{site.batch.system}-"


def trial_of(site: Site, place: Path) -> Site:
    """Return the site of a test in this state directory; its work directory is inside the account's own.

    On a site of several accounts, no account may write beside its own work directory.
    """
    shared = str(site.work) if site.site.work else ""
    return site._replace(state=place, managed=False, site=site.site._replace(work=shared))


class TrialSite:
    """The grid jobs of a test, from submission to end; it leaves nothing behind."""

    def __init__(
        self,
        site: Site,
        heed: Callable[[], None] = lambda: None,
        place: Path | None = None,
        waits: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Make a trial site or, to clean up, open an existing one. `heed` raises an error when the test must end.

        `waits` tells people what is waited for.
        """
        self._heed, self._waits = heed, waits
        self.remains: list[Finding] = []  # what could not be cleaned up
        self.fault = f"the adapter of {site.batch.system}, or JIM itself, has a fault"
        with ExitStack() as undoing:
            if place is None:
                place = Path(tempfile.mkdtemp(prefix=prefix(site), dir=site.state))
                undoing.callback(self._remove)
            self.site = trial_of(site, place)
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
        """Cancel unfinished jobs, wait for their ends, and remove every file."""
        began, limit = time.monotonic(), CLEANING_SECONDS
        tell = self._now_and_then(began)
        while not self._all_cancelled() and time.monotonic() < began + limit:
            tell("for the ends of what it has cancelled")
            with suppress(JimError, OSError):  # another finding describes the trouble with the batch system
                self._round()
            in_vain = self._stumbled() and not unsaid(self.rounds.keeper)
            limit = min(CLEANING_SECONDS, STUMBLING_SECONDS) if in_vain else CLEANING_SECONDS
        while not self.rounds.keeper.workers.idle():  # a running command would make its files again
            tell("for a command of the batch system that has not returned")
            with suppress(JimError, OSError), foreign(self.fault):
                self.rounds.deliver(ROUND_SECONDS)
        with suppress(JimError):
            self.remains += self._remains(limit)
        self.rounds.close()
        self._remove()

    def _now_and_then(self, began: float) -> Callable[[str], None]:
        """Return what tells what is waited for, unless it has just told so."""
        last = began

        def tell(what: str) -> None:
            nonlocal last
            if (now := time.monotonic()) > last + TELL_SECONDS:
                self._waits(f"{what}, for {now - began:.0f} s now")
                last = now

        return tell

    def _all_cancelled(self) -> bool:
        """Cancel all that has not ended, also newly accepted grid jobs; tell whether all has ended."""
        unfinished = self._unfinished()
        for job in unfinished:
            if job.wish != Verb.CANCEL:
                with suppress(JimError, OSError):
                    inbox.wish(self.site.state, Verb.CANCEL, str(job.id))
        return not unfinished and not any((self.site.state / "inbox").glob("request-*"))

    def _unfinished(self) -> list[GridJob]:
        return self.store.grid_jobs(*(step for step in Step if step is not Step.FINISHED))

    def _remains(self, seconds: float) -> Iterator[Finding]:
        """Return the batch jobs that may be left, with the commands that end or find them."""
        ids = [(each.batch_id, each.idx) for each in self.store.live() if each.batch_id]
        lost = [each for job in self._unfinished() for each in self.store.submissions(*LOST, grid=job.id)]
        marks = [each.mark for each in lost]
        with foreign(self.fault):
            end = [f"end them: {shlex.join(self.adapter.cancel_command(ids))}"] if ids else []
            find = [f"find them: {shlex.join(self.adapter.find_command(mark))}" for mark in marks]
        if end or find:
            said = f"after {seconds:.0f} s these may still exist: "
            said += ", ".join([*(f"batch job {id_}, index {index}" for id_, index in ids), *marks])
            yield Finding("cleaning", WARNING, said, "; ".join((*end, *find)))

    def _remove(self) -> None:
        """Remove every file; rename directories first, so that nothing new appears in them."""
        moved = []
        for place in dict.fromkeys((self.site.work, self.site.state)):
            if place.exists() and (place == self.site.state or place.parent != self.site.state):
                moved.append(place.rename(place.with_name(f".{place.name}")))
        for place in moved:
            shutil.rmtree(place, ignore_errors=True)

    @contextmanager
    def preceded(self, *words: str) -> Iterator[None]:
        """Put a command before every batch command; its arguments are the verb and the real command."""
        real = self.adapter.commands
        self.adapter.commands = {verb: (*words, verb, *each) for verb, each in real.items()}
        try:
            yield
        finally:
            self.adapter.commands = real

    # Submissions

    def submit(self, name: str, script: str, **attributes: Any) -> int:
        """Submit a shell script as one local job."""
        shell = {"job_type": "executable", "executable": "/bin/sh", "arguments": ["-c", self._noted(script)]}
        return self._deposit(name, shell | attributes)

    def submit_many(self, name: str, script: str, pieces: int, **attributes: Any) -> int:
        """Submit a shell script as this many local jobs; $1 is the number of each."""
        sets = [["-c", self._noted(script), "sh", str(n)] for n in range(pieces)]
        own = {"job_type": "parametric", "executable": "/bin/sh", "argument_sets": sets}
        return self._deposit(name, own | attributes)

    def cancel(self, job: int) -> None:
        """Cancel a grid job."""
        inbox.wish(self.site.state, Verb.CANCEL, str(job))

    def _deposit(self, name: str, attributes: dict[str, Any]) -> int:
        _, checked = request.check(attributes | {"environment": {"LEDGER": str(self.ledger)}})
        return inbox.deposit(self.site.state, name, checked | {"key": name})

    def _noted(self, script: str) -> str:
        """Make a script leave a file at each start: grid job, local job, attempt, process."""
        return f': >"$LEDGER/$JIM_GRID_JOB.$JIM_LOCAL_JOB.$JIM_ATTEMPT.$(uname -n).$$"; {script}'

    # Results

    def until(self, true: Callable[[], bool], limit: float) -> bool:
        """Make rounds until a condition holds; tell whether it did before there was no progress for so many seconds.

        Jobs may wait long in a busy queue; a batch system without a good answer gets less time.
        """
        limit = max(limit, self.patience)
        began = moved = heard = progress_at = time.monotonic()
        progress = self._progress()
        furthest = _distance(progress)
        while not true():
            self._heed()
            self._round()
            was, progress, now = progress, self._progress(), time.monotonic()
            heard = now if progress != was or self._answers() else heard
            # Not every change is progress: a job that is lost and submitted again and again would never end.
            if _distance(progress) > furthest:
                moved, furthest = now, _distance(progress)
            if now > min(moved + limit, heard + self.patience):
                return False
            if now > progress_at + TELL_SECONDS:
                self._waits(self._waiting(now - began))
                progress_at = now
        return True

    def _waiting(self, seconds: float) -> str:
        """Return what is waited for: the batch system's answer, or local jobs by their states, and why it says so."""
        if self.silent:
            trouble = next((each.words for each in self._troubles() if each.words), "none yet")
            return f"for an answer of the batch system, for {seconds:.0f} s now: {trouble}"
        counts, words = Counter[State](), dict[str, None]()
        for job in self._unfinished():
            counts.update({state: count for state, count in self.store.counts(job.id).items() if not state.final})
            words |= dict.fromkeys(each.words for each in self.store.queue_words.of(job.id))
        left = ", ".join(f"{count:,} {state.value}" for state, count in counts.items())
        why = f"; the batch system says: {', '.join(words)}" if words else ""
        return f"for local jobs ({left or 'all have ended'}), for {seconds:.0f} s now{why}"

    def _round(self) -> None:
        with foreign(self.fault):
            self.rounds.round()
            if self.rounds.deliver(ROUND_SECONDS):
                while self.rounds.deliver(0):
                    pass
        if trouble := self._stumbled():  # a keeper would continue, but this test is about the site's adapter
            raise JimError(f"{self.fault}: {trouble}")

    def _troubles(self) -> tuple[Reason, Reason]:
        """Return why the batch system and its history gave no good answer to the last query."""
        return self.rounds.keeper.health.trouble, self.rounds.keeper.history.trouble

    def _stumbled(self) -> Reason:
        """Return the last answer that the adapter could not read, of the batch system or its history."""
        return next((each for each in self._troubles() if each.kind is Kind.STUMBLED), NO_REASON)

    def _progress(self) -> dict[State, int]:
        """Count the local jobs that the batch system has accepted, by state."""
        counts: dict[State, int] = {}
        for job in self.store.grid_jobs():
            for state, count in self.store.counts(job.id).items():
                counts[state] = counts.get(state, 0) + count
        return {state: count for state, count in counts.items() if state not in UNSENT}

    @property
    def silent(self) -> bool:
        """Tell whether the batch system or its history did not answer the last query."""
        return bool(self.rounds.keeper.health.failures or self.rounds.keeper.history.failures)

    def _answers(self) -> bool:
        """Tell whether the batch system answers and has listed this test's jobs, if it was given any."""
        waits = bool(self.store.grid_jobs(Step.SPLIT, Step.ACTIVE)) and self._progress().keys() <= FINAL
        return not (self.silent or waits)

    def finished(self, *jobs: int) -> bool:
        """Tell whether these grid jobs have finished."""
        try:
            return all(self.store.grid_job(job).step is Step.FINISHED for job in jobs)
        except UnknownJob:
            return False

    def in_vain(self, job: int) -> bool:
        """Tell whether the batch system says that a part of a grid job can never start."""
        reasons, _ = self.store.seen.reasons(job, (State.SUBMITTED,), REASONS)
        return any(each.reason.kind is Kind.NEVER_STARTS for each in reasons)

    def over(self, *jobs: int) -> bool:
        """Tell whether waiting for these grid jobs makes no more sense."""
        return all(self.finished(job) or self.in_vain(job) for job in jobs)

    def queued(self, job: int) -> bool:
        """Tell whether the jobs only wait for their turn in the batch system."""
        counts = self.store.counts(job).keys()
        waits = bool(counts & PENDING) and counts <= PENDING | {State.COMPLETED, State.RUNNING}
        return waits and self._answers() and not self.in_vain(job)

    def local_job(self, job: int, n: int = 0) -> LocalJob:
        """Return a local job in its present state."""
        return self.store.local_job(job, n)

    def starts(self, job: int) -> list[str]:
        """Return the starts of a grid job's payloads, from the payloads' own notes."""
        return sorted(each.name for each in self.ledger.iterdir() if each.name.startswith(f"{job}."))

    def story(self, job: int) -> str:
        """Describe the state of a grid job and its reasons, each once."""
        try:
            counts = ", ".join(f"{count} {state.value}" for state, count in self.store.counts(job).items())
            reasons = self.reasons(job)
        except UnknownJob:
            return "JIM has never accepted it"
        return "; ".join(filter(None, (counts, *_distinct([each.words for each in reasons]))))

    def reasons(self, job: int) -> list[Reason]:
        """Return the reasons for the state of a grid job: of local jobs, submissions and the batch system."""
        reasons = [each.reason for each in self.store.seen.reasons(job, tuple(State), 2)[0]]
        reasons += map(whole_reason, self.store.submissions(SubmissionState.INTENDED, *LOST, grid=job))
        if self.store.counts(job).get(State.SUBMITTING):  # during a new attempt, only the last attempt has a reason
            reasons += map(whole_reason, self.store.attempts(job)[-2:])
        return [*reasons, *self._troubles()]

    def batch_jobs(self, job: int) -> list[str]:
        """Return the ids of the batch jobs of a grid job."""
        return [each.batch_id for each in self.store.submissions(*GIVEN, grid=job) if each.batch_id]

    def completed(self, job: int) -> bool:
        """Tell whether all local jobs of a grid job completed."""
        counts = self.store.counts(job)
        return self.finished(job) and set(counts) == {State.COMPLETED}


def _distance(progress: dict[State, int]) -> int:
    """Return a measure of progress: one step for each started job, two for each ended one."""
    return sum(count * (state not in PENDING) * (1 + (state in FINAL)) for state, count in progress.items())


def _distinct(reasons: list[str]) -> Iterator[str]:
    """Leave out reasons that differ from another one only in their numbers."""
    told: list[str] = []
    for reason in sorted(reasons, key=len, reverse=True):
        words = NUMBERS.sub("", reason)
        if words and not any(words in each for each in told):
            told.append(words)
            yield reason
