"""A directory of the work directory is away, or was removed; the batch system may have jobs of it."""

from __future__ import annotations

import errno
import shutil

import pytest

from jim.keeper.workers import NEVER
from jim.model import State
from jim.site.file import Batch
from jim.workdir import packages
from jim.workdir.removed import INSTANCE
from tests.support.stand_ins import Answers, Instead, World

TOUCH = 10  # so long a directory may be away


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=TOUCH))
    (world.site.work / INSTANCE).touch()  # it is mounted
    return world


def moved_away(world, name):
    place = world.site.work / name
    return place, place.rename(world.site.work / "elsewhere")


@pytest.mark.parametrize("name", ["1", "1/s1"])
def test_what_waits_in_the_queue_is_not_lost_while_its_directory_is_away(world, name):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.tasks["1", 1].hidden = 10**6
    place, elsewhere = moved_away(world, name)
    world.go(TOUCH - 2, 1.0)
    assert world.store.attempts(1)[0].verdict == ""
    elsewhere.rename(place)
    assert world.batch.start(1)
    world.batch.finish(1)
    world.until(lambda: world.state(1) is State.COMPLETED)


@pytest.mark.parametrize("name", ["1", "1/s1"])
def test_what_waits_in_the_queue_of_a_removed_directory_is_fenced_for_good(world, name):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.tasks["1", 1].hidden = 10**6
    _, elsewhere = moved_away(world, name)
    world.until(lambda: world.store.attempts(1)[0].verdict)
    assert "fence" in (world.site.work / "1/s1/claim.1").read_text().split()
    assert not world.batch.start(1), "its wrapper finds that its claim is taken"
    assert elsewhere.is_dir()


@pytest.mark.parametrize("name", ["1", "1/s1"])
def test_what_an_earlier_keeper_sent_is_looked_for_though_its_directory_is_away(world, name, monkeypatch):
    # The keeper is killed before it records that.
    monkeypatch.setattr("jim.keeper.queue.sending._record", lambda *_: None)
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    monkeypatch.undo()
    place, elsewhere = moved_away(world, name)
    world.restart()
    world.go(5, 1.0)
    elsewhere.rename(place)
    world.until(lambda: world.store.submission(1, 1).state == "confirmed", seconds=5.0)
    assert world.batch.start(1)
    world.batch.finish(1)
    world.until(lambda: world.state(1) is State.COMPLETED)
    assert len(world.batch.accepted) == 1


def test_what_an_earlier_keeper_has_not_begun_to_send_is_sent_at_once(world, monkeypatch):
    # It is killed right after the intent.
    monkeypatch.setattr("jim.keeper.queue.sending.Sending._start", lambda *_: NEVER)
    world.submit(1)
    world.until(lambda: world.store.submission(1, 1))
    monkeypatch.undo()
    world.restart()
    world.until(lambda: world.batch.tasks, seconds=5.0)
    assert [(each.attempt, each.verdict) for each in world.store.attempts(1)] == [(1, "")]


def test_a_refused_submission_that_was_accepted_is_not_called_unsent_while_its_directory_is_away(world):
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER)]
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.tasks["1", 1].hidden = 10**6
    place, elsewhere = moved_away(world, "1/s1")
    world.go(TOUCH - 2, 1.0)
    assert world.store.attempts(1)[0].verdict == ""
    elsewhere.rename(place)
    assert world.batch.start(1)
    world.batch.finish(1)
    world.until(lambda: world.state(1) is State.COMPLETED, seconds=5.0)


def test_a_payload_whose_directory_is_away_for_a_moment_as_it_ends_loses_nothing(world):
    world.batch.leaves_nothing = True
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.until(lambda: world.state(1) is State.RUNNING)
    world.batch.finish(1, spool=False)
    place, elsewhere = moved_away(world, "1/s1")
    world.go(TOUCH - 2, 1.0)
    elsewhere.rename(place)
    world.until(lambda: world.state(1) is State.COMPLETED)


def test_who_is_given_up_is_told_so_in_the_place_of_a_removed_directory(world):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.until(lambda: world.state(1) is State.RUNNING)
    world.batch.tasks["1", 1].hidden = 10**6
    shutil.rmtree(world.site.work / "1/s1")
    world.until(lambda: world.store.attempts(1)[0].verdict)
    assert (world.site.work / "1/s1/over.1").is_file()
    assert world.store.attempts(1)[0].reason == "its directory was removed while attempt 1 ran"


def test_inputs_that_cannot_be_read_for_a_moment_are_read_again(world, tmp_path, monkeypatch):
    given, real, fails = tmp_path / "given", packages.os.listdir, [True]
    given.mkdir()

    def listed(place):
        if str(place) == str(given) and fails:
            fails.pop()
            raise OSError(errno.EIO, "Input/output error", str(place))
        return real(place)

    monkeypatch.setattr(packages.os, "listdir", listed)
    world.submit(1, inputs=[str(given)])
    world.until(lambda: world.batch.tasks, seconds=5.0)
    assert fails == []
