"""What an attempt was sent with is stored, and judged by: an edit of what runs rewrites no verdict."""

from __future__ import annotations

import pytest

from jim.doors import inbox
from jim.errors import BadRequest
from jim.model import Resources, State
from tests.support.stand_ins import Answers, Instead


def killed_after_seven_seconds(world, submission="1"):
    """End a payload as a site does that kills it: signal 9."""
    world.clock.now += 7
    world.batch.finish(submission, code=None, signal=9, extra="up 7\n")
    world.go(1)
    return world.store.local_job(1, 0)


def edit(world, **changes):
    inbox.wish(world.site.state, "edit", "1", changes=changes)
    world.go(1)


def runs(world, **asked):
    """Hand in two local jobs, of which one runs and the other one has failed: so an edit is for something."""
    world.submit(2, **asked)
    world.until(lambda: len(world.batch.tasks) == 2)
    for index in (1, 2):
        world.batch.start(1, index)
    world.batch.finish(1, 2, code=3)
    world.until(lambda: world.state(1, 1) is State.FAILED)


def test_an_edit_of_the_time_limit_does_not_rewrite_the_verdict_of_what_runs(world):
    """Killed by the site after 7 s of a day: that is no time limit, and a retry is owed."""
    runs(world, wall_seconds=86_400)
    edit(world, wall_seconds=5)
    local = killed_after_seven_seconds(world)
    assert (local.state, "time limit" in local.reason) == (State.WAITING, False)
    assert world.store.submission(1, 1).wall_seconds == 86_400
    world.until(lambda: len(world.batch.accepted) == 2, seconds=60.0)
    assert world.store.submission(1, 2).wall_seconds == 5
    world.batch.start(2)
    local = killed_after_seven_seconds(world, "2")
    assert (local.state, local.reason[:10]) == (State.FAILED, "time limit")


def test_a_longer_limit_does_not_let_what_ran_into_a_shorter_one_be_tried_again(world):
    runs(world, wall_seconds=5)
    edit(world, wall_seconds=86_400)
    assert killed_after_seven_seconds(world).state is State.FAILED


def test_what_is_edited_between_the_intent_and_the_batch_command_counts(world, monkeypatch):
    world.batch.lies = [Instead("submit", Answers.NOT_STARTED)]
    world.submit(2, wall_seconds=86_400)
    world.until(lambda: "submit" in world.batch.calls, seconds=0.0)
    assert [each.wall_seconds for each in world.store.submissions("intended")] == [86_400]
    # A race that only a kill brings about.
    monkeypatch.setattr("jim.keeper.inbox.editing.refuse_what_is_sent", lambda *_: "")
    edit(world, wall_seconds=5)
    world.until(lambda: world.batch.tasks)
    assert world.store.submission(1, 1).wall_seconds == 5
    world.batch.start(1)
    assert killed_after_seven_seconds(world).state is State.FAILED


def test_an_edit_after_a_keeper_was_killed_before_the_answer_does_not_change_what_it_had_sent(world, monkeypatch):
    # The keeper is killed before it records that.
    monkeypatch.setattr("jim.keeper.queue.sending._record", lambda *_: None)
    world.submit(1, wall_seconds=86_400)
    world.until(lambda: world.batch.tasks)
    monkeypatch.undo()
    monkeypatch.setattr("jim.keeper.inbox.editing.refuse_what_is_sent", lambda *_: "")
    world.restart()
    edit(world, wall_seconds=4)
    world.until(lambda: world.store.submission(1, 1).state == "confirmed", seconds=10.0)
    assert world.store.submission(1, 1).wall_seconds == 86_400
    world.batch.start(1)
    local = killed_after_seven_seconds(world)
    assert (local.state, "time limit" in local.reason) == (State.WAITING, False)
    assert len(world.batch.accepted) == 1


def test_a_site_s_own_limit_is_stored_too(world):
    runs(world)
    assert world.store.submission(1, 1).wall_seconds == world.site.batch.wall_seconds


def test_a_job_type_that_is_gone_leaves_what_was_sent(world, monkeypatch):
    runs(world, wall_seconds=86_400)

    def gone(*_):
        raise BadRequest("gone")

    monkeypatch.setattr("jim.keeper.attempts.asked_for.handler_of", gone)
    assert killed_after_seven_seconds(world).state is State.WAITING


@pytest.mark.parametrize("asked", [60, None])
def test_what_is_stored_is_what_the_batch_command_was_given(world, monkeypatch, asked):
    seen, build = [], world.batch.submit_command
    monkeypatch.setattr(world.batch, "submit_command", lambda batch: seen.append(batch) or build(batch))
    world.submit(1, wall_seconds=asked)
    world.until(lambda: world.batch.tasks)
    assert seen[0].resources.wall_seconds == world.store.submission(1, 1).wall_seconds


def told_of_limit(world):
    """Give what the wrappers of the first submission are told of their time limit."""
    world.until(lambda: len(world.batch.tasks) == 1)
    lines = (world.site.work / "1/s1/jobs").read_text().splitlines()
    return [line for line in lines if line.startswith(("* wall ", "* warn "))]


def test_a_wrapper_that_is_to_warn_is_told_the_time_limit(world):
    world.submit(1, wall_seconds=3600, warn_seconds=60)
    assert told_of_limit(world) == ["* wall 3600", "* warn 60"]


def test_the_site_may_have_payloads_warned_if_their_limit_is_long_enough(world):
    world.keeper.site = world.keeper.site._replace(batch=world.keeper.site.batch._replace(warn_seconds=100))
    world.submit(1, wall_seconds=3600)
    assert told_of_limit(world) == ["* wall 3600", "* warn 100"]
    assert world.keeper.site.complete(Resources(wall_seconds=100)).warn_seconds is None
    assert world.keeper.site.complete(Resources(wall_seconds=101, warn_seconds=7)).warn_seconds == 7


def test_without_a_wish_to_be_warned_a_wrapper_is_told_no_limit(world):
    world.submit(1, wall_seconds=3600)
    assert told_of_limit(world) == []


def test_words_of_a_request_follow_those_of_the_site(world, monkeypatch):
    seen, really = [], world.batch.submit_command
    monkeypatch.setattr(world.batch, "submit_command", lambda batch: (seen.append(batch.options), really(batch))[1])
    world.keeper.site = world.keeper.site._replace(batch=world.keeper.site.batch._replace(options=("--site",)))
    world.submit(1, batch_options=["--nice=5"])
    world.until(lambda: seen)
    assert seen == [("--site", "--nice=5")]
