"""Which moves are asked about what, and in which order."""

import math
from unittest.mock import Mock

import pytest

from jim.errand import Errand
from jim.errors import DiskFull
from jim.keeper import rounds
from jim.keeper.results import answering
from jim.keeper.rounds import Rounds, of_grid_job, of_site
from jim.run_grid_job import moves


def test_moves_about_grid_jobs_stand_together_for_a_second_group_would_lose_the_times_of_the_first(world):
    apart = [of_grid_job(lambda keeper, job: 0.0), of_site(lambda keeper: None), of_grid_job(lambda keeper, job: 0.0)]
    with pytest.raises(ValueError, match="must stand together"):
        Rounds(world.keeper, apart)
    Rounds(world.keeper, apart[:2])


@pytest.fixture
def asked(world):
    """Grid jobs that are looked at, by a move that says when to ask again."""
    asked = Asked()
    for key in ("a", "b", "c"):
        world.submit(key=key)
    world.until(lambda: len(world.batch.tasks) == 3)
    world.go(3)
    world.rounds.moves = (of_grid_job(asked.look),)
    return asked


class Asked(list):
    again = math.inf

    def look(self, keeper, job):
        self.append(job.id)
        return self.again

    def since(self, world):
        """Give those that another round looks at."""
        self.clear()
        world.rounds.round()
        return list(self)


def test_a_grid_job_is_looked_at_when_something_of_it_changes_and_never_because_a_round_came(world, asked):
    assert asked.since(world) == []
    world.store.set_local_job(2, 0, due=5.0)
    world.store.set_submission(1, 1, tries=1)
    assert sorted(asked.since(world)) == [1, 2]
    assert asked.since(world) == []


def test_a_grid_job_is_looked_at_when_its_own_time_has_come(world, asked):
    asked.again = world.clock.now + 10.0
    world.store.set_grid_job(3, priority=1)
    assert asked.since(world) == [3]
    world.clock.now += 9.0
    assert (asked.since(world), world.rounds.rest()) == ([], 0.2)
    world.clock.now += 0.9
    assert world.rounds.rest() == pytest.approx(0.1)
    world.clock.now += 0.1
    asked.again = math.inf
    assert (asked.since(world), asked.since(world)) == ([3], [])


def test_a_grid_job_is_looked_at_when_an_errand_of_it_has_ended(world, asked):
    world.keeper.workers.start(Errand("key", lambda: 1, lambda _: None, grid=2))
    assert asked.since(world) == []
    world.keeper.workers.deliver(0)
    assert asked.since(world) == [2]


def test_a_look_that_fails_is_made_again(world, asked, monkeypatch):
    world.store.set_grid_job(1, priority=1)
    with monkeypatch.context() as patch:
        patch.setattr(world.store, "grid_job", Mock(side_effect=DiskFull("full")))
        with pytest.raises(DiskFull):
            world.rounds.round()
    assert asked.since(world) == [1]


def test_after_a_start_all_that_is_open_is_looked_at_once_and_nothing_that_has_ended(world, asked):
    world.batch.start(1)
    world.batch.finish(1)
    world.rounds.moves = moves()
    world.until(lambda: world.finished(1))
    world.go()
    world.restart()
    world.rounds.moves = (of_grid_job(asked.look),)
    assert asked.since(world) == [2, 3]
    assert asked.since(world) == []


def test_one_that_has_ended_is_looked_at_after_a_start_until_its_last_answer_is_written(world, asked, monkeypatch):
    world.batch.start(1)
    world.batch.finish(1)
    world.rounds.moves = moves()
    write = answering.replace

    def full(file, content, *more):
        if b":8" in content:
            raise OSError("full")
        write(file, content, *more)

    monkeypatch.setattr(answering, "replace", full)
    with pytest.raises(OSError, match="full"):
        world.until(lambda: False)
    monkeypatch.undo()
    world.restart()
    assert "8" not in world.answer(1)
    world.go()
    assert "8" in world.answer(1)
    world.restart()
    world.rounds.moves = (of_grid_job(asked.look),)
    assert asked.since(world) == [2, 3]


def test_looks_are_made_in_parts(world, asked, monkeypatch):
    monkeypatch.setattr(rounds, "AT_ONCE_SECONDS", 1.0)
    asked.look = None

    def slow(keeper, job):
        world.clock.now += 0.6
        asked.append(job.id)
        return math.inf

    world.rounds.moves = (of_grid_job(slow),)
    for grid in (1, 2, 3):
        world.store.set_grid_job(grid, priority=1)
    assert (asked.since(world), world.rounds.rest()) == ([1, 2], 0.0)
    assert asked.since(world) == [3]
