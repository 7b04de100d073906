"""Random schedules: lies, kills at any stored statement or file operation, restarts; then an honest end.

`run(seed)` is deterministic for its seed, so a failure is seen again with the same number.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from jim.model import State
from tests.stand_ins import World

LIES = ("empty", "garbage", "lost before", "lost after", "down")
VERBS = ("submit", "query", "history", "find", "cancel", "ping")


class Killed(BaseException):
    """The keeper is no more."""


class Kill:
    """Ends the keeper at the n-th thing it does to the disk; counts them when n is 0."""

    def __init__(self, monkeypatch) -> None:
        self.left, self.armed = 0, False
        for where, name in ((os, "fsync"), (os, "link"), (Path, "rename"), (Path, "unlink"), (Path, "mkdir")):
            monkeypatch.setattr(where, name, self.counted(getattr(where, name)))

    def counted(self, call):
        def counting(*arguments, **named):
            self.tick()
            return call(*arguments, **named)

        return counting

    def tick(self) -> None:
        if self.left and self.armed:
            self.left -= 1
            if not self.left:
                raise Killed

    def wrap(self, world: World) -> None:
        world.store.db = Watched(world.store.db, self)


class Watched:
    """A database connection whose every statement may be the last."""

    def __init__(self, db, kill: Kill) -> None:
        self._db, self._kill = db, kill

    def __getattr__(self, name):
        return getattr(self._db, name)

    def execute(self, *arguments):
        self._kill.tick()
        return self._db.execute(*arguments)

    def executemany(self, *arguments):
        self._kill.tick()
        return self._db.executemany(*arguments)


class Schedule:
    """One random history of a grid job."""

    def __init__(self, seed: int, place: Path, monkeypatch) -> None:
        self.random = random.Random(seed)
        self.world = World(place, monkeypatch)
        self.world.batch.end_is_death = self.random.random() < 0.7
        self.kill = Kill(monkeypatch)
        self.kill.wrap(self.world)
        self.pieces = self.random.randint(1, 5)
        self.alive: dict[tuple[int, int], tuple[str, int]] = {}  # piece → task whose payload is alive
        self.cancelled = False

    def run(self) -> None:
        self.grid = self.world.submit(self.pieces)
        for _ in range(self.random.randint(30, 200)):
            self.random.choice(
                [self.round] * 8
                + [self.lie, self.doom, self.start, self.start, self.finish]
                + [self.requeue, self.vanish, self.hide, self.crash, self.restart]
            )()
            if self.random.random() < 0.002 and not self.cancelled:
                self.cancelled = True
                self.world.wish("cancel", str(self.grid))
        self.end()
        self.arrive_late()
        self.check()

    # What may happen

    def round(self, seconds: float | None = None) -> None:
        self.kill.armed = True
        try:
            self.world.go(1, self.random.choice((0.1, 1.0, 5.0)) if seconds is None else seconds)
        except Killed:
            self.restart()
        finally:
            self.kill.armed = False

    def doom(self) -> None:
        self.kill.left = self.random.randint(1, 60)

    def restart(self) -> None:
        self.kill.left = 0
        self.world.store.db = getattr(self.world.store.db, "_db", self.world.store.db)
        self.world.restart()
        self.kill.wrap(self.world)

    def lie(self) -> None:
        self.world.batch.lies += [f"@{self.random.choice(VERBS)}", self.random.choice(LIES)]

    def piece(self, key: tuple[str, int]) -> tuple[int, int]:
        task = self.world.batch.tasks[key]
        lines = {word: value for _, word, value in self.world.batch._job_lines(task)}
        return self.grid, int(lines["n"])

    def pick(self, *states: State):
        keys = [key for key, task in self.world.batch.tasks.items() if task.state in states]
        return self.random.choice(keys) if keys else None

    def start(self, key=None) -> bool:
        key = key or self.pick(State.SUBMITTED)
        if key is None or not self.world.batch.start(*key):
            return False
        piece = self.piece(key)
        assert piece not in self.alive, f"two attempts of {piece} alive: {self.alive[piece]} and {key}"
        self.alive[piece] = key
        return True

    def finish(self, key=None, code: int | None = None) -> None:
        key = key or self.pick(State.RUNNING)
        if key and self.alive.get(self.piece(key)) == key:
            code = self.random.choice((0, 0, 0, 1)) if code is None else code
            self.world.batch.finish(*key, code=code, spool=self.random.random() < 0.8)
            del self.alive[self.piece(key)]

    def requeue(self) -> None:
        """Start a second wrapper of a task that runs or has ended."""
        key = self.pick(State.RUNNING, State.COMPLETED, State.FAILED)
        if key:
            task = self.world.batch.tasks[key]
            before = task.state, task.code
            if not self.start(key):
                task.state, task.code = before

    def vanish(self) -> None:
        """End a task without a trace, its payload with it."""
        key = self.pick(State.RUNNING, State.SUBMITTED)
        if key:
            if self.alive.get(self.piece(key)) == key:
                del self.alive[self.piece(key)]
            self.world.batch.kill(*key)

    def hide(self) -> None:
        key = self.pick(State.SUBMITTED, State.RUNNING)
        if key:
            self.world.batch.tasks[key].hidden = self.random.randint(1, 8)

    def crash(self) -> None:
        """Let the batch system forget a job that has not started, and reuse its id."""
        batch = self.world.batch
        last = str(batch.next_id)
        tasks = [task for key, task in batch.tasks.items() if key[0] == last]
        if tasks and all(task.state is State.SUBMITTED and not task.nonce for task in tasks):
            for index in range(1, len(tasks) + 1):
                del batch.tasks[last, index]
            batch.next_id -= 1

    # The honest end

    def end(self) -> None:
        self.world.batch.lies.clear()
        self.restart()
        for _ in range(600):
            for key, task in list(self.world.batch.tasks.items()):
                if task.state is State.RUNNING and self.alive.get(self.piece(key)) != key:
                    self.world.batch.kill(*key)
                elif task.state is State.RUNNING:
                    self.finish(key, 0)
                elif task.state is State.SUBMITTED:
                    self.start(key)
            self.round(seconds=5.0)
            if self.world.finished(self.grid):
                return
        raise AssertionError(f"never finished: {self.world.store.journal(self.grid)[-15:]}")

    def arrive_late(self) -> None:
        """Start whatever the batch system still has: nothing of a finished grid job may run."""
        for key, task in self.world.batch.tasks.items():
            if not task.state.final:
                assert self.world.batch.start(*key) is False, f"{key} ran after the end"

    def check(self) -> None:
        store, batch = self.world.store, self.world.batch
        assert len(set(batch.ledger)) == len(batch.ledger), "an attempt started twice"
        assert len(set(batch.accepted)) == len(batch.accepted), "a submission was handed over twice"
        jobs = store.local_jobs(self.grid)
        assert len(jobs) == (self.pieces if jobs or not self.cancelled else 0)
        started = set(batch.ledger)
        for job in jobs:
            attempts = store.attempts(self.grid, n=job.n)
            completed = [each for each in attempts if each.verdict == "completed"]
            assert job.state.final
            for each in attempts:
                ran = (f"jim-cafe0001-{self.grid}-{each.k}", each.idx) in started
                assert ran == bool(each.started), f"an attempt ran that was taken for lost, or the reverse: {each}"
            assert len(completed) == (job.state is State.COMPLETED), f"{job} {attempts}"
            for each in completed:
                mark = f"jim-cafe0001-{self.grid}-{each.k}"
                assert (mark, each.idx) in started, "completed without ever starting"
                record = self.world.site.work / f"{self.grid}/s{each.k}/exit.{each.idx}"
                assert "\ncode 0\n" in record.read_text(), "a wrong end"
            if job.state is State.KILLED:
                assert self.cancelled
        counts = {state: sum(job.state is state for job in jobs) for state in {job.state for job in jobs}}
        assert store.counts(self.grid) == counts
