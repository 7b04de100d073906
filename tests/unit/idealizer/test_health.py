"""Accounts that do not answer (slurmdbd is down, an accounting file is gone): they hold up only what needs them."""

from __future__ import annotations

import json

import pytest

from jim.model import State
from jim.site.file import Batch
from tests.support.stand_ins import Answers, Instead, World

LONG_ENOUGH = 60


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A site on which a local job was killed without a trace, after its accounts went down."""
    world = World(tmp_path, monkeypatch, batch=Batch(query_seconds=1.0, visible_seconds=1.0))
    world.batch.lies = [Instead("history", Answers.DOWN)] * 10_000
    world.submit()
    world.until(lambda: world.batch.tasks)
    world.batch.start("1")
    world.until(lambda: world.state(1) is State.RUNNING)
    world.batch.kill("1")
    world.go(LONG_ENOUGH, 1.0)
    return world


def test_other_grid_jobs_go_on(world):
    other = world.submit(key="k2")
    world.go(5, 1.0)
    world.batch.start("2")
    world.batch.finish("2")
    world.go(5, 1.0)
    assert world.finished(other)
    assert not world.keeper.health.trouble


def test_no_end_is_told_before_they_answer(world):
    assert world.state(1) is State.RUNNING
    assert len(world.batch.tasks) == 1
    world.batch.lies.clear()
    world.until(lambda: len(world.batch.tasks) == 2)
    assert [each.verdict for each in world.store.attempts(1, n=0)] == ["again", ""]


def test_they_are_asked_less_and_less(world):
    assert 3 <= world.batch.calls.count("history") <= 10


def test_an_exit_record_needs_no_accounts(world):
    world.batch.finish("1", spool=False)
    world.go(LONG_ENOUGH, 1.0)
    assert world.finished(1)


def test_their_trouble_is_published_with_the_grid_jobs_that_wait_for_them(world):
    published = json.loads(world.site.summary.read_text())
    assert published["trouble"] == ""
    history = published["history"]
    assert "down" in history["trouble"]
    assert history["failures"] >= 3
    assert history["grid_jobs"] == [1]
