"""The daemon: starts tasks, watches them, ends them, and kills processes that outlive them.

The daemon decides from the queue. In memory it keeps only observations that are not yet recorded, and the main
processes; after its death the next daemon finds these again.
"""

from __future__ import annotations

import errno
import logging
import os
import select
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from jim.clock import Clock
from jim.command import scrubbed_environment, spawn
from jim.localbatch import processes
from jim.localbatch.area import Lock, connect
from jim.localbatch.belongings import Belongings
from jim.localbatch.books import Books, Exit, Task
from jim.localbatch.queue import Key

MB = 1024 * 1024
logger = logging.getLogger(__name__)
LOOK_SECONDS = 0.1  # between two looks for changes by the verbs
# A birth waits so long for other records: each transaction takes disk time, for which free slots wait. A daemon that
# finds a task without a birth looks for its mark.
BIRTH_SECONDS = 0.05
AGAIN_SECONDS = 1.0  # after an error of the queue, and between two KILLs
MEMORY_SECONDS = 0.5  # between two looks how much memory tasks use, if they have asked for some
DEFER_SECONDS = 5.0  # after the machine failed to make a process
SWEEP_SHARE = 20  # sweeps take at most this fraction (1/20) of a processor,
LEAST_SWEEP_SECONDS, MOST_SWEEP_SECONDS = 0.05, 1.0  # within these bounds
# The machine lacks something and the script is not at fault: a later try may work.
SHORTAGE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


class Child(Protocol):
    """A started process."""

    pid: int
    returncode: Any


class Daemon:
    """One area's daemon, from its start to its end."""

    def __init__(self, books: Books, start: Callable[..., Child] = spawn) -> None:
        self.books, self.clock, self.start = books, books.clock, start
        self.identity, self.boot = books.settings().identity, books.clock.boot_id()
        self.mains: dict[Key, processes.Process] = {}  # of the tasks that have not ended
        self.children: dict[int, tuple[Key, Child]] = {}  # the ones among them that we reap
        self.ending = books.ending()
        self.belongings = Belongings(books, self.identity)
        self.belongings.inherit(self.ending)
        self.struck: set[processes.Process] = set()  # unattributed processes of the last sweep
        # Seen, and not yet recorded:
        self.births: dict[Key, tuple[int, int]] = {}
        self.exits: dict[Key, Exit] = {}
        self.deferred: dict[Key, str] = {}
        # Seconds since boot:
        self.next_memory = 0.0  # infinite if no task has a limit
        self.due = self.next_sweep = self.next_start = self.active = self.births_due = self.clock.boot()

    # Its life

    def recover(self) -> None:
        """Find the tasks of an earlier daemon again; a missing task has ended, and is never started again."""
        for task in self.books.started():
            found = self._find_again(task)
            if isinstance(found, Exit):
                self.exits[task.key] = found
                self.belongings.inherit([task.key])
            else:
                self.mains[task.key] = found
                self.belongings.inherit([task.key], found)

    def _find_again(self, task: Task) -> processes.Process | Exit:
        if task.boot != self.boot:
            return Exit(reason="reboot")
        if task.pid is not None and task.birth is not None:
            return processes.the_same(task.pid, task.birth) or Exit(reason="ended while the daemon was down")
        found = processes.eldest(self.identity, task.key)
        if found is None:
            return Exit(reason="daemon died while starting it")
        self.births[task.key] = found[0].pid, found[1]
        return found[0]

    def work(self, wakeup: int, is_at_its_place: Callable[[], bool] = lambda: True) -> bool:
        """Serve until the area was idle for its idle time. Tell whether it still is at its place.

        Where a copy took its place, verbs start another daemon there, and each would kill the payloads of the other.
        """
        idle = self.books.settings().idle
        self.active, failing = self.clock.boot(), False
        woken = select.poll()  # `select.select` knows no descriptors above 1,023
        woken.register(wakeup, select.POLLIN)
        while True:
            woken.poll(1000 * self._pause())
            with suppress(BlockingIOError):
                os.read(wakeup, 4096)
            if not is_at_its_place():
                return False
            try:
                self._look()
                failing = False
            except sqlite3.Error as error:  # disk full or locked: observations stay in memory until recorded
                if not failing:
                    logger.error("cannot record, trying again every %g s: %s", AGAIN_SECONDS, error)
                failing = True
                time.sleep(AGAIN_SECONDS)
            if self.clock.boot() > self.active + idle:
                return True

    def _look(self) -> None:
        self.reap()
        if self.pressing():
            self.turn()
        if self.mains or self.ending or self.exits:
            self.active = self.clock.boot()

    def _pause(self) -> float:
        if self.exits or self.deferred:
            return 0
        moments = [self.due, *([self.next_sweep] if self.ending else []), *([self.births_due] if self.births else [])]
        return max(0.0, min(LOOK_SECONDS, min(moments) - self.clock.boot()))

    def pressing(self) -> bool:
        """Tell whether a turn has anything to do."""
        now = self.clock.boot()
        seen = self.exits or self.deferred
        due = now >= self.due or (self.ending and now >= self.next_sweep) or (self.births and now >= self.births_due)
        return self.books.changed() or bool(seen or due)

    def turn(self) -> None:
        """Record observations, fulfil wishes and limits, start tasks in free slots, then forget old jobs."""
        now = self.clock.boot()
        clean = self.sweep() if (self.ending or self.exits) and now >= self.next_sweep else set()
        with self.books.transaction():
            self._record(clean)
            started = self.books.started()
            over = self._over(started, now)
            for task in started:
                self._attend(task, now, over=task.key in over)
            chosen = self._schedule(now)
            self.due = self._next_due(now)
            if self.books.work_left():
                self.active = now
        self.ending = (self.ending | self.exits.keys()) - clean
        self.belongings.forget(clean)
        for recorded in (self.births, self.exits, self.deferred):
            recorded.clear()
        for task in chosen:
            self._launch(task)
        with self.books.transaction():
            if self.books.forget():  # more may be left; verbs get their turn in between
                self.due = min(self.due, now + LOOK_SECONDS)

    def _record(self, clean: set[Key]) -> None:
        for key, (pid, birth) in self.births.items():
            self.books.born(key, pid, birth)
        for key, end in self.exits.items():
            self.books.gone(key, end)
        for key, why in self.deferred.items():
            self.books.defer(key, why)
        self.books.ended(sorted(clean))

    def _next_due(self, now: float) -> float:
        limits = [self.books.next_due(), self.next_memory, self.next_start if self.next_start > now else None]
        return min((limit for limit in limits if limit is not None), default=float("inf"))

    # Starting

    def _schedule(self, now: float) -> list[Task]:
        """Fill the free slots, first with resumed tasks, then with new ones."""
        free = self.books.settings().slots - self.books.running()
        for task in self.books.started():
            if free > 0 and task.wish == "resume":
                processes.strike(self._members(task.key), signal.SIGCONT)
                self.books.resumed(task.key, now)
                free -= 1
        return self.books.intend(free, now, self.boot) if free > 0 and now >= self.next_start else []

    def _launch(self, task: Task) -> None:
        """Start a task whose intent is durable."""
        mark = f"{self.identity}.{task.job}.{task.index}"
        environment = scrubbed_environment(
            {processes.VARIABLE: mark, "LOCALBATCH_ID": str(task.job), "LOCALBATCH_INDEX": str(task.index)}
        )
        environment.pop("PYTHONPATH", None)  # for us, not for the payload
        try:
            child = self.start([task.script], env=environment)
        except OSError as error:
            self._not_started(task.key, error)
            return
        self.children[child.pid] = task.key, child
        self.mains[task.key] = processes.Process(child.pid)
        if not self.births:
            self.births_due = self.clock.boot() + BIRTH_SECONDS
        self.births[task.key] = child.pid, processes.birth(child.pid)

    def _not_started(self, key: Key, error: OSError) -> None:
        why = f"cannot start: {error.strerror}"
        if error.errno in SHORTAGE:
            self.deferred[key] = why
            self.next_start = self.clock.boot() + DEFER_SECONDS
        else:
            self.exits[key] = Exit(127 if error.errno == errno.ENOENT else 126, reason=why)

    # Ending

    def reap(self) -> None:
        """Note ended main processes: our children by their exit, those of an earlier daemon by absence."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._reaped(ended[0], os.waitstatus_to_exitcode(ended[1]))
        for key, main in list(self.mains.items()):
            if main.pid not in self.children and not processes.alive(main):
                del self.mains[key]
                self.exits[key] = Exit(reason="started by an earlier daemon: how it ended cannot be known")

    def _reaped(self, pid: int, code: int) -> None:
        if pid in self.children:  # else an orphan that became our child
            key, child = self.children.pop(pid)
            child.returncode = code  # else its destructor would wait for a pid that another process may have by then
            self.mains.pop(key, None)
            self.exits[key] = Exit(code) if code >= 0 else Exit(signal=-code)

    def sweep(self) -> set[Key]:
        """Kill processes that outlived their task; return the ended tasks without any process left."""
        began = time.process_time()
        over = self.ending | self.exits.keys()
        left = self.belongings.stop_leavings(over)
        # In this order: a process that forks away from the first look is our child by the second.
        marks = processes.marked(self.identity)
        left |= {(process, key) for process, key in marks if key not in self.mains}
        strangers = self.belongings.of_nobody(self.mains, marks)
        doomed = {process for process, _ in left} | strangers
        processes.strike(doomed, signal.SIGSTOP)  # or a shell that waits for another one of them goes on as that dies
        processes.strike(doomed, signal.SIGKILL)
        cost = SWEEP_SHARE * (time.process_time() - began)
        self.next_sweep = self.clock.boot() + min(max(cost, LEAST_SWEEP_SECONDS), MOST_SWEEP_SECONDS)
        # A stranger may belong to any ended task, so it delays all of them, but once: after a KILL it no longer runs.
        new, self.struck = strangers - self.struck, strangers
        return set() if new else over - {key for _, key in left}

    def _over(self, started: list[Task], now: float) -> set[Key]:
        """Return the tasks that use more memory than they have asked for, at each look."""
        limits = {task.key: task.memory_mb for task in started if task.memory_mb and task.key in self.mains}
        if limits and now < self.next_memory < float("inf"):
            return set()
        self.next_memory = now + MEMORY_SECONDS if limits else float("inf")
        used = processes.resident({self.mains[key].pid for key in limits}) if limits else {}
        return {key for key, most in limits.items() if used[self.mains[key].pid] > most * MB}

    def _attend(self, task: Task, now: float, *, over: bool = False) -> None:
        if task.kill_at is not None:
            if now >= task.kill_at:
                processes.strike(self._members(task.key), signal.SIGKILL)
                self.books.warned(task.key, task.reason, now + AGAIN_SECONDS)
        elif over:  # there is no time for a warning
            processes.strike(self._members(task.key), signal.SIGKILL)
            self.books.warned(task.key, "memory limit", now + AGAIN_SECONDS)
        elif task.wish == "cancel":
            self._warn(task, "cancelled", now)
        elif task.deadline is not None and now >= task.deadline:
            self._warn(task, "wall time", now)
        elif task.wish == "suspend":
            self._suspend(task.key)
            self.books.suspended(task.key, now)

    def _warn(self, task: Task, reason: str, now: float) -> None:
        """Send TERM to the main process only: its traps pass TERM on, and leave a record."""
        processes.strike([self.mains[task.key]], signal.SIGTERM)
        if task.state == "suspended":
            processes.strike(self._members(task.key), signal.SIGCONT)
        self.books.warned(task.key, reason, now + self.books.settings().grace)

    def _suspend(self, key: Key) -> None:
        stopped: set[processes.Process] = set()
        while fresh := set(self._members(key)) - stopped:  # processes forked meanwhile
            processes.strike(fresh, signal.SIGSTOP)
            stopped |= fresh

    def _members(self, key: Key) -> list[processes.Process]:
        return self.belongings.members(key, self.mains[key])


def serve(directory: Path, lock: Lock) -> None:
    """Serve an area until no work is left. The caller has taken the lock; this function releases it at the end."""
    wakeup = processes.settle()
    with closing(connect(directory)) as db:  # the last process that closes it leaves one file
        books = Books(db, Clock())
        daemon = Daemon(books)
        daemon.recover()
        while True:
            if not daemon.work(wakeup, partial(lock.is_of, directory)):
                logger.error(
                    "another directory is at %s: this daemon ends, and leaves its tasks as they are", directory
                )
                return
            lock.release()
            # A verb that wrote before and found the lock taken relies on us; a later one finds the lock free.
            if not books.work_left() or not lock.take():
                return
