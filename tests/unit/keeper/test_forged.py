"""A payload writes the exit record of another grid job of its account; no honest record is refused for that."""

from __future__ import annotations

import os

import pytest

from jim.model import State
from jim.site.file import Batch
from tests.support.stand_ins import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=10, query_seconds=1.0, visible_seconds=1.0))
    world.submit(1)
    world.submit(1, key="the victim's")
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(2)
    world.until(lambda: world.state(2, 0) is State.RUNNING)
    return world


def forge(world, *, spool=True, nonce="f0f0", code=0, **more):
    """Write an end of the running attempt as its wrapper does, but under another nonce."""
    task = world.batch.tasks["2", 1]
    own, task.nonce = task.nonce, nonce
    world.batch.finish(2, code=code, spool=spool, state=State.RUNNING, **more)
    task.nonce = own
    return task


def rejected(world):
    return list((world.site.work / "rejected").iterdir())


def test_a_forged_end_in_the_spool_ends_nothing(world, caplog):
    forge(world)
    world.go(5)
    assert (world.state(2, 0), len(rejected(world))) == (State.RUNNING, 1)
    assert "the exit record is not of the process that won the claim of its attempt" in caplog.text
    world.batch.finish(2, code=3)
    world.until(lambda: world.state(2, 0) is State.FAILED)
    assert world.store.attempts(2, n=0)[0].reason == "exit 3"


def test_a_forged_end_after_the_honest_one_does_not_replace_it(world, monkeypatch):
    monkeypatch.setattr("jim.keeper.results.verifying.Verifying.__call__", lambda *_: None)
    world.batch.finish(2)
    world.until(lambda: world.state(2, 0) is State.COMPLETING)
    honest = world.store.attempts(2, n=0)[0].record
    forge(world, code=5)
    world.go(2)
    assert (world.store.attempts(2, n=0)[0].record, world.state(2, 0)) == (honest, State.COMPLETING)


def test_a_forged_record_in_its_directory_does_not_keep_a_dead_attempt_from_its_verdict(world):
    """No spool, no queue: the keeper looks into the directory."""
    forge(world, spool=False)
    world.batch.kill(2, 1)
    world.until(lambda: world.store.attempts(2, n=0)[0].verdict, seconds=5.0)
    assert "no exit record" in world.store.attempts(2, n=0)[0].reason


def test_the_record_of_a_wrapper_that_took_over_a_removed_claim_counts(world):
    """Somebody removed the claim, and the batch system started the job once more: only that one has ended."""
    task = world.batch.tasks["2", 1]
    (task.directory / "claim.1").unlink()
    first = task.nonce
    world.batch.start(2)
    assert task.nonce != first
    world.batch.finish(2)
    world.until(lambda: world.state(2, 0) is State.COMPLETED)


@pytest.mark.parametrize("content", [None, "", "nonce\n"])
def test_where_no_claim_can_be_read_a_record_is_accepted(world, content):
    claim = world.batch.tasks["2", 1].directory / "claim.1"
    claim.unlink()
    if content is not None:
        claim.write_text(content)
    forge(world)
    world.until(lambda: world.state(2, 0) is State.COMPLETED)


def test_a_record_waits_while_the_claim_is_out_of_reach(world, monkeypatch):
    def away(directory, index):
        raise OSError(5, os.strerror(5), f"{directory}/claim.{index}")

    with monkeypatch.context() as patched:
        patched.setattr("jim.keeper.attempts.arrivals.claim_of", away)
        forge(world)
        world.go(3)
        assert (world.state(2, 0), rejected(world)) == (State.RUNNING, [])
    world.go(3)
    assert (world.state(2, 0), len(rejected(world))) == (State.RUNNING, 1)


def test_where_no_nonce_is_known_a_record_is_accepted_as_before(world):
    """A version before, which kept none, took in the start; or it is not seen yet."""
    world.store.set_attempt(2, 1, 1, nonce="")
    forge(world)
    world.until(lambda: world.state(2, 0) is State.COMPLETED)


def test_a_nonce_is_kept_until_the_verdict_and_no_longer(world):
    assert world.store.attempt(2, 1, 1).nonce == world.batch.tasks["2", 1].nonce
    world.batch.finish(2)
    world.until(lambda: world.state(2, 0) is State.COMPLETED)
    assert world.store.attempt(2, 1, 1).nonce == ""
    world.batch.start(1)
    world.batch.finish(1, code=3)
    world.until(lambda: world.state(1, 0) is State.FAILED)
    assert world.store.attempt(1, 1, 1).nonce == ""


@pytest.mark.parametrize("nonce", ["x" * 37, "a b", "\x1b[2J", "é"])
def test_an_odd_nonce_of_a_start_is_not_kept(world, nonce):
    task = world.batch.tasks["1", 1]
    world.batch._spool(task, "start", f"nonce {nonce}\nhost node1\nbatch 1\n")
    world.until(lambda: world.state(1, 0) is State.RUNNING)
    assert world.store.attempt(1, 1, 1).nonce == ""


def test_a_name_that_no_file_can_have_ends_no_keeper(world):
    """A payload has the nonce of its own claim, and may write its own end."""
    forge(world, nonce=world.batch.tasks["2", 1].nonce, extra=f"file 0 {'0' * 64} a\0b\n")
    world.go(5)
    assert (world.state(2, 0), len(rejected(world))) == (State.RUNNING, 1)
    world.batch.kill(2, 1)
    world.until(lambda: world.store.attempts(2, n=0)[0].verdict, seconds=5.0)
