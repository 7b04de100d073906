"""What polls print is written when it changes, and the group reads one page of all open grid jobs."""

import errno
import json

import pytest

from jim.doors.contract import DEFAULT
from jim.keeper.results import answering
from jim.keeper.results.answering import PAGE
from jim.statusdb.grid.answers import Answers
from tests.support.stand_ins import StandInWorkers


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


# After a power cut


@pytest.fixture
def ended(answered):
    """A grid job that has ended, with its last answer."""
    answered.run_all(1)
    answered.go(2)
    assert answered.store.answers.owed() == []
    return answered


def test_the_store_forgets_an_answer_only_once_it_is_durable(answered, monkeypatch):
    """Else a power cut may leave an empty file, and nobody would write it again."""
    synced, sync = [], answering.sync_file
    monkeypatch.setattr(answering, "sync_file", lambda path: synced.append(path.name) or sync(path))
    monkeypatch.setattr(answering, "sync_directory", lambda path: synced.append(path.name))
    kept = []
    real = Answers.are_written
    monkeypatch.setattr(Answers, "are_written", lambda store, n: (kept.append((list(synced), set(n))), real(store, n)))
    answered.run_all(1)
    answered.go(2)
    assert kept == [(["1", "answers"], {1})]
    assert answered.store.answers.owed() == []


def test_a_disk_that_takes_no_sync_keeps_the_answer_to_be_written(answered, monkeypatch, caplog):
    real = answering.sync_file
    monkeypatch.setattr(answering, "sync_file", lambda path: (_ for _ in ()).throw(OSError(errno.EIO, "bad", path)))
    answered.run_all(1)
    answered.go(3)
    assert answered.store.answers.owed() == [1]
    assert "the last answers of 1 grid jobs are not durable yet" in caplog.text
    monkeypatch.setattr(answering, "sync_file", real)
    answered.go(3, 100.0)
    assert answered.store.answers.owed() == []


@pytest.mark.parametrize("lost", ["emptied", "removed", "a link"])
def test_a_last_answer_that_was_lost_is_written_anew_by_the_next_keeper(ended, lost):
    file = ended.site.state / "answers/1"
    before = file.read_bytes()
    file.write_bytes(b"") if lost == "emptied" else file.unlink()
    if lost == "a link":
        file.symlink_to("2")
    ended.restart()
    ended.go(2)
    assert (file.read_bytes(), file.is_symlink(), ended.store.answers.owed()) == (before, False, [])


def test_an_answer_that_vanishes_before_it_is_durable_is_written_anew(answered, monkeypatch):
    real, away = answering.sync_file, [True]

    def sync(path):
        if away:
            away.clear()
            path.unlink()
        real(path)

    monkeypatch.setattr(answering, "sync_file", sync)
    answered.run_all(1)
    answered.go(3)
    assert answered.answer(1) == "GRAM_SCRIPT_JOB_STATE:8\n\n"
    assert answered.store.answers.owed() == []


def test_a_retry_during_the_sync_keeps_the_new_answer_to_be_written(answered, monkeypatch):
    """The answer that is made durable is no longer the last one."""
    workers, begin, kept = answered.keeper.workers, StandInWorkers._begin, []

    def later(self, errand):
        if errand.key == answering.LAST and not kept:
            kept.append(errand)
        else:
            begin(self, errand)

    monkeypatch.setattr(StandInWorkers, "_begin", later)
    answered.batch.start(1)
    answered.batch.finish(1, 1, 3)
    answered.until(lambda: kept, seconds=1000.0)
    answered.wish("retry", "1")
    answered.until(lambda: not answered.finished(1), seconds=1000.0)
    answered.run_all(1)
    begin(workers, kept[0])
    while workers.deliver(0):
        pass
    assert answered.store.answers.owed() == [1]
    answered.go(2)
    assert answered.store.answers.owed() == []


def test_the_answer_of_a_grid_job_that_was_opened_again_is_not_taken_for_the_last_one(answered, monkeypatch):
    """Made durable as such, it would let the store forget the last one, should that be written at this moment."""
    answered.keeper.workers.wait(answering.LAST, 1_000_000.0)
    answered.batch.start(1)
    answered.batch.finish(1, 1, 3)
    answered.until(lambda: answered.finished(1))
    answered.go(2)
    answered.wish("retry", "1")
    answered.until(lambda: not answered.finished(1))
    answered.go(2)
    synced = []
    monkeypatch.setattr(answering, "_sync", lambda _, numbers: synced.extend(numbers) or set())
    answered.keeper.workers.forget(answering.LAST)
    answered.go(3)
    assert synced == []
    answered.run_all(1)
    answered.go(2)
    assert (synced, answered.store.answers.owed()) == ([1], [])
