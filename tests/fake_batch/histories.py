"""Random histories of grid jobs in a world where nearly everything goes wrong, as Hypothesis state machines.

A failure is printed as the shortest list of steps found that still fails; the same seed gives the same histories.
"""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from jim.errors import UnknownJob
from jim.model import Step
from tests.fake_batch.engine import Phase
from tests.fake_batch.gateway import VISIBLE, WALL, Gateway
from tests.fake_batch.liar import ASK_LIES, PING_LIES, SUBMIT_LIES, TELL_LIES, Lie
from tests.fake_batch.node import HOLE, NODE, Nodes
from tests.fake_batch.oracle import Oracle

DIALECTS = ("slurm", "sge", "pbs", "torque", "pbs_wrappers", "condor", "condor_transfer", "lsf", "local")
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # files without a disk: a history takes some thousands
PICKS = st.integers(0, 11)  # which one, of those that are there
KNOBS = st.integers(0, 999_999)
STEPS = 25
LONGEST_END = 150  # rounds
ACCOUNTED = 2  # rounds in which the last lines of the accounting are written


def dialect_of(name, number):
    """Give a dialect, with one of the commands that a site may ask how jobs ended."""
    dialect = import_module(f"tests.fake_batch.dialects.{name}").DIALECT
    choices = ["", *dialect.histories]
    return dialect(choices[number % len(choices)])


class Glitches(RuleBasedStateMachine):
    """Everything goes well, but what is said about it: whatever that is, each local job takes one attempt."""

    name: str
    steps = STEPS
    at_work = Nodes

    @initialize(
        pace=st.sampled_from((0.3, 2.0, 6.0)),
        accounts=st.sampled_from((0.0, 20.0, 1e9)),
        flatters=st.booleans(),
        pieces=st.integers(1, 5),
        history=PICKS,
    )
    def open(self, pace, accounts, flatters, pieces, history):
        self.place = tempfile.mkdtemp(prefix="jim-fake-", dir=MEMORY)
        self.patch = pytest.MonkeyPatch()
        logging.disable(logging.CRITICAL)
        dialect = dialect_of(self.name, history)
        self.gateway = Gateway(Path(self.place), self.patch, dialect, self.at_work)
        self.engine, self.nodes, self.liar = self.gateway.engine, self.gateway.nodes, self.gateway.liar
        self.engine.accounts_after, self.liar.flatters = accounts, flatters
        self.oracle, self.pace, self.requests = Oracle(self.gateway), pace, 0
        self.set_out()
        self.submit(pieces)

    def set_out(self):
        self.liar.patience = VISIBLE - 1.0  # what is denied for longer may be given up

    # What passes

    @rule(rounds=st.integers(1, 4), seconds=st.sampled_from((0.2, 1.0, 5.0, 20.0)))
    def go(self, rounds, seconds):
        self.on(rounds, seconds)

    @rule(seconds=st.sampled_from((40.0, 100.0, 400.0, 4000.0)))
    def wait(self, seconds):
        self.gateway.wait(seconds)
        self.on()

    @precondition(lambda self: self.requests < 3)
    @rule(pieces=st.integers(1, 5))
    def submit(self, pieces):
        self.hand_in(pieces)
        self.on()

    def hand_in(self, pieces):
        self.requests += 1
        self.gateway.submit(pieces, key=f"key{self.requests}")

    def on(self, rounds=1, seconds=None):
        """Let the keeper go on, as it does whatever happens."""
        self.gateway.go(rounds, self.pace if seconds is None else seconds)
        self.oracle.on_the_way()

    # What runs

    def pick(self, number, *phases):
        found = [task for task in self.engine.tasks.values() if task.phase in phases]
        return found[number % len(found)] if found else None

    def run_of(self, number):
        return self.nodes.runs[number % len(self.nodes.runs)] if self.nodes.runs else None

    @rule(number=PICKS, reported=st.booleans())
    def start(self, number, reported):
        task = self.pick(number, Phase.PENDING)
        run = task and self.nodes.start(task)
        if run and reported:
            self.nodes.report(run)
        self.on()

    @rule()
    def start_all(self):
        for task in list(self.engine.tasks.values()):
            if task.phase is Phase.PENDING:
                self.start_one(task)
        self.on()

    def start_one(self, task):
        run = self.nodes.start(task)
        if run:
            self.nodes.report(run)

    @precondition(lambda self: self.nodes.runs)
    @rule(number=PICKS, reported=st.booleans(), lag=st.sampled_from((0.0, 0.0, VISIBLE / 2)))
    def finish(self, number, reported, lag):
        self.nodes.finish(self.run_of(number), reported=reported, lag=lag)
        self.on()

    # What is said

    @rule(what=st.sampled_from(ASK_LIES), knob=KNOBS, times=st.integers(1, 3))
    def misreport(self, what, knob, times):
        self.liar.lies["ask"] += [Lie(what, knob)] * times
        self.on()

    @rule(what=st.sampled_from(PING_LIES), knob=KNOBS)
    def mute(self, what, knob):
        self.liar.lies["ping"].append(Lie(what, knob))

    @rule(number=PICKS, listings=st.integers(1, 8))
    def hide(self, number, listings):
        task = self.pick(number, Phase.PENDING, Phase.RUNNING)
        if task:
            task.hidden = listings
        self.on()

    @rule()
    def restart(self):
        self.gateway.restart()
        self.on()

    # What must hold

    def teardown(self):
        try:
            if sys.exc_info()[0] is None and hasattr(self, "oracle"):  # a history that has failed already has no end
                self.end()
                self.arrive_late()
                self.oracle.in_the_end()
                self.check()
        finally:
            if hasattr(self, "place"):
                self.gateway.store.close()
                self.patch.undo()
                logging.disable(logging.NOTSET)
                shutil.rmtree(self.place, ignore_errors=True)

    def end(self):
        """Be honest until everything is done."""
        self.liar.lies.clear()
        self.gateway.restart()
        for count in range(LONGEST_END):
            self.resume(count)
            self.liar.arrive()
            for run in list(self.nodes.runs):
                self.nodes.finish(run)
            for task in list(self.engine.tasks.values()):
                task.hidden = 0
                self.settle(task)
            self.gateway.go(1, 20.0)
            if self.gateway.all_finished():
                self.gateway.go(ACCOUNTED, 20.0)
                return
        stories = [self.oracle.story(grid) for grid in self.gateway.grids()]
        raise AssertionError(f"never finished: {' '.join(stories)}")

    def resume(self, count):
        """Let people resume what they see held or suspended."""

    def settle(self, task):
        """Move a task on as an honest batch system does."""
        if task.phase is Phase.PENDING:
            self.start_one(task)
        elif task.phase in (Phase.RUNNING, Phase.SUSPENDED):
            self.engine.end(task, signal=9)

    def arrive_late(self):
        """Start what the batch system still has: nothing of a finished grid job may run."""
        for task in list(self.engine.tasks.values()):
            if task.phase in (Phase.PENDING, Phase.HELD):
                assert self.nodes.start(task) is None, f"{task} ran after the end"

    def check(self):
        for grid in self.gateway.grids():
            attempts = self.gateway.store.attempts(grid)
            assert [each.attempt for each in attempts] == [1] * len(attempts), self.oracle.story(grid)
            assert {each.verdict for each in attempts} == {"completed"}


HALF_ACCOUNTED, UNMARKED = -1, 0  # the keeper dies amid a line of the accounting, or once all of them are written
UNHEALED = ("twice", "late", "false")  # what nobody can heal who does not see the worker nodes
JUMPS = (-86_400.0, -9.0, 9.0, 60.0, 86_400.0)  # of the head node's clock


class Troubles(Glitches):
    """Everything may go wrong, and the keeper may be killed at any thing that it stores."""

    def set_out(self):
        if self.runs_once:  # it says so in time
            super().set_out()

    @property
    def runs_once(self):
        return self.nodes.dialect.runs_once

    def check(self):
        pass

    # The keeper

    @rule(steps=st.integers(HALF_ACCOUNTED, 60))
    def doom(self, steps):
        if steps in (HALF_ACCOUNTED, UNMARKED):
            self.gateway.dooms_accounting = True, steps == HALF_ACCOUNTED
        else:
            self.gateway.kill.left = steps
        self.on()

    @rule()
    def reboot(self):
        self.gateway.reboot()
        self.on()

    @rule(seconds=st.sampled_from(JUMPS), rounds=st.integers(0, 3))
    def set_clock(self, seconds, rounds):
        self.on(rounds)
        self.gateway.set_clock(seconds)
        self.on()

    # The batch system

    @rule(what=st.sampled_from(SUBMIT_LIES), knob=KNOBS, pieces=st.integers(0, 5))
    def misaccept(self, what, knob, pieces):
        if not (self.runs_once and what in UNHEALED):
            self.liar.lies["submit"].append(Lie(what, knob))
        if pieces and self.requests < 5:  # else nothing may be sent any more
            self.hand_in(pieces)
        self.on()

    @rule(most=st.sampled_from((0, 1, 2, 4, sys.maxsize)))
    def limit(self, most):
        if self.nodes.dialect.adapter.full:  # else it has no limit
            self.liar.most = most
        self.on()

    @rule(what=st.sampled_from(TELL_LIES), knob=KNOBS)
    def misobey(self, what, knob):
        self.liar.lies["tell"].append(Lie(what, knob))

    @rule()
    def crash(self):
        if not self.runs_once:
            self.engine.forget()
        self.on()

    @rule(lives=st.booleans(), number=PICKS)
    def requeue(self, number, lives):
        """Put back what runs, dead or alive, or what has ended."""
        task = self.pick(number, Phase.RUNNING, Phase.ENDED)
        if task and self.nodes.dialect.restarts:
            run = self.nodes.of(task)
            if run and not lives:
                self.nodes.die(run)
            self.engine.put_back(task)
        self.on()

    @rule()
    def arrive(self):
        self.liar.arrive()
        self.on()

    @rule()
    def let_clients_go_on(self):
        self.liar.let_clients_go_on()
        self.on()

    # The nodes

    @precondition(lambda self: self.nodes.runs)
    @rule(number=PICKS, reported=st.booleans())
    def fail(self, number, reported):
        self.nodes.finish(self.run_of(number), 1, reported=reported)
        self.on()

    @rule(pieces=st.integers(1, 8), lag=st.sampled_from((0.0, VISIBLE / 2)), steps=st.integers(0, 60))
    def eat(self, pieces, lag, steps):
        """Let one host end all that comes to it at once, while the other one works; perhaps the keeper is killed."""
        if self.requests < 5:
            self.hand_in(pieces)
            self.on(3)
        for number, task in enumerate(list(self.engine.tasks.values())):
            host = HOLE if number % 2 and HOLE not in str(task.job.asked.said) else NODE
            run = self.nodes.start(task, host) if task.phase is Phase.PENDING else None
            if run:
                self.nodes.finish(run, int(host == HOLE), lag=lag)
        if steps:
            self.gateway.kill.left = steps
        self.on()

    @rule(number=PICKS, reported=st.booleans())
    def step_aside(self, number, reported):
        """Let a wrapper find that its host is avoided."""
        task = self.pick(number, Phase.PENDING)
        if task:
            self.nodes.leave(task, reported=reported)
        self.on()

    @precondition(lambda self: self.nodes.runs)
    @rule(number=PICKS, noticed=st.booleans())
    def vanish(self, number, noticed):
        run = self.run_of(number)
        self.nodes.die(run)
        if noticed:
            self.engine.end(run.task, signal=9)
        self.on()

    @precondition(lambda self: self.nodes.runs)
    @rule(number=PICKS)
    def haunt(self, number):
        """Let what has vanished be taken for running, until its time is over."""
        run = self.run_of(number)
        self.nodes.die(run)
        self.gateway.wait(WALL)
        self.engine.end(run.task, why="limit")
        self.on()

    @precondition(lambda self: self.nodes.runs and self.nodes.dialect.loses_nodes)
    @rule(number=PICKS)
    def declare_dead(self, number):
        """Lose sight of a node on which everything goes on."""
        if not self.runs_once:
            task = self.run_of(number).task
            self.engine.about("declared dead", task)
            self.engine.end(task, why="node")
        self.on()

    @precondition(lambda self: self.nodes.runs)
    @rule(number=PICKS, warned=st.booleans())
    def overrun(self, number, warned):
        task = self.run_of(number).task
        self.nodes.warned = warned
        self.engine.end(task, why="limit")
        self.nodes.reap()
        self.on()

    # People

    @rule(number=PICKS, n=st.one_of(st.none(), st.integers(0, 4)), warned=st.booleans())
    def cancel(self, number, n, warned):
        grids = self.gateway.grids()
        if grids:
            grid = grids[number % len(grids)]
            self.nodes.warned = warned
            self.nodes.end_what_is_stopped_for_ever()
            with suppress(UnknownJob):  # refused at the door
                self.gateway.wish("cancel", f"{grid}" if n is None else f"{grid}.{n}")
                self.oracle.wished.add((grid, n))
        self.on()

    @rule(number=PICKS, verb=st.sampled_from(("suspend", "resume")))
    def change(self, number, verb):
        grids = self.gateway.grids()
        if grids:
            self.nodes.end_what_is_stopped_for_ever()
            self.gateway.wish(verb, str(grids[number % len(grids)]))
        self.on()

    def end(self):
        self.liar.most = max(1, self.liar.most)
        self.liar.let_clients_go_on()
        super().end()

    def release_strays(self):
        """Let people release what no grid job resumes: after a crash ids begin anew, and a hold meets another job."""
        open_ = {f"{job.id}" for job in self.gateway.store.grid_jobs() if job.step is not Step.FINISHED}
        for task in self.engine.tasks.values():
            if task.phase is Phase.HELD and task.mark.split("-")[2] not in open_:
                self.engine.change("release", task)

    def resume(self, count):
        if count % 40 == 0:
            self.nodes.end_what_is_stopped_for_ever()
            for grid in self.gateway.grids():
                with suppress(UnknownJob):
                    self.gateway.wish("resume", str(grid))
            self.release_strays()
