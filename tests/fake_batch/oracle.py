"""What must hold: the store of JIM against the ledger of the batch system, on the way and in the end."""

from __future__ import annotations

import tarfile
from collections import Counter, defaultdict

from jim.model import State, Step
from jim.statusdb.rows import Attempt, LocalJob
from tests.fake_batch.gateway import ATTEMPTS, WALL, Gateway
from tests.fake_batch.node import TOUCH
from tests.stand_ins import INSTANCE

SUBMISSIONS = ("intended", "unknown", "refused", "recorded", "confirmed", "void", "ended")
STARTED = (State.RUNNING, State.SUSPENDED, State.COMPLETING, State.COMPLETED)
NEVER_RAN = ("lost:", "not accepted:", "refused by", "never sent")
# What may cost an attempt without any fault of its payload.
REAL_LOSSES = {"forgotten", "vanished", "cancelled", "put back", "denied", "declared dead", "limit"}


class Oracle:
    """Remembers what was final, and knows what really happened."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway, self.store = gateway, lambda: gateway.store
        self.finals: dict[tuple[int, int], State] = {}
        self.wished: set[tuple[int, int | None]] = set()  # cancels: grid job, and local job or all

    def happened(self) -> dict[tuple[str, int], set[str]]:
        """Give what the ledger says of each attempt."""
        events: dict[tuple[str, int], set[str]] = defaultdict(set)
        for entry in self.gateway.engine.ledger:
            events[entry.mark, entry.index] |= {entry.event, entry.note} if entry.note else {entry.event}
        return events

    def on_the_way(self) -> None:
        """Check what must hold at any moment."""
        events = self.happened()
        assert not list(self.gateway.engine.notes("misunderstood")), list(self.gateway.engine.notes("misunderstood"))
        refused = {entry.mark for entry in self.gateway.engine.notes("said refused")}
        alive = {run.piece for run in self.gateway.nodes.runs}
        going_on = {(*run.piece, run.facts["attempt"]) for run in self.gateway.nodes.runs}
        for grid in self.gateway.grids():
            attempts = {(each.n, each.attempt): each for each in self.gateway.store.attempts(grid)}
            for each in attempts.values():
                goes_on = (str(grid), str(each.n), str(each.attempt)) in going_on
                assert not (each.verdict and goes_on), f"it runs on: {each} {self.story(grid)}"
            for job in self.gateway.store.local_jobs(grid):
                assert self.finals.get((grid, job.n), job.state) is job.state, f"an end was taken back: {job}"
                if job.state.final:
                    self.finals[grid, job.n] = job.state
                    assert (str(grid), str(job.n)) not in alive, f"it runs on: {job} {self.story(grid)}"
                if job.state is State.NEW:
                    assert any(is_of(mark, grid) for mark in refused), f"given up for nothing: {job} {self.story(grid)}"
                if job.state in STARTED:
                    seen = events[key_of(attempts[job.n, job.attempt])]
                    assert "begun" in seen, f"{job} never began: {self.story(grid)}"
                    assert job.state is not State.COMPLETED or "exit 0" in seen, f"a wrong end: {job}"

    def in_the_end(self) -> None:
        """Check everything, once nothing is left to do."""
        self.on_the_way()
        starts = Counter((entry.mark, entry.index) for entry in self.gateway.engine.notes("started"))
        assert max(starts.values(), default=0) <= 1, f"started twice: {starts}"
        self._handed_over_once()
        events = self.happened()
        for grid in self.gateway.grids():
            attempts = self.gateway.store.attempts(grid)
            for job in self.gateway.store.local_jobs(grid):
                assert job.state.final, f"lost: {job}"
                mine = [each for each in attempts if each.n == job.n]
                for each in mine:
                    ran = "started" in events[key_of(each)] and self.gateway.batch.shared_work  # else nobody may know
                    assert not (ran and each.reason.startswith(NEVER_RAN)), f"it ran: {each} {self.story(grid)}"
                completed = [each for each in mine if each.verdict == "completed"]
                assert len(completed) == (job.state is State.COMPLETED), f"{job} {mine}"
                self._right_end(job, mine, events)
            self._tar(grid)
            states = Counter(job.state for job in self.gateway.store.local_jobs(grid))
            assert self.gateway.store.counts(grid) == states

    def _handed_over_once(self) -> None:
        """No submission is handed over again, whatever was said of it."""
        often = Counter(entry.mark for entry in self.gateway.engine.notes("handed over"))
        assert max(often.values(), default=0) <= 1, f"handed over again: {often}"

    def _right_end(self, job: LocalJob, attempts: list[Attempt], events: dict[tuple[str, int], set[str]]) -> None:
        if job.state is State.KILLED:
            wish = {(job.grid, None), (job.grid, job.n)} & self.wished
            assert wish, f"killed without a wish: {job} {self.story(job.grid)}"
        if job.state is not State.FAILED:
            return
        last = events[key_of(attempts[-1])]
        if "exit 1" in last or "said refused" in events[key_of(attempts[-1])[0], 0]:
            return
        if "limit" in last and (
            not self.gateway.batch.shared_work or self._lived_at_most(key_of(attempts[-1])) >= WALL
        ):
            return
        spent = [each for each in attempts if events[key_of(each)] & REAL_LOSSES or "signal 15" in events[key_of(each)]]
        assert len(spent) >= ATTEMPTS, f"failed without {ATTEMPTS} losses: {job} {self.story(job.grid)}"

    def _lived_at_most(self, key: tuple[str, int]) -> float:
        """Tell how long its payload lived, and how long a claim is taken for fresh."""
        at = {entry.event: entry.at for entry in self.gateway.engine.ledger if (entry.mark, entry.index) == key}
        return at.get("vanished", at["ended"]) - int(at["started"]) + 3 * TOUCH

    def _tar(self, grid: int) -> None:
        """Each completed piece is in the tar once, and is what its attempt wrote; a failed one as its last wrote it."""
        job = self.gateway.store.grid_job(grid)
        assert job.step is Step.FINISHED
        jobs = self.gateway.store.local_jobs(grid)
        owed = {f"{grid}.{each.n}/stdout" for each in jobs if each.state is State.COMPLETED}
        if not owed:
            return
        attempts = {f"{grid}.{each.n}/stdout": f"{each.n} {each.attempt}\n" for each in jobs}
        killed = {f"{grid}.{each.n}/stdout" for each in jobs if each.state is State.KILLED}
        with tarfile.open(job.result["tar"]) as tar:
            outputs = [name for name in tar.getnames() if name.endswith("/stdout")]
            assert len(outputs) == len(set(outputs)), f"twice in the tar: {outputs}"
            assert owed <= set(outputs), f"not in the tar: {owed - set(outputs)}"
            assert not killed & set(outputs), f"killed, and in the tar: {killed & set(outputs)}"
            for each in outputs:
                assert tar.extractfile(each).read().decode() == attempts[each], f"another attempt's output: {each}"

    def story(self, grid: int) -> str:
        """Tell what happened, for people."""
        engine, store = self.gateway.engine, self.gateway.store
        job = store.grid_job(grid)
        lines = [f"grid job {grid} at step {job.step.value}, wish {job.wish!r}, outcome {job.outcome!r}"]
        lines += [
            f"  local job {each.n} attempt {each.attempt}: s{each.k} index {each.idx} started {bool(each.started)} "
            f"{each.verdict!r} {each.reason!r}"
            for each in store.attempts(grid)
        ]
        lines += [
            f"  journal {each.n}: {each.was} > {each.now} [{each.witness}] {each.reason}"
            for each in store.journal(grid)
        ]
        lines += [
            f"  submission {each.k}: {each.state} {each.batch_id} {each.reason}"
            for each in store.submissions(*SUBMISSIONS)
        ]
        lines += [
            f"  task {each.job.id}.{each.index} {each.mark}: {each.phase.value} {each.why}"
            for each in engine.tasks.values()
        ]
        lines += [
            f"  ledger {each.at:9.1f} {each.event} {each.mark} {each.id}.{each.index} {each.note}"
            for each in engine.ledger
        ]
        return "\n" + "\n".join(lines) + "\n"


def is_of(mark: str, grid: int) -> bool:
    """Tell whether a mark is one of a grid job's submissions."""
    return mark.startswith(f"jim-{INSTANCE}-{grid}-")


def key_of(attempt: Attempt) -> tuple[str, int]:
    """Name an attempt as the batch system knows it."""
    return f"jim-{INSTANCE}-{attempt.grid}-{attempt.k}", attempt.idx
