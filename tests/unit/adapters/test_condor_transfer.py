"""Worker nodes that do not see the work directory: files come back before a job leaves the queue, or never."""

from __future__ import annotations

import pytest

from jim.model import State, Witness
from jim.site.file import Batch
from tests.support.stand_ins import Answers, Instead, World

VANISHED = ("again", "vanished: it started, ended, and left no exit record")


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=10, query_seconds=1.0, visible_seconds=1.0))
    world.batch.end_is_death = world.batch.shared_work = False
    return world


def submit(world, pieces=1):
    world.submit(pieces)
    world.until(lambda: len(world.batch.tasks) == pieces)
    world.go(3, 1.0)


def start(world, id_="1", index=1):
    """Start it where nobody sees its claim."""
    world.batch.tasks[id_, index].state = State.RUNNING
    world.batch.tasks[id_, index].nonce = f"{id_}-{index}"


def vanish(world):
    """Let a job run and end without a trace, and another attempt be sent."""
    submit(world)
    start(world)
    world.until(lambda: world.state(1) is State.RUNNING)
    world.batch.kill("1")
    world.until(lambda: len(world.batch.tasks) == 2)


def bring_back(world, id_="1", index=1, **more):
    """Let the batch system put into the submission directory what a job has left."""
    world.batch.finish(id_, index, spool=False, **more)


def attempts(world, n=0):
    return [(each.verdict, each.reason) for each in world.store.attempts(1, n=n)]


def test_the_job_takes_along_what_it_needs(world):
    submit(world)
    directory = world.batch.tasks["1", 1].directory
    assert sorted(each.name for each in (directory / "luggage").iterdir()) == [
        *("jim-publish", "jobs", "local-job", "local-job-outputs", "local-job-watch", "remote-job")
    ]
    assert "set -- 1/s1 " in (directory / "job.sh").read_text()


def test_while_it_is_in_the_queue_nothing_is_concluded(world):
    submit(world)
    start(world)
    world.go(100, 10.0)
    assert world.state(1) is State.RUNNING
    assert attempts(world) == [("", "")]


def test_its_end_is_what_came_back(world):
    submit(world, 2)
    for index in (1, 2):
        start(world, index=index)
    world.go(3, 1.0)
    bring_back(world)
    bring_back(world, index=2, code=7)
    world.until(lambda: world.finished(1))
    assert [world.state(1, n) for n in (0, 1)] == [State.COMPLETED, State.FAILED]
    assert attempts(world, 1) == [("failed", "exit 7")]
    assert world.store.attempts(1, n=0)[0].host == "node1"


def test_what_ran_and_left_nothing_has_vanished(world):
    vanish(world)
    assert attempts(world)[0] == VANISHED
    assert world.store.attempts(1, n=0)[0].started


def test_what_never_ran_is_lost(world):
    submit(world)
    world.batch.kill("1")
    world.until(lambda: len(world.batch.tasks) == 2)
    assert attempts(world)[0] == ("again", "lost: left the queue without starting")
    assert not world.store.attempts(1, n=0)[0].started


def test_what_comes_back_after_the_fence_is_never_taken_up(world):
    vanish(world)
    bring_back(world, code=5)
    start(world, "2")
    world.go(20, 1.0)
    assert attempts(world) == [VANISHED, ("", "")]
    bring_back(world, "2")
    world.until(lambda: world.finished(1))
    assert world.state(1) is State.COMPLETED
    assert len(world.batch.accepted) == 2


def test_a_lost_answer_is_found_by_what_came_back(world):
    """The jobs are no longer in the queue when they are looked for."""
    world.batch.lies += [Instead("submit", Answers.LOST_AFTER)]
    world.submit()
    world.until(lambda: world.batch.tasks)
    start(world)
    bring_back(world)
    world.until(lambda: world.finished(1))
    assert world.state(1) is State.COMPLETED
    assert len(world.batch.accepted) == 1


def test_a_lost_answer_is_found_by_the_history_where_nothing_came_back(world):
    world.batch.find_command = lambda mark: ["query"]
    world.batch.find_ended_command = lambda mark: ["find_ended", mark]
    world.batch.lies += [Instead("submit", Answers.LOST_AFTER)]
    world.submit()
    world.until(lambda: world.batch.tasks)
    start(world)
    world.batch.kill("1")
    world.until(lambda: len(world.batch.tasks) == 2)
    [first, _] = world.store.attempts(1, n=0)
    assert (first.verdict, first.reason) == ("again", "lost: left the queue without starting")
    assert world.store.local_job(1, 0).spent == 1


def test_of_what_is_cancelled_nothing_need_come_back(world):
    submit(world, 2)
    start(world)
    world.until(lambda: world.state(1) is State.RUNNING)
    world.wish("cancel", "1")
    world.until(lambda: world.finished(1))
    assert [world.state(1, n) for n in (0, 1)] == [State.KILLED, State.KILLED]
    assert [world.store.attempts(1, n=n)[0].reason for n in (0, 1)] == [
        "cancelled (no exit record)",
        "cancelled before it started",
    ]


def test_what_completed_before_a_cancel_reached_it_has_completed(world):
    submit(world)
    start(world)
    world.until(lambda: world.state(1) is State.RUNNING)
    world.batch.lies += [Instead("cancel", Answers.LOST_BEFORE)]
    world.wish("cancel", "1")
    world.until(lambda: "cancel" in world.batch.calls)
    bring_back(world)
    world.until(lambda: world.finished(1))
    assert world.state(1) is State.COMPLETED
    assert world.store.local_job(1, 0).witness == Witness.EXIT_RECORD.value


def test_a_reboot_does_not_shorten_the_time_in_which_a_submission_may_come_to_light(world):
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER)]
    world.submit(1)
    world.until(lambda: world.store.submission(1, 1) and world.store.submission(1, 1).state == "unknown")
    hidden = world.batch.tasks["1", 1]
    hidden.hidden = 2
    world.until(lambda: world.store.submission(1, 1).tries == 1, seconds=0.0)
    world.clock.now, world.clock.id = 5.0, "boot-2"
    world.restart()
    world.until(lambda: world.state(1) is State.SUBMITTED, seconds=0.5)
    assert list(world.batch.tasks) == [("1", 1)]
