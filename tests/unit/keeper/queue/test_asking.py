"""A batch system that starts jobs again by itself, or keeps them after their end, against a clock that is set."""

from __future__ import annotations

import pytest

from jim.evidence import verdict
from jim.keeper.attempts import judging
from jim.keeper.queue import asking
from jim.model import Observation, State
from jim.site.file import Batch
from tests.support.stand_ins import Answers, Instead, World


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=10, query_seconds=1.0, visible_seconds=1.0))
    world.batch.end_is_death = False
    world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(1, 1)
    world.batch.start(1, 2)
    world.until(lambda: world.state(1, 1) is State.RUNNING)
    return world


def put_back(world, index, state=State.SUBMITTED):
    """Kill the wrapper and put its task into the queue again, as a batch system does that lost its node."""
    world.batch.tasks["1", index].state = state


@pytest.mark.parametrize("state", [State.SUBMITTED, State.HELD])
def test_a_job_put_back_into_the_queue_is_followed_by_another_attempt_once_its_claim_is_stale(world, state):
    put_back(world, 1, state)
    world.go(5, 1.0)
    assert world.state(1, 0) is State.RUNNING  # its claim may still be touched
    world.until(lambda: len(world.store.attempts(1, n=0)) == 2)
    assert world.store.attempts(1, n=0)[0].reason == (
        "put back into the queue by the batch system after it had started; it left no exit record"
    )


def test_what_is_left_of_an_ended_attempt_is_taken_out_of_the_queue(world):
    put_back(world, 1, State.HELD)
    world.until(lambda: world.batch.tasks["1", 1].state is State.KILLED)
    assert world.batch.tasks["1", 2].state is State.RUNNING


def test_a_fresh_exit_record_ends_it_although_the_queue_shows_it_again(world):
    world.batch.finish(1, 1)
    put_back(world, 1)
    world.until(lambda: world.batch.tasks["1", 1].state is State.KILLED)
    assert world.state(1, 0) is State.COMPLETED
    assert len(world.store.attempts(1, n=0)) == 1


def test_nothing_else_is_taken_out_of_the_queue(world):
    world.batch.lies += [Instead("submit", Answers.LOST_AFTER)]
    world.submit(1, key="k2")
    world.until(lambda: len(world.batch.tasks) == 3)
    before = world.batch.calls.count("cancel")
    world.go(10, 1.0)
    assert world.batch.calls.count("cancel") == before
    assert world.batch.tasks["2", 1].state is State.SUBMITTED


def test_what_a_listing_shows_of_ended_jobs_is_not_looked_up_one_by_one(world, monkeypatch):
    """Batch systems show what has ended for some minutes: a query would cost as much as all of that."""
    world.batch.finish(1, 1)
    world.until(lambda: world.state(1, 0) is State.COMPLETED)
    mark, asked = world.store.submission(1, 1).mark, []
    listing = {("1", index): Observation(State.COMPLETED, mark=mark) for index in range(1, 200)}
    for name in ("attempt", "submission", "any_attempt"):
        real = getattr(type(world.store), name)
        monkeypatch.setattr(
            type(world.store), name, lambda self, *key, real=real, name=name: asked.append(name) or real(self, *key)
        )
    assert asking._leftovers(world.keeper, world.store, listing, list(world.store.live())) == ([], {})
    assert asked == ["submission"]
    put_back = {("1", 1): Observation(State.SUBMITTED, mark=mark)}
    assert asking._leftovers(world.keeper, world.store, put_back, []) == ([("1", 1)], {})


def lingers(world):
    """Let the first local job have its end reported while its batch job goes on; give the task."""
    world.batch.finish(1, 1, state=State.RUNNING)
    world.until(lambda: world.state(1, 0) is State.COMPLETED)
    return world.batch.tasks["1", 1]


def test_a_batch_job_that_runs_ten_minutes_after_its_completed_end_is_told_of_and_cancelled(world, caplog):
    task = lingers(world)
    world.go(10, 50.0)
    assert (task.state, "cancel" in world.batch.calls) == (State.RUNNING, False)  # it may take its time to end
    world.until(lambda: task.state is State.KILLED, seconds=50.0)
    assert world.batch.tasks["1", 2].state is State.RUNNING  # the same array
    assert world.state(1, 0) is State.COMPLETED
    (line,) = (each for each in world.store.journals.of(1, 0) if each.now == "cancelled in the batch system")
    assert line.reason == asking.LINGERS
    assert caplog.text.count("JIM cancels batch job 1, index 1") == 1


def test_it_is_cancelled_too_where_the_batch_system_keeps_what_was_cleared(world, monkeypatch):
    task, put_back = lingers(world), world.batch.tasks["1", 2]
    world.batch.finish(1, 2)
    world.until(lambda: world.state(1, 1) is State.COMPLETED)
    world.submit(1, key="k2")
    put_back.state = State.SUBMITTED
    real = world.batch.cancel_command
    monkeypatch.setattr(world.batch, "cancel_command", lambda ids: real([each for each in ids if each != ("1", 2)]))
    world.until(lambda: task.state is State.KILLED, seconds=50.0, rounds=100)
    assert put_back.state is State.SUBMITTED


def test_a_batch_job_that_runs_on_is_cancelled_too_if_the_outputs_of_its_attempt_were_lost(world):
    task = lingers(world)
    with world.store.transaction():
        lost = verdict.of_lost_outputs("dat: gone")
        judging.spoil(world.keeper, (1, 1, 1), lost, gives_up=True, failed=lambda: None)
    world.until(lambda: task.state is State.KILLED, seconds=50.0, rounds=100)


def test_one_listing_alone_cancels_no_batch_job_that_runs(world):
    """The next one shows that it has ended."""
    task = lingers(world)
    world.go(2, 1.0)
    world.go(1, 610.0)
    world.go(2, 0.0)
    task.state = State.COMPLETED
    world.go(5, 50.0)
    assert "cancel" not in world.batch.calls


def test_a_batch_job_whose_attempt_has_failed_or_not_ended_is_not_cancelled_however_long_it_runs(world):
    world.batch.finish(1, 1, code=3, state=State.RUNNING)
    world.until(lambda: world.state(1, 0) is State.FAILED)
    for _ in range(40):
        world.batch.tasks["1", 2].directory.joinpath("claim.2").touch()
        world.go(1, 50.0)
    assert world.batch.tasks["1", 1].state is State.RUNNING
    assert "cancel" not in world.batch.calls


def last_lingers(world):
    """Let both local jobs have their end reported, while the batch job of the first one goes on; give its task."""
    task = lingers(world)
    world.batch.finish(1, 2)
    world.until(lambda: world.finished(1))
    return task


def queries(world):
    return world.batch.calls.count("query")


def test_a_batch_job_that_runs_on_is_cancelled_too_after_the_last_end_of_all(world):
    task = last_lingers(world)
    world.until(lambda: bool(world.keeper.doubts.lingering), seconds=1.0, rounds=10)
    assert not world.rounds.idle()
    world.go(10, 50.0)
    assert "cancel" not in world.batch.calls
    world.until(lambda: task.state is State.KILLED, seconds=50.0, rounds=10)
    world.until(world.rounds.idle, seconds=1.0, rounds=10)
    world.until(lambda: not world.store.fact(asking.MAY_BE_LEFT), rounds=10)
    before = queries(world)
    world.go(10, 50.0)
    assert queries(world) == before


def test_an_account_without_jobs_is_asked_about_once_after_the_last_end(world):
    """It was running in the last listing with a submission; so one more is needed, and no more."""
    world.batch.finish(1, 1)
    world.batch.finish(1, 2)
    world.until(lambda: world.finished(1), seconds=0.0)
    before = queries(world)
    assert world.rounds.idle()  # a keeper that is to end does not wait for it
    world.go(20, 1.0)
    assert queries(world) == before + 1


def test_the_next_keeper_makes_the_listing_that_the_last_one_had_no_time_for(world):
    task = last_lingers(world)
    world.restart()
    world.until(lambda: task.state is State.KILLED, seconds=50.0, rounds=20)
    world.restart()
    world.go(20, 50.0)
    before = queries(world)
    world.restart()
    world.go(20, 50.0)
    assert queries(world) == before


def test_a_failed_listing_after_the_last_end_is_made_again(world):
    task = last_lingers(world)
    world.batch.lies += [Instead("query", Answers.DOWN), Instead("query", Answers.GARBAGE)]
    world.until(lambda: task.state is State.KILLED, seconds=50.0, rounds=40)


def test_what_no_cancel_ends_is_told_of_and_left_after_a_day(world, monkeypatch, caplog):
    task = last_lingers(world)
    monkeypatch.setattr(world.batch, "_cancel", lambda *_: "")
    world.go(20, 50.0)
    assert not world.rounds.idle()
    world.go(30, 3600.0)
    assert (task.state, world.rounds.idle()) == (State.RUNNING, True)
    assert caplog.text.count("although JIM has cancelled them: 1, index 1. JIM asks about them no more") == 1
    before = queries(world)
    world.restart()
    world.go(20, 50.0)
    assert queries(world) == before


def test_what_is_put_back_into_the_queue_after_the_last_end_is_taken_out(world):
    last_lingers(world).state = State.SUBMITTED
    world.until(lambda: world.batch.tasks["1", 1].state is State.KILLED, rounds=10)
