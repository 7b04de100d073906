"""Times to come are stored as any machine understands them, and a clock that jumps neither delays nor hurries them."""

from __future__ import annotations

import pytest

from jim.errors import DiskFull
from jim.keeper.clock_jumps import JUMP_SECONDS
from jim.model import State, SubmissionState
from jim.site.file import Batch
from tests.support.sampled import sampled
from tests.support.stand_ins import Answers, Instead, World

DAY = 86_400.0
JUMPS = [DAY, -DAY, 2 * JUMP_SECONDS, JUMP_SECONDS - 1, 1 - JUMP_SECONDS]
LARGE = [jump for jump in JUMPS if abs(jump) > JUMP_SECONDS]


def in_our_days(world):
    """Let its clock tell a time of these years, and a keeper start then."""
    world.clock.jumped = 2.0**31
    world.restart()
    return world


@pytest.fixture
def world(world):
    return in_our_days(world)


def waits_for_its_next_attempt(world):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, code=None, signal=9)
    world.until(lambda: world.state(1) is State.WAITING, seconds=0.0)
    return world.store.local_job(1, 0)


def test_what_is_due_later_is_stored_in_seconds_since_1970(world):
    local = waits_for_its_next_attempt(world)
    assert 2.0**31 < world.clock.epoch() < local.due < world.clock.epoch() + 3600


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("jump", LARGE)
def test_after_a_jump_what_was_to_be_tried_later_is_tried_at_once(world, jump, restarted, caplog):
    waits_for_its_next_attempt(world)
    world.go(2)
    assert len(world.batch.tasks) == 1
    world.clock.jumped += jump
    if restarted:
        world.restart()
    else:
        world.go(1)
        assert "the clock has jumped by" in caplog.text
    world.go(2)
    assert len(world.batch.tasks) == 2


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("jump", set(JUMPS) - set(LARGE))
def test_a_clock_that_is_put_right_a_little_changes_nothing(world, jump, restarted):
    due = waits_for_its_next_attempt(world).due
    ahead = world.clock.followed
    world.clock.jumped += jump
    if restarted:
        world.restart()
    world.go(2)
    assert (world.store.local_job(1, 0).due, world.clock.followed) == (due, ahead)
    world.clock.now += due - ahead - world.clock.now - 0.5
    world.go(2)
    assert len(world.batch.tasks) == 1
    world.go(2, 1.0)
    assert len(world.batch.tasks) == 2


@pytest.mark.parametrize("jump", JUMPS)
def test_what_is_held_stays_held(world, jump):
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.batch.finish(1, code=3, recovery="hold look at it")
    world.until(lambda: world.state(1) is State.WAITING, seconds=0.0)
    world.clock.jumped += jump
    world.go(5, 60.0)
    assert world.store.local_job(1, 0).held
    assert len(world.batch.tasks) == 1


def test_a_jump_that_cannot_be_stored_is_seen_again(world, monkeypatch):
    waits_for_its_next_attempt(world)
    world.clock.jumped += DAY

    def full(_jump):
        raise DiskFull("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "make_due", full)
        for _ in range(2):
            with pytest.raises(DiskFull):
                world.go(1)
    assert len(world.batch.tasks) == 1
    world.go(2)
    assert len(world.batch.tasks) == 2


# No patience that the promise hangs on is shortened


@pytest.fixture
def far(tmp_path, monkeypatch):
    """A site whose worker nodes see no fence: between two looks for a lost submission, time must pass."""
    world = World(tmp_path, monkeypatch, batch=Batch(touch_seconds=10, query_seconds=1.0, visible_seconds=60.0))
    world.batch.end_is_death = world.batch.shared_work = False
    return in_our_days(world)


def lost(world, lie="lost before"):
    """Lose the answer of a submission, and look for it once, in vain."""
    world.batch.lies = [Instead("submit", Answers(lie))]
    world.submit(1)
    world.until(lambda: world.store.submissions(SubmissionState.UNKNOWN))
    hide(world)
    world.until(lambda: world.store.submission(1, 1).tries == 1, seconds=0.0)


def hide(world):
    """Let the batch system not show yet what it has."""
    for task in world.batch.tasks.values():
        task.hidden = 2


@pytest.mark.parametrize(("at", "restarted"), [([5], False), ([5], True), (range(0, 50, 5), False), ([], False)])
@pytest.mark.parametrize("jump", sampled(JUMPS, 2))
def test_a_submission_has_all_its_time_to_come_to_light(far, jump, at, restarted):
    """Accepted, and shown a minute later: it must not be sent a second time."""
    lost(far, "lost after")
    run = far.batch.run

    def jumps(command, **more):
        far.clock.jumped += jump
        return run(command, **more)

    for second in range(50):
        if second in at:
            far.clock.jumped += jump
        if restarted and second in at:
            far.restart()
        if not at:  # then within each round
            far.batch.run = jumps
        far.go(1, 1.0)
        assert far.store.submission(1, 1).state == SubmissionState.UNKNOWN, "given up too early"
        hide(far)
    for task in far.batch.tasks.values():
        task.hidden = 0
    far.until(lambda: far.state(1) is State.SUBMITTED)
    assert len(far.batch.accepted) == 1


@pytest.mark.parametrize("jump", JUMPS)
def test_what_was_never_accepted_is_sent_again_all_the_same(far, jump):
    lost(far)
    began = far.clock.now
    far.clock.jumped += jump
    far.until(lambda: far.batch.tasks)
    assert 60.0 <= far.clock.now - began < 70.0


@pytest.mark.parametrize("restarted", sampled([True, False]))
@pytest.mark.parametrize("jump", sampled(JUMPS, 2))
def test_a_claim_is_silent_for_as_long_as_without_a_jump(tmp_path, monkeypatch, jump, restarted):
    silences = []
    for each in (0.0, jump):
        place = tmp_path / f"{each}"
        place.mkdir()
        world = World(place, monkeypatch, batch=Batch(touch_seconds=60))
        in_our_days(world).batch.end_is_death = False
        world.submit(1)
        world.until(lambda world=world: world.batch.tasks)
        world.batch.start(1)
        world.go(2, 1.0)
        world.batch.kill(1)
        began = world.clock.now
        world.go(30, 2.0)
        world.clock.jumped += each
        if restarted:
            world.restart()
        world.until(lambda world=world: world.state(1) is State.WAITING, seconds=2.0)
        silences.append(world.clock.now - began)
    assert silences[0] == silences[1] >= world.site.batch.silent_seconds


# The format before, which counted from the boot
