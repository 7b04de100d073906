"""The promise, when people wish something: cancel, suspend, resume and retry."""

from __future__ import annotations

from jim.doors.gram.protocol import USER_CANCELLED, is_failure
from jim.keeper.inbox.accepting import TakingInbox
from jim.keeper.queue import fulfilling
from jim.keeper.results.aging import Aging
from jim.model import State, Step
from jim.reading.job import waits
from jim.reading.view import View
from jim.site.file import Limits
from tests.support.stand_ins import Answers, Instead, World


def test_cancel_ends_waiting_pending_and_running(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, limits=Limits(queued=2))
    grid = world.submit(3)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(1, 1)
    world.go(2, 1.0)
    world.wish("cancel", str(grid))
    world.until(lambda: world.finished(grid))
    world.go()
    assert {job.state for job in world.store.local_jobs(grid)} == {State.KILLED}
    assert world.answer(grid).endswith("GRAM_SCRIPT_ERROR:8\n\n")
    assert len(world.batch.ledger) == 1
    assert world.batch.start(1, 2) is False  # fenced


def test_cancel_of_one_local_job_leaves_the_others(world):
    grid = world.submit(3)
    world.until(lambda: len(world.batch.tasks) == 3)
    world.wish("cancel", f"{grid}.1")
    world.until(lambda: world.state(grid, 1) is State.KILLED)
    world.run_all(grid)
    assert [world.state(grid, n) for n in range(3)] == [State.COMPLETED, State.KILLED, State.COMPLETED]


def test_a_cancel_is_said_again_until_it_is_seen(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go()
    world.batch.lies = [Instead("cancel", Answers.LOST_BEFORE), Instead("cancel", Answers.DOWN)]
    world.wish("cancel", str(grid))
    world.until(lambda: world.finished(grid))
    assert world.batch.calls.count("cancel") >= 3
    assert world.state(grid) is State.KILLED


def test_a_cancel_that_could_not_be_said_is_told_of(world):
    grid = world.submit()
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2, 1.0)
    world.batch.lies = [Instead("cancel", Answers.DOWN)]
    world.wish("cancel", str(grid))
    world.until(lambda: "cancel" in world.batch.calls, seconds=0.0)
    world.go()
    view = View(world.site, world.store)
    told = [each.what for each in waits.of_grid_job(view, world.store.grid_job(grid))]
    words = "down (exit 1 after 0.0 s: cancel 1.1)"
    assert f"JIM could not pass all of the request on to the batch system: {words}" in told
    world.until(lambda: world.batch.calls.count("cancel") == 2)
    world.go()
    assert View(world.site, world.store).published.unsaid == {}


def test_cancel_of_an_unknown_submission_makes_sure_that_it_never_runs(world):
    world.batch.lies = [Instead("submit", Answers.LOST_BEFORE)]
    grid = world.submit(1)
    world.until(lambda: "submit" in world.batch.calls)
    world.wish("cancel", str(grid))
    world.until(lambda: world.finished(grid))
    directory = world.site.work / "1/s1"
    late = world.batch._submit("jim-cafe0001-1-1", str(directory), "1")
    assert world.batch.start(late) is False
    assert world.batch.ledger == []


def test_very_many_that_wait_are_cancelled_by_and_by(tmp_path, monkeypatch):
    """The loop goes on between, so that what runs is ended meanwhile, and others are served."""
    world, told = World(tmp_path, monkeypatch, limits=Limits(queued=2)), []
    monkeypatch.setattr(fulfilling, "WAITING_AT_ONCE", 2)
    grid = world.submit(7)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.store.set_grid_job(grid, wish="cancel")
    monkeypatch.setattr(world.keeper.workers, "later", lambda _, task: told.append(task))
    world.move(fulfilling.Fulfilling)(world.keeper, world.store.grid_job(grid))
    assert world.store.counts(grid) == {State.SUBMITTED: 2, State.KILLED: 2, State.WAITING: 3}
    while told:
        told.pop()()
    assert world.store.counts(grid) == {State.SUBMITTED: 2, State.KILLED: 5}
    assert [world.store.local_job(grid, n).reason for n in (1, 2, 6)] == [
        "",
        *["cancelled before it was submitted"] * 2,
    ]


def test_cancel_before_the_split(world):
    grid = world.submit(2)
    world.wish("cancel", str(grid))
    world.until(lambda: world.finished(grid))
    assert world.store.grid_job(grid).outcome == "killed"
    assert world.batch.calls == []


def test_suspend_holds_what_is_pending_and_stops_sending(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, limits=Limits(queued=2))
    grid = world.submit(4)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(1, 1)
    world.go(2, 1.0)
    world.wish("suspend", str(grid))
    world.go(10, 1.0)
    assert world.store.counts(grid) == {State.SUSPENDED: 1, State.HELD: 1, State.WAITING: 2}
    world.go(2)
    assert world.answer(grid) == "GRAM_SCRIPT_JOB_STATE:16\n\n"
    world.wish("resume", str(grid))
    world.until(lambda: world.state(grid, 1) is State.SUBMITTED)
    world.batch.finish(1, 1)
    world.run_all(grid)
    assert len(world.batch.ledger) == 4


def test_a_local_job_is_cancelled_while_others_wait_to_be_resumed(world, monkeypatch):
    """Where all slots are taken, what was suspended goes on some day only: that must not keep the cancel waiting."""
    grid = world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    for index in (1, 2):
        world.batch.start(1, index)
    world.until(lambda: world.store.counts(grid) == {State.RUNNING: 2})
    world.wish("suspend", str(grid))
    world.until(lambda: world.store.counts(grid) == {State.SUSPENDED: 2})
    monkeypatch.setattr(world.batch, "_resume", lambda *_: "")
    world.wish("resume", str(grid))
    world.until(lambda: world.batch.calls.count("resume") == 3)
    world.wish("cancel", f"{grid}.1")
    world.until(lambda: world.state(grid, 1) is State.KILLED)
    assert world.state(grid, 0) is State.SUSPENDED


def test_retry_of_a_finished_grid_job_opens_it_again(world):
    grid = world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(1, 1)
    world.batch.finish(1, 1, code=9)
    world.run_all(grid)
    assert world.store.grid_job(grid).outcome == "failed"
    world.wish("retry", str(grid))
    world.go(1)
    world.run_all(grid)
    assert world.store.grid_job(grid).outcome == "completed"
    assert len(world.batch.ledger) == 3


def test_a_grid_job_that_is_being_removed_does_not_open_again(world, monkeypatch):
    """What a worker has begun to remove would lose its rows all the same, with a new attempt on its way."""
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, code=9)
    world.until(lambda: world.finished(grid))
    monkeypatch.setattr(world.clock, "utc", lambda: "2100-01-01T00:00:00.000Z")
    world.keeper.workers.forget("age")
    world.move(Aging)(world.keeper)
    world.wish("retry", str(grid))
    world.move(TakingInbox)(world.keeper)
    assert world.state(grid) is State.FAILED
    world.go(3)
    assert world.store.grid_jobs(*Step) == []
    assert list((world.site.state / "inbox").glob("wish*")) == []


def test_a_wish_for_a_local_job_waits_until_there_are_local_jobs(world):
    grid = world.submit(3)
    world.wish("cancel", f"{grid}.1")
    world.until(lambda: len(world.batch.tasks) == 2)
    assert world.state(grid, 1) is State.KILLED
    assert [path.name for path in (world.site.state / "inbox").iterdir() if path.name.startswith("wish")] == []


def test_a_retry_does_not_undo_a_cancel_under_way(world):
    grid = world.submit(3)
    world.until(lambda: len(world.batch.tasks) == 3)
    for index in (1, 2, 3):
        world.batch.start(1, index)
    world.batch.finish(1, 1, code=1)
    world.until(lambda: world.state(grid, 0) is State.FAILED)
    world.wish("cancel", str(grid))
    world.wish("retry", f"{grid}.0")
    world.until(lambda: world.finished(grid))
    assert [world.state(grid, n) for n in range(3)] == [State.FAILED, State.KILLED, State.KILLED]
    assert len(world.batch.ledger) == 3
    job = world.store.grid_job(grid)
    assert job.outcome == "failed"  # as every family of which one has failed
    assert job.reason.startswith("cancelled: 1 of 3 local jobs failed, 2 of 3 local jobs killed: ")
    world.go()
    assert is_failure(world.answer(grid).encode(), USER_CANCELLED)


def test_a_retry_leaves_a_suspended_grid_job_suspended(world):
    grid = world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    for index in (1, 2):
        world.batch.start(1, index)
    world.batch.finish(1, 1, code=1)
    world.until(lambda: world.state(grid, 0) is State.FAILED)
    world.wish("suspend", str(grid))
    world.until(lambda: world.state(grid, 1) is State.SUSPENDED)
    world.wish("retry", f"{grid}.0")
    world.go(10, 1.0)
    assert (world.state(grid, 0), world.batch.calls.count("submit")) == (State.WAITING, 1)
    world.wish("resume", str(grid))
    world.until(lambda: world.batch.calls.count("submit") == 2)
    world.until(lambda: world.state(grid, 1) is State.RUNNING)


def test_what_was_told_to_stop_may_be_silent(world, caplog):
    """A batch system that has forgotten it proves nothing, nor does a claim that a stopped wrapper cannot touch."""
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2, 1.0)
    world.wish("suspend", str(grid))
    world.until(lambda: world.state(grid) is State.SUSPENDED)
    world.batch.tasks.clear()
    world.go(8, 20.0)
    assert "no longer in the queue" not in caplog.text
    world.go(40, 20.0)
    assert world.state(grid) is State.SUSPENDED
    assert "1: suspended local jobs are no longer in the queue" in caplog.text
    world.wish("resume", str(grid))
    world.go(8, 20.0)
    assert world.state(grid) is State.SUSPENDED, "it had not the time to touch its claim"
    world.until(lambda: len(world.batch.accepted) == 2, seconds=20.0)


def test_a_resume_is_not_over_because_a_listing_misses_what_it_is_for(world):
    """An answer of the batch system may show nothing: a job that was suspended would stay so for ever."""
    grid = world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(1, 1)
    world.go(2, 1.0)
    world.wish("suspend", str(grid))
    world.until(lambda: world.store.counts(grid) == {State.SUSPENDED: 1, State.HELD: 1})
    world.batch.lies = [Instead("query", Answers.EMPTY)]
    world.until(lambda: not world.batch.lies)
    world.wish("resume", str(grid))
    world.until(lambda: world.store.counts(grid) == {State.RUNNING: 1, State.SUBMITTED: 1})


def test_what_was_told_to_stop_and_is_known_to_have_ended_need_not_be_resumed(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.end_is_death = False
    world.batch.start(1)
    world.go(2, 1.0)
    world.wish("suspend", str(grid))
    world.until(lambda: world.state(grid) is State.SUSPENDED)
    world.batch.kill(1)
    world.until(lambda: world.state(grid) is State.WAITING, seconds=20.0)
