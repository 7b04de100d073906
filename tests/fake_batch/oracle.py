"""What must hold: the store of JIM against the ledger of the batch system, on the way and in the end."""

from __future__ import annotations

from collections import Counter, defaultdict

from jim.clock import age_seconds
from jim.jobs import Attempt, GridJob, Journal, LocalJob
from jim.model import FINAL, State, Step, Witness
from jim.statusdb.grid.restored_submissions import AFTER_THE_BACKUP
from tests.fake_batch.accounts import accounted
from tests.fake_batch.gateway import ATTEMPTS, KEPT_DAYS, WALL, Gateway
from tests.fake_batch.node import HOLE, TOUCH
from tests.fake_batch.tars import TarOf, is_forced
from tests.support.statuses import may_become, seen_as

SUBMISSIONS = ("intended", "unknown", "refused", "recorded", "confirmed", "void", "ended")
STARTED = (State.RUNNING, State.SUSPENDED, State.COMPLETING, State.COMPLETED)
COMPLETED = (State.COMPLETED, State.COMPLETED_FROZEN)
OPENED_BY = ("retry", "forced", "split again")  # what people's wishes say of a local job that had ended
NEVER_RAN = ("lost:", "left ", "not begun:", "not accepted:", "refused by", "never sent")
# What may cost an attempt without any fault of its payload.
REAL_LOSSES = {"forgotten", "vanished", "cancelled", "put back", "denied", "declared dead", "limit"}


class Oracle:
    """Remembers what was final, and knows what really happened."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway, self.store = gateway, lambda: gateway.store
        self.finals: dict[tuple[int, int], State] = {}
        self.wished: set[tuple[int, int | None]] = set()  # cancels: grid job, and local job or all
        self.known: dict[int, GridJob] = {}  # as of the last look
        self.aged: set[int] = set()  # grid jobs whose time was over
        self.removed: set[str] = set()  # the directories of all that ever were
        self.torn: set[str] = set()  # directories that were removed, of grid jobs that a restore has brought back

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
        self._see_who_is_gone()
        for grid in self.gateway.grids():
            self._one_on_the_way(grid, events)

    def _see_who_is_gone(self) -> None:
        """Nothing is removed but what had finished, and whose time was over."""
        there, now = {job.id: job for job in self.gateway.store.grid_jobs()}, self.gateway.clock.utc()
        for number in self.known.keys() - there.keys():
            job = self.known[number]
            over = job.step is Step.FINISHED and age_seconds(job.updated, now) > KEPT_DAYS * 86_400
            assert over, f"removed, though its time was not over: {job}"
            self.aged.add(number)
            self.removed.add(job.place)
        self.known = there

    def _one_on_the_way(self, grid: int, events: dict[tuple[str, int], set[str]]) -> None:
        place, store = self.gateway.store.grid_job(grid).place, self.gateway.store
        runs = [run for run in self.gateway.nodes.runs if run.piece[0] == place and not self.gateway.told_to_end(run)]
        alive, going_on = {run.facts["n"] for run in runs}, {(run.facts["n"], run.facts["attempt"]) for run in runs}
        attempts = {(each.n, each.attempt): each for each in store.attempts(grid)}
        for each in attempts.values():
            goes_on = (str(each.n), str(each.attempt)) in going_on
            assert not (each.verdict and goes_on), f"it runs on: {each} {self.story(grid)}"
        for job in store.local_jobs(grid):
            if self.finals.get((grid, job.n), job.state) is not job.state:
                self._opened_again(job)
            if job.state.final:
                self.finals[grid, job.n] = job.state
                assert str(job.n) not in alive, f"it runs on: {job} {self.story(grid)}"
            else:
                self.finals.pop((grid, job.n), None)
            if job.state is State.NEW and place not in self.torn:
                assert self._was_refused(grid), f"given up for nothing: {job} {self.story(grid)}"
            if job.state in STARTED and not is_forced(job):
                seen = events[self.key_of(attempts[job.n, job.attempt])]
                assert "begun" in seen, f"{job} never began: {self.story(grid)}"
                assert job.state is not State.COMPLETED or "exit 0" in seen, f"a wrong end: {job}"

    def _was_refused(self, grid: int) -> bool:
        refused = {entry.mark for entry in self.gateway.engine.notes("said refused")}
        return any(each.mark in refused for each in self.gateway.store.submissions(*SUBMISSIONS, grid=grid))

    def _opened_again(self, job: LocalJob) -> None:
        """Only people take an end back, a restore that has found a later attempt, and who finds the host to blame."""
        ends = [line for line in self.lines(job.grid, job.n) if line.was and State(line.was) in FINAL]
        for line in ends:
            by_people = line.witness == Witness.USER.value and line.reason.startswith(OPENED_BY)
            found = self.gateway.restores and line.reason == AFTER_THE_BACKUP
            eaten = line.witness == Witness.KEEPER.value and f"does not count: {HOLE} is a black hole" in line.reason
            assert by_people or found or eaten, f"an end was taken back: {job} {self.story(job.grid)}"
        assert ends, f"an end was taken back: {job} {self.story(job.grid)}"

    def lines(self, grid: int, n: int | None = None) -> list[Journal]:
        """Give all lines of a journal."""
        return self.gateway.store.journals.of(grid, n, 1_000_000)

    def in_the_end(self) -> None:
        """Check everything, once nothing is left to do."""
        self.on_the_way()
        starts = Counter((entry.mark, entry.index) for entry in self.gateway.engine.notes("started"))
        assert max(starts.values(), default=0) <= 1, f"started twice: {starts}"
        self._handed_over_once()
        events = self.happened()
        for grid in self.gateway.grids():
            self.one_in_the_end(grid, events)
        accounted(self.gateway)
        assert set(self.gateway.store.derived.wrong().values()) == {0}, (
            "what is derived differs from what it is derived from"
        )

    def one_in_the_end(self, grid: int, events: dict[tuple[str, int], set[str]]) -> None:
        """Check a grid job that is finished."""
        attempts = self.gateway.store.attempts(grid)
        torn = self.gateway.store.grid_job(grid).place in self.torn
        self._along_the_graph(grid)
        for job in self.gateway.store.local_jobs(grid):
            assert job.state.final, f"lost: {job}"
            mine = [each for each in attempts if each.n == job.n]
            for each in [] if torn else mine:
                ran = "started" in events[self.key_of(each)] and self.gateway.batch.shared_work  # else nobody may know
                assert not (ran and each.reason.startswith(NEVER_RAN)), f"it ran: {each} {self.story(grid)}"
            opened, forced = self._since(job)
            mine = [each for each in mine if each.attempt > opened]
            if forced or torn:
                continue
            completed = [each for each in mine if each.verdict == "completed"]
            assert len(completed) == (job.state in COMPLETED), f"{job} {mine} {self.story(grid)}"
            self._right_end(job, mine, events)
        assert self.gateway.store.grid_job(grid).step is Step.FINISHED
        TarOf(self.gateway, grid, torn=torn).judge()
        states = Counter(job.state for job in self.gateway.store.local_jobs(grid))
        assert self.gateway.store.counts(grid) == states

    def _along_the_graph(self, grid: int) -> None:
        """People know what a status may become; beside that, JIM ends what is being submitted, or was not yet."""
        for line in self.lines(grid):
            own = (line.was, line.now) in (("submitting", "killed"), ("waiting", "new"), ("new", "waiting"))
            if line.was and line.n is not None and not own:
                seen = [seen_as(State(each)) for each in (line.was, line.now)]
                assert may_become(*seen), f"nobody knows that {seen}: {line} {self.story(grid)}"

    def _since(self, job: LocalJob) -> tuple[int, bool]:
        """Tell after which attempt a person had it tried anew, and whether one has said since what it shall be."""
        opened, forced = 0, False
        for line in self.lines(job.grid, job.n):
            if line.was and line.witness == Witness.USER.value:
                if line.reason == "retry":
                    opened, forced = line.attempt or 0, False
                forced |= line.reason.startswith("forced")
        return opened, forced

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
        key = self.key_of(attempts[-1])
        if "exit 1" in events[key] or "said refused" in events[key[0], 0]:
            return
        sent = self.gateway.store.submission(job.grid, attempts[-1].k)
        if "limit" in events[key] and (
            not self.gateway.batch.shared_work or self._lived_at_most(key) >= (sent.wall_seconds or WALL)
        ):
            return
        seen = [events[self.key_of(each)] for each in attempts]
        spent = [each for each in seen if each & REAL_LOSSES or "signal 15" in each]
        assert len(spent) >= ATTEMPTS, f"failed without {ATTEMPTS} losses: {job} {self.story(job.grid)}"

    def _lived_at_most(self, key: tuple[str, int]) -> float:
        """Tell how long its payload lived, and how long a claim is taken for fresh."""
        at = {entry.event: entry.at for entry in self.gateway.engine.ledger if (entry.mark, entry.index) == key}
        return at.get("vanished", at["ended"]) - int(at["started"]) + 3 * TOUCH

    def key_of(self, attempt: Attempt) -> tuple[str, int]:
        """Name an attempt as the batch system knows it."""
        return self.gateway.store.submission(attempt.grid, attempt.k).mark, attempt.idx

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
            for each in store.journals.of(grid)
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
