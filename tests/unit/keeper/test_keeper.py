"""Commands that hang until their time limit: whatever else there is to do does not wait behind all of them."""

from __future__ import annotations

import threading

import pytest

from jim.errors import Unclear
from jim.keeper.workers import Workers
from jim.site.file import Batch
from tests.support.stand_ins import Answers, Instead, World

GRID_JOBS = 12


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(query_seconds=1.0, visible_seconds=1.0))
    world.submit(key="first")
    world.until(lambda: world.batch.tasks)
    world.go(3, 1.0)
    return world


@pytest.fixture
def workers(world):
    workers = world.keeper.workers = Workers(world.clock)
    yield workers
    while not workers.idle():  # what is under way must not meet the next test's batch system
        assert workers.deliver(20)
    workers.stop()


class Frozen:
    """Batch commands that hang until `thaw`, and are obeyed then."""

    def __init__(self, obey):
        self.thaw, self.commands, self.obey = threading.Event(), [], obey

    def run(self, command, **more):
        self.commands.append(command)
        self.thaw.wait(60)
        return self.obey(command, **more)


def test_a_thread_is_left_for_the_question_about_all_jobs(world, workers, monkeypatch):
    frozen = Frozen(world.keeper.channel.submit)
    monkeypatch.setattr(world.keeper.channel, "submit", frozen.run)
    for number in range(GRID_JOBS):
        world.submit(key=f"key{number}")
    try:
        while not frozen.commands:  # each round does what is due, and gives up what has come back
            world.rounds.round()
            workers.deliver(0.1)
        asked = world.batch.calls.count("query")
        while world.batch.calls.count("query") < asked + 3:
            world.clock.now += 1.0
            world.rounds.round()
            assert workers.deliver(20), "the question waits behind what hangs"
        assert 1 <= len(frozen.commands) <= 3
    finally:
        frozen.thaw.set()


def test_another_one_is_left_for_what_that_question_leaves_open(world, workers, monkeypatch):
    channel = world.keeper.channel
    sent, history = Frozen(channel.submit), Frozen(channel.history)
    monkeypatch.setattr(channel, "submit", sent.run)
    monkeypatch.setattr(channel, "history", history.run)
    for number in range(GRID_JOBS):
        world.submit(key=f"key{number}")

    def go_on():
        world.clock.now += 1.0
        world.rounds.round()
        assert workers.deliver(20), "the question waits behind what hangs"

    try:
        while len(sent.commands) < 3:
            world.rounds.round()
            workers.deliver(0.1)
        world.batch.kill("1")
        while not history.commands:
            go_on()
        asked = world.batch.calls.count("query")
        while world.batch.calls.count("query") < asked + 3:
            go_on()
    finally:
        sent.thaw.set()
        history.thaw.set()


class Slow:
    """Cancels that are given up after a minute each."""

    def __init__(self, world, workers):
        self.world, self.workers, self.end, self.said = world, workers, threading.Event(), set()

    def cancel(self, ids):
        self.said.add(ids[0])
        self.end.wait(60)
        raise Unclear("no answer after 60 s")

    def minute(self):
        for _ in range(10):
            self.world.rounds.round()
            self.workers.deliver(0.05)
            self.world.clock.now += 6.0
        self.end.set()
        self.end = threading.Event()


def test_cancels_that_hang_each_time_do_not_take_every_turn(world, workers, monkeypatch):
    slow = Slow(world, workers)
    for number in range(GRID_JOBS):
        world.submit(key=f"key{number}")
    while len(world.batch.accepted) <= GRID_JOBS:
        slow.minute()
    cancel = world.keeper.channel.cancel
    monkeypatch.setattr(world.keeper.channel, "cancel", slow.cancel)
    for grid in range(1, GRID_JOBS + 2):
        world.wish("cancel", str(grid))
    slow.minute()
    world.submit(key="another")
    try:
        for _ in range(12):
            slow.minute()
        assert len(world.batch.accepted) == GRID_JOBS + 2
        assert len(slow.said) == GRID_JOBS + 1
    finally:
        monkeypatch.setattr(world.keeper.channel, "cancel", cancel)
        slow.end.set()


def test_who_looks_meanwhile_shares_a_listing_of_all_there_is(world, workers, monkeypatch):
    really = world.batch.run
    frozen = Frozen(really)
    world.batch.find_command = lambda mark: ["query"]

    def run(command, **more):
        return (frozen.run if command == ["query"] else really)(command, **more)

    monkeypatch.setattr(world.batch, "run", run)
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER)] * 3
    world.keeper.workers.wait("query", 1e6)  # the usual listing would adopt them, too
    for number in range(3):
        world.submit(key=f"key{number}")

    def go_on():
        world.clock.now += 1.0
        world.rounds.round()
        workers.deliver(0.1)

    try:
        while sum(workers.busy(each.mark) for each in world.store.submissions("unknown")) < 3:
            go_on()
    finally:
        frozen.thaw.set()
    while len(world.store.submissions("confirmed", "ended")) < 4:
        go_on()
    assert len(world.batch.accepted) == 4
    # The first one's, and one that began after the others had come; where all came in one round, one is enough.
    assert len(frozen.commands) <= 2
