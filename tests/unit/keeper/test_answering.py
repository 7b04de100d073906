"""What polls print is written when it changes, and the group reads one page of all open grid jobs."""

import json

import pytest

from jim.doors.contract import DEFAULT
from jim.keeper.answering import PAGE


def page(world):
    world.keeper.workers.forget(PAGE)
    world.go(1)
    return json.loads(world.site.summary.read_text())


@pytest.fixture
def answered(world):
    """A grid job with its first answer."""
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.go(2)
    return world


def test_an_answer_is_written_only_when_it_changes(answered):
    file = answered.site.state / "answers" / "1"
    before, words = file.stat().st_ino, file.read_bytes()
    answered.store.set_grid_job(1, priority=5)  # a look, and no other answer
    answered.go(2)
    answered.restart()
    answered.go(1)
    assert file.stat().st_ino == before
    answered.run_all(1)
    assert (file.stat().st_ino == before, file.read_bytes() == words) == (False, False)


def test_a_door_that_fails_leaves_the_answer_of_before(answered, monkeypatch, caplog):
    def fails(told):
        raise RuntimeError("oh")

    before = answered.answer(1)
    monkeypatch.setattr(answered.keeper.doors.named(DEFAULT), "state", fails)
    answered.batch.start(1)
    answered.go(3)
    assert answered.answer(1) == before
    assert sum("polls print the same answer as before" in each for each in caplog.messages) == 1


def test_an_answer_that_was_removed_is_written_again_after_a_start(answered):
    before = answered.answer(1)
    (answered.site.state / "answers" / "1").unlink()
    answered.restart()
    answered.go(1)
    assert answered.answer(1) == before


def test_the_page_shows_open_grid_jobs_and_the_trouble_with_the_batch_system(answered):
    answered.submit(1, key="k2")
    answered.go(3)
    assert [each["id"] for each in page(answered)["jobs"]] == [1, 2]
    answered.batch.start(1)
    answered.batch.finish(1)
    answered.until(lambda: answered.finished(1))
    found = page(answered)
    assert ([each["id"] for each in found["jobs"]], found["failures"]) == ([2], 0)
    assert oct(answered.site.summary.stat().st_mode)[-3:] == "640"
