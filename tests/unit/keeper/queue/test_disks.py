"""A keeper whose disks have too little room sends nothing new, and goes on by itself."""

import json

import pytest

from jim.keeper.looks import SPACE
from jim.model import State
from jim.site.file import Limits
from tests.support.stand_ins import Answers, Instead, World


class Rooms:
    """How much room the disks have, in MB."""

    def __init__(self):
        self.mb, self.away, self.asked = 10_000, False, 0

    def __call__(self, place):
        self.asked += 1
        if self.away:
            raise OSError(116, "Stale file handle")
        return self.mb


@pytest.fixture
def rooms(monkeypatch):
    made = Rooms()
    monkeypatch.setattr("jim.site.space.free_mb", made)
    return made


@pytest.fixture
def world(tmp_path, monkeypatch, rooms):
    return World(tmp_path, monkeypatch, limits=Limits(per_submission=2))


def test_nothing_new_is_sent_without_room_and_what_runs_goes_on(world, rooms, caplog):
    first = world.submit(3, key="a")
    world.until(lambda: len(world.batch.tasks) == 3)
    rooms.mb = 199
    world.go(15, 1.0)
    second = world.submit(2, key="b")
    world.go(15, 1.0)
    for (id_, index), _ in list(world.batch.tasks.items()):
        world.batch.start(id_, index)
        world.batch.finish(id_, index, code=0 if index == 1 else None, signal=9)  # an attempt that is owed another
    world.go(15, 1.0)
    assert world.store.counts(first) == {State.COMPLETED: 2, State.WAITING: 1}
    assert world.store.counts(second) == {State.WAITING: 2}
    assert len(world.batch.tasks) == 3
    told = json.loads(world.store.fact("space"))
    assert [(stops, words.split()[4]) for stops, words in told] == [(False, "state"), (True, "work")]
    assert "has 199 MB left, and disk.work_stop_mb is 200: JIM takes no new" in told[1][1]
    assert caplog.text.count("has 199 MB left") == 2  # once, of each disk
    rooms.mb = 2000
    world.until(lambda: len(world.batch.tasks) == 6)
    assert world.store.fact("space") == ""
    for grid in (first, second):
        world.run_all(grid)


def test_a_keeper_that_starts_without_room_sends_nothing(world, rooms):
    grid = world.submit(2)
    rooms.mb = 0
    world.go(5, 1.0)
    assert world.store.counts(grid) == {State.WAITING: 2}
    rooms.mb = 10_000
    world.until(lambda: world.store.counts(grid).get(State.SUBMITTED) == 2)


def test_nor_what_an_earlier_keeper_intended_to_send(world, rooms):
    world.batch.lies = [Instead("submit", Answers.NOT_STARTED)]
    grid = world.submit(2)
    world.until(lambda: world.batch.calls.count("submit") == 1)
    world.restart()
    rooms.mb = 0
    world.go(100, 1.0)
    assert world.batch.calls.count("submit") == 1
    rooms.mb = 10_000
    world.until(lambda: world.store.counts(grid).get(State.SUBMITTED) == 2)


def test_below_the_first_threshold_people_are_warned_and_all_goes_on(world, rooms):
    rooms.mb = 1999
    grid = world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    told = json.loads(world.store.fact("space"))
    assert [stops for stops, _ in told] == [False, False]
    world.run_all(grid)


def test_a_disk_that_cannot_be_looked_at_is_not_a_full_one(world, rooms):
    rooms.away = True
    world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    assert world.store.fact("space") == ""


def test_the_disks_are_looked_at_every_ten_seconds(world, rooms):
    world.go(100, 0.2)
    assert rooms.asked == 2 * 2


def test_looks_at_the_disks_keep_no_idle_keeper_alive(world):
    """A look each ten seconds counted as work: a keeper that was to end after 60 s without work never ended."""
    world.go(3, 0.2)
    world.clock.now += 60
    world.rounds.round()
    assert world.keeper.workers.busy(SPACE)
    assert world.rounds.idle()
