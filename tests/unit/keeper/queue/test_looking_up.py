"""A refusal in words that the adapter does not know: told to the user, tried for a while, and not for ever."""

from __future__ import annotations

import pytest

from jim.model import State
from jim.site.file import Batch
from tests.fake_batch.dialect import Said
from tests.fake_batch.dialects.condor import Condor
from tests.fake_batch.gateway import Gateway
from tests.fake_batch.liar import Lie
from tests.support.stand_ins import Answers, Instead, World

TRIES = 12
ODD = [Instead("submit", Answers.ODD)]
WORDS = "Site policy: jobs need a project code (exit 1 after 0.0 s: submit "


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch, batch=Batch(query_seconds=1.0, visible_seconds=1.0))


def verdicts(world, grid):
    return [each.verdict for each in world.store.attempts(grid, n=0)]


def test_it_is_said_to_the_user_meanwhile(world):
    world.batch.lies = ODD * 100
    grid = world.submit()
    world.until(lambda: "again" in verdicts(world, grid))
    assert world.state(grid) is State.WAITING
    assert WORDS in world.store.local_job(grid, 0).reason


def test_it_is_not_tried_for_ever(world):
    world.batch.lies = ODD * 100
    grid = world.submit()
    world.until(lambda: world.finished(grid), seconds=60.0)
    assert verdicts(world, grid) == ["again"] * (TRIES - 1) + ["failed"]
    reason = world.store.local_job(grid, 0).reason
    assert reason.startswith(f"not accepted: {WORDS}")
    assert reason.endswith(f"; refused {TRIES} times in a row")
    assert world.batch.ledger == []


def test_another_set_of_attempts_is_as_long(world):
    world.batch.lies = ODD * 100
    grid = world.submit()
    world.until(lambda: world.finished(grid), seconds=60.0)
    world.wish("retry", str(grid))
    world.until(lambda: len(verdicts(world, grid)) > TRIES + 1, seconds=60.0)
    assert verdicts(world, grid)[TRIES:-1] == ["again"] * (len(verdicts(world, grid)) - TRIES - 1)


def test_one_that_was_accepted_in_between_starts_the_count_anew(world):
    world.batch.lies = ODD * (TRIES - 1)
    grid = world.submit()
    world.until(lambda: world.batch.tasks, seconds=60.0)
    world.batch.kill("1")
    world.batch.lies = ODD * (TRIES - 1)
    world.until(lambda: len(world.batch.tasks) == 2, seconds=60.0)
    world.run_all(grid)
    assert world.store.local_job(grid, 0).state is State.COMPLETED


def test_a_command_that_does_not_return_has_refused_nothing(world):
    world.batch.lies = [Instead("submit", Answers.LOST_BEFORE)] * (TRIES + 3)
    grid = world.submit()
    world.until(lambda: world.batch.tasks, seconds=60.0, rounds=2000)
    world.run_all(grid)
    assert verdicts(world, grid) == ["again"] * (TRIES + 3) + ["completed"]


def test_words_that_are_known_to_be_of_a_lost_answer_have_refused_nothing(world):
    world.batch.unclear = (r"site policy: jobs need",)
    world.batch.lies = ODD * (TRIES + 3)
    grid = world.submit()
    world.until(lambda: world.batch.tasks, seconds=60.0, rounds=2000)
    world.run_all(grid)
    assert verdicts(world, grid) == ["again"] * (TRIES + 3) + ["completed"]


@pytest.mark.parametrize(
    "words",
    [
        "SECMAN:2007:Failed to end classad message.\n",  # which counts where it comes first
        "\nERROR: Failed to commit job submission into the queue.\n" + "WARNING: see the log of the schedd\n" * 3,
    ],
)
def test_nor_do_they_wherever_they_stand_in_what_was_said(words, tmp_path, monkeypatch):
    gateway = Gateway(tmp_path, monkeypatch, Condor())
    gateway.liar.dialect.troubles = Condor.troubles | {"submit unclear": Said(1, "", words)}
    gateway.liar.lies["submit"] = [Lie("unclear", 1)] * (TRIES + 3)  # 1: nothing was accepted
    grid = gateway.submit()
    gateway.until(lambda: gateway.engine.tasks, seconds=60.0, rounds=2000)
    assert verdicts(gateway, grid) == ["again"] * (TRIES + 3) + [""]
