"""What has started, and seems dead, is given up by name, so that what lives after all ends itself."""

from __future__ import annotations

import errno
import os
import shutil
from unittest.mock import Mock

import pytest

from jim.keeper.attempts import ending, settling
from jim.keeper.attempts.settling import COME_BACK_SECONDS
from jim.model import State
from jim.site.file import Batch
from tests.support.stand_ins import World

TOUCH = 10  # so that three touches are half a minute
SILENT = 3 * TOUCH


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A local job that runs, and that its batch system has forgotten."""
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=TOUCH))
    world.batch.end_is_death = False
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.until(lambda: world.state(1) is State.RUNNING)
    touch(world)
    return world


def place(world):
    return world.site.work / "1/s1"


def touch(world):
    """Touch the claim, as who holds it does while it lives; tell whether it was told that its attempt is given up."""
    os.utime(place(world) / "claim.1", (world.clock.now, world.clock.now))
    return (place(world) / "over.1").exists()


def forget(world):
    world.batch.tasks["1", 1].hidden = 10**6


def verdict(world):
    return world.store.attempts(1)[0].verdict


def test_who_is_given_up_finds_it_in_the_submission_directory(world):
    forget(world)
    world.until(lambda: verdict(world))
    nonce = world.batch.tasks["1", 1].nonce
    assert (place(world) / "over.1").read_text() == f"nonce {nonce}\nwhy attempt 1 was given up\nend\n"
    assert [each.name for each in place(world).glob("o.*")] == []
    assert world.store.attempts(1)[0].reason == "vanished: it started, ended, and left no exit record"


def test_who_wakes_up_before_the_verdict_is_waited_for(world, monkeypatch):
    forget(world)
    put_over = ending.put_over

    def put_and_wake(*arguments):
        put_over(*arguments)
        monkeypatch.setattr(ending, "put_over", put_over)
        touch(world)

    monkeypatch.setattr(ending, "put_over", put_and_wake)
    world.until(lambda: (place(world) / "over.1").exists())
    for _ in range(3):
        world.go(5, TOUCH / 5)
        assert touch(world)
        assert verdict(world) == ""
    nonce = world.batch.tasks["1", 1].nonce
    (place(world) / "gone.1").write_text(f"nonce {nonce}\nwhy its attempt was given up\nend\n")
    world.go(4, 1.0)
    assert verdict(world) == "again"


def test_who_wakes_up_and_is_silent_again_is_dead(world, monkeypatch):
    forget(world)
    world.until(lambda: world.store.given_up())
    touch(world)
    world.go(SILENT - 5, 1.0)
    assert verdict(world) == ""
    world.until(lambda: verdict(world), rounds=20)


def test_an_exit_record_that_comes_before_the_verdict_counts(world, monkeypatch):
    forget(world)
    put_over = ending.put_over

    def put_and_end(*arguments):
        put_over(*arguments)
        world.batch.finish(1, spool=False)

    monkeypatch.setattr(ending, "put_over", put_and_end)
    world.until(lambda: world.finished(1))
    assert (world.state(1), verdict(world)) == (State.COMPLETED, "completed")


def test_a_decision_is_carried_on_after_a_restart(world):
    forget(world)
    world.until(lambda: world.store.given_up())
    assert verdict(world) == ""
    world.restart()
    world.batch.tasks["1", 1].hidden = 0  # and though the batch system lists it again
    world.until(lambda: verdict(world), rounds=10)
    assert (place(world) / "over.1").exists()


def test_nothing_is_given_up_where_that_cannot_be_written(world, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ending, "put_over", full)
    forget(world)
    world.go(10 * SILENT, 1.0)
    assert verdict(world) == ""
    monkeypatch.undo()


def test_the_directory_by_which_a_wrapper_asks_is_not_taken_for_it(world):
    (place(world) / "over.1").mkdir()
    forget(world)
    world.until(lambda: world.store.given_up())
    world.go(1)
    assert verdict(world) == ""
    world.until(lambda: verdict(world), rounds=10)
    assert (place(world) / "over.1").is_file()


def test_a_wrapper_that_says_that_its_attempt_is_gone_is_believed_at_once(world):
    nonce = world.batch.tasks["1", 1].nonce
    (place(world) / "gone.1").write_text(f"nonce {nonce}\nwhy its wrapper was killed\nend\n")
    forget(world)
    world.until(lambda: verdict(world), rounds=10)
    assert not (place(world) / "over.1").exists()


@pytest.mark.parametrize("text", ["nonce NONCE\nwhy cut", "nonce another\nwhy not ours\nend\n", ""])
def test_what_is_not_said_of_this_claim_proves_nothing(world, text):
    (place(world) / "gone.1").write_text(text.replace("NONCE", world.batch.tasks["1", 1].nonce))
    forget(world)
    world.go(SILENT - 5, 1.0)
    assert verdict(world) == ""


def test_the_end_of_a_job_is_no_death_while_its_claim_is_touched(world):
    """A payload may outlive its wrapper, and with that its batch job."""
    world.batch.end_is_death = True
    world.batch.kill(1)
    for _ in range(10):
        world.go(5, TOUCH / 5)
        touch(world)
        assert verdict(world) == ""
    world.go(int(1.5 * TOUCH) - 5, 1.0)
    assert verdict(world) == ""
    world.until(lambda: verdict(world), rounds=10)


# A file server that is away: worker nodes cannot touch anything meanwhile


@pytest.fixture
def away(world, monkeypatch):
    """Let each look at an attempt fail, or take so long, until it is called."""
    real, how = settling.trace, {}

    def trace(*arguments):
        if "error" in how:
            raise OSError(how["error"], "that")
        world.clock.now += how.get("seconds", 0.0)
        return real(*arguments)

    monkeypatch.setattr(settling, "trace", trace)
    monkeypatch.setattr(settling, "is_seen", lambda _: not how)
    return how


@pytest.mark.parametrize("how", [{"error": errno.EIO}, {"seconds": 25.0}])
def test_silence_begins_anew_after_a_file_server_was_away(world, away, how):
    forget(world)
    world.go(10, 1.0)
    away |= how
    world.go(3, 1.0)
    away.clear()
    world.go(int(COME_BACK_SECONDS) + SILENT - 5, 1.0)
    assert verdict(world) == ""
    world.until(lambda: verdict(world), rounds=20)


def test_a_touch_of_before_that_is_seen_afterwards_does_not_show_that_its_node_is_back(world, away):
    """The head node may reach the file server a minute before a worker node does."""
    forget(world)
    world.go(10, 1.0)
    touch(world)
    away["error"] = errno.EIO
    world.go(3, 1.0)
    away.clear()
    world.go(int(COME_BACK_SECONDS) + SILENT - 5, 1.0)
    assert verdict(world) == ""
    world.until(lambda: verdict(world), rounds=20)


def test_an_attempt_that_is_missed_only_afterwards_is_given_the_same_time(world, away):
    """Another one has shown that the file server was away."""
    forget(world)
    world.go(10, 1.0)
    away["error"] = errno.EIO
    world.go(3, 1.0)
    away.clear()
    world.batch.tasks["1", 1].hidden = 0
    world.go(3, 1.0)
    assert not world.keeper.doubts
    forget(world)
    world.go(int(COME_BACK_SECONDS) - 5, 1.0)
    assert verdict(world) == ""
    world.until(lambda: verdict(world), rounds=SILENT + 10)


def test_rounds_that_fail_at_the_spool_show_that_a_file_server_is_away(world, monkeypatch):
    """Nothing else looks then, as on a soft mount."""
    forget(world)
    world.go(10, 1.0)

    def fails(path):
        raise OSError(errno.EIO, "that")

    with monkeypatch.context() as patch:
        patch.setattr("jim.keeper.attempts.spool.os.scandir", fails)
        patch.setattr("jim.keeper.attempts.spool.is_seen", lambda _: False)
        for _ in range(3):
            with pytest.raises(OSError, match="that"):
                world.go(1)
            world.clock.now += TOUCH
    world.go(int(COME_BACK_SECONDS) - TOUCH - 5, 1.0)
    assert verdict(world) == ""
    world.until(lambda: verdict(world), rounds=SILENT + 2 * TOUCH)


def test_a_time_in_which_nobody_looked_counts_only_in_part(world):
    forget(world)
    world.go(10, 1.0)
    assert not world.store.given_up()
    world.clock.now += 10 * SILENT
    world.go(2)
    assert not world.store.given_up()


def test_one_file_that_cannot_be_read_keeps_no_other_attempt_alive(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=TOUCH))
    world.batch.end_is_death = False
    (world.site.work / "instance").write_text("cafe0001\n")
    world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    for index in (1, 2):
        world.batch.start(1, index)
        world.batch.tasks["1", index].hidden = 10**6
    real = settling.trace

    def trace(directory, index):
        if index == 1:
            raise OSError(errno.EIO, "that")
        return real(directory, index)

    monkeypatch.setattr(settling, "trace", trace)
    world.until(lambda: world.store.attempt(1, 1, 2).verdict)
    assert world.store.attempt(1, 1, 1).verdict == ""


def test_a_payload_that_removes_its_grid_job_s_directory_has_failed(world):
    (world.site.work / "instance").write_text("cafe0001\n")
    shutil.rmtree(world.site.work / "1")
    forget(world)
    world.until(lambda: world.finished(1))
    job = world.store.local_job(1, 0)
    assert (job.state, job.reason) == (State.FAILED, "its directory was removed while attempt 1 ran")
    sent = len(world.batch.ledger)
    world.wish("retry", "1")  # as of a caller that did not look
    world.until(lambda: world.finished(1) and world.store.local_job(1, 0).reason != job.reason, seconds=5.0)
    told = world.store.local_job(1, 0).reason
    assert told == f"never sent: {world.site.work}/1 was removed, and nothing of 1 can run without it"
    assert len(world.batch.ledger) == sent


def test_a_directory_that_is_removed_after_the_decision_holds_up_no_verdict(world):
    (world.site.work / "instance").write_text("cafe0001\n")
    forget(world)
    world.until(lambda: world.store.given_up())
    shutil.rmtree(world.site.work / "1")
    world.until(lambda: verdict(world), rounds=TOUCH + 10)


def test_nobody_is_given_up_by_a_name_that_he_does_not_know(world, monkeypatch):
    """Over NFS the head node may go on not finding a claim for a minute."""
    real, away = ending.trace, ending.trace(place(world), 1)._replace(claim=None)
    monkeypatch.setattr(ending, "trace", lambda *_: away)
    forget(world)
    world.until(lambda: world.store.given_up())
    world.go(4, 1.0)
    assert not (place(world) / "over.1").exists()
    assert verdict(world) == ""
    monkeypatch.setattr(ending, "trace", real)
    world.until(lambda: verdict(world), rounds=10)
    assert (place(world) / "over.1").read_text().startswith(f"nonce {world.batch.tasks['1', 1].nonce}\n")


def test_what_cannot_be_given_up_is_not_told_at_every_look(world, monkeypatch, caplog):
    monkeypatch.setattr(ending, "put_over", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    forget(world)
    world.go(10 * SILENT, 1.0)
    told = [each for each in caplog.messages if "cannot be given up just now" in each]
    assert 1 <= len(told) <= 20


def test_who_has_started_and_has_no_claim_any_more_is_waited_for_like_any_other(world):
    """Someone has tidied the directory up: whoever touches the claim that the keeper then takes, lives."""
    (place(world) / "claim.1").unlink()
    forget(world)
    world.until(lambda: (place(world) / "claim.1").exists())
    for _ in range(5):
        world.go(5, TOUCH / 5)
        touch(world)
    assert (verdict(world), len(world.batch.tasks)) == ("", 1)
    world.until(lambda: len(world.batch.tasks) == 2)
    assert world.store.attempts(1)[0].reason == "vanished: it started, ended, and left no exit record"
