"""What becomes of a grid job of which the batch system refuses a submission."""

import pytest

from jim.errors import BadRequest
from jim.keeper.queue import handing_over
from jim.model import State
from jim.reading.job import waits
from jim.reading.view import View
from jim.request import check
from jim.request.jdf import parse
from jim.site.file import Limits
from tests.support.stand_ins import Answers, Instead, World


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch, limits=Limits(per_submission=2))


def told(world, grid=1):
    return [(each.state.value, each.reason) for each in world.store.local_jobs(grid)]


def end(world, k, *indices):
    for index in indices:
        world.batch.start(k, index)
        world.batch.finish(k, index)


NO = "refused by the batch system: no way"


def test_a_first_submission_that_is_refused_leaves_the_whole_grid_job_unsent(world):
    world.batch.lies = [Instead("submit", Answers.REFUSE)]
    grid = world.submit(5)
    world.until(lambda: world.finished(grid))
    assert world.batch.calls.count("submit") == 1  # and no other is tried
    assert {state for state, _ in told(world)} == {"new"}
    (reason,) = {reason for _, reason in told(world)}
    assert reason.startswith(f"submission 1 was {NO}")
    job = world.store.grid_job(grid)
    assert job.outcome == "failed"
    assert job.reason.startswith(f"5 of 5 local jobs never sent: submission 1 was {NO}")
    world.go()
    assert world.answer(grid).startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:5 of 5 local jobs never sent: submission 1")


def test_a_grid_job_that_was_never_sent_can_be_tried_again(world):
    world.batch.lies = [Instead("submit", Answers.REFUSE)]
    grid = world.submit(3)
    world.until(lambda: world.finished(grid))
    world.wish("retry", str(grid))
    world.until(lambda: len(world.batch.tasks) == 3)
    end(world, 1, 1, 2)
    end(world, 2, 1)
    world.until(lambda: world.finished(grid))
    assert world.store.grid_job(grid).outcome == "completed"
    assert len(world.batch.ledger) == 3


def test_after_a_later_submission_that_is_refused_nothing_more_is_sent(world):
    world.batch.lies = [Instead("submit", Answers.TRUTH), Instead("submit", Answers.REFUSE)]
    grid = world.submit(5)
    world.until(lambda: world.store.counts(grid).get(State.NEW))
    end(world, 1, 1, 2)
    world.until(lambda: world.finished(grid))
    assert world.batch.calls.count("submit") == 2
    assert [state for state, _ in told(world)] == ["completed", "completed", "failed", "failed", "new"]
    assert told(world)[4][1].startswith(f"submission 2 was {NO}")
    assert world.store.grid_job(grid).outcome == "failed"


def test_a_request_may_say_to_keep_going(world):
    world.batch.lies = [Instead("submit", Answers.TRUTH), Instead("submit", Answers.REFUSE)]
    grid = world.submit(5, keep_going=True)
    world.until(lambda: world.batch.calls.count("submit") == 3)
    end(world, 1, 1, 2)
    end(world, 2, 1)
    world.until(lambda: world.finished(grid))
    assert [state for state, _ in told(world)] == ["completed", "completed", "failed", "failed", "completed"]


def test_where_all_are_refused_keeping_going_sends_nothing_either(world):
    world.batch.lies = [Instead("submit", Answers.REFUSE)] * 3
    grid = world.submit(5, keep_going=True)
    world.until(lambda: world.finished(grid))
    assert world.batch.calls.count("submit") == 3
    assert {state for state, _ in told(world)} == {"new"}
    assert world.store.grid_job(grid).outcome == "failed"


def test_a_keeper_that_dies_between_the_refusal_and_its_end_stops_all_the_same(world):
    world.batch.lies = [Instead("submit", Answers.REFUSE)]
    grid = world.submit(5)
    world.until(lambda: bool(world.store.submissions("refused", grid=grid)))
    world.restart()
    world.until(lambda: world.finished(grid))
    assert world.batch.calls.count("submit") == 1
    assert world.store.counts(grid)[State.NEW] == 5


@pytest.mark.parametrize("value", ["yes", 1, "true"])
def test_it_is_true_or_false(value):
    asked = {"job_type": "executable", "executable": "/bin/true", "keep_going": value}
    with pytest.raises(BadRequest, match="keep_going: expected true or false, found"):
        check(asked)


@pytest.mark.parametrize(
    ("text", "value"), [("keep_going = true\n", True), ("keep_going = false\n", False), ("", False)]
)
def test_jdf_says_it_too(text, value):
    attributes = parse(f"job_type = executable\nexecutable = /bin/true\n{text}")
    assert check(attributes)[1]["keep_going"] is value


def test_a_full_work_disk_is_not_told_as_a_batch_system_that_does_not_answer(world, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "/w/1/s1/jobs")

    with monkeypatch.context() as patch:
        patch.setattr(handing_over, "prepare_submission", full)
        grid = world.submit(1)
        world.go(3, 1.0)
        world.submit(1, key="another")
        world.go(20, 5.0)
        view, job = View(world.site, world.store), world.store.grid_job(grid)
        assert (world.keeper.health.failures, view.published.trouble.words, world.batch.tasks) == (0, "", {})
        (told,) = [each for each in waits.of_grid_job(view, job) if "No space" in each.what]
        words = "[Errno 28] No space left on device: '/w/1/s1/jobs'"
        assert told.what == f"JIM cannot write what submission 1 (1 local job) needs: {words}"
        assert told.next.startswith("JIM tries again in ")
        assert told.next.endswith(
            f"; see that JIM can write below {world.site.work}, and that there is room on its disk"
        )
        assert view.unwritten() == words
    world.until(lambda: len(world.batch.tasks) == 2, 5.0)
    assert View(world.site, world.store).unwritten() == ""
    assert len(world.batch.accepted) == 2


def test_on_a_full_work_disk_nothing_else_is_tried_meanwhile(world, monkeypatch):
    tried = []

    def full(*_, **__):
        tried.append(world.clock.boot())
        raise OSError(28, "No space left on device", "/w")

    monkeypatch.setattr(handing_over, "prepare_submission", full)
    world.submit(1)
    world.until(lambda: len(tried) == 3)
    world.submit(1, key="another")
    world.go(5, 0.0)
    assert len(tried) == 3
    world.go(60, 2.0)
    assert 4 < len(tried) < 15
