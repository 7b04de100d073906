"""The keeper and carriers, batch jobs that run several local jobs: a batch job is not an attempt."""

from __future__ import annotations

import json

import pytest

from jim.doors import inbox
from jim.keeper.queue.sending import Sending
from jim.model import Kind, State
from jim.site.file import Batch, Limits
from tests.support.carried_by_hand import claim, directory, finish
from tests.support.stand_ins import World

BATCH = Batch(touch_seconds=10, query_seconds=1.0, visible_seconds=1.0, wall_seconds=100)
NEVER_BEGUN = "not begun: the batch jobs of its bundle ended before it had its turn"


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch, batch=BATCH)


def bundled(world, count=6, **more):
    """Hand in a grid job of bundles of two, and wait until its carriers are in the queue."""
    world.submit(count, bundle=2, **more)
    world.until(lambda: len(world.batch.tasks) == -(-count // 2))


def over(world, carrier, code=0):
    """End a carrier, which has begun all that it could."""
    task = world.batch.tasks["1", carrier]
    task.state, task.code = State.COMPLETED if code == 0 else State.FAILED, code


def states(world, count=6):
    return [world.state(1, n).value for n in range(count)]


def test_six_local_jobs_in_bundles_of_two_are_three_batch_jobs(world):
    bundled(world)
    sent = world.store.submission(1, 1)
    assert (sent.size, sent.carriers) == (6, 3)
    jobs = (directory(world) / "jobs").read_text()
    assert "* carriers 3\n* lanes 1\n* wall 100\n* warn 0\n* carrier_wall 260\n" in jobs
    assert "/local-carrier\n" in (directory(world) / "job.sh").read_text()
    assert len(world.store.attempts(1)) == 6


def test_a_local_job_runs_where_its_claim_says(world):
    """Carrier 3 helps: batch job 1 has ended, and local job 0, whose index is 1, runs on."""
    bundled(world)
    claim(world, 3, 1)
    over(world, 1)
    world.go(10, 1.0)
    assert states(world) == ["running", *["submitted"] * 5]
    assert world.store.attempt(1, 1, 1).carrier == 3
    finish(world, 3, 1)
    assert states(world) == ["completed", *["submitted"] * 5]


def test_no_carrier_is_cancelled_because_the_local_job_of_its_number_has_ended(world):
    bundled(world)
    claim(world, 1, 3)
    finish(world, 1, 3)
    assert world.state(1, 2) is State.COMPLETED
    world.go(20, 1.0)
    assert [world.batch.tasks["1", index].state for index in (1, 2, 3)] == [
        State.RUNNING,
        State.SUBMITTED,
        State.SUBMITTED,
    ]


def test_what_no_carrier_had_time_for_is_sent_again_and_that_does_not_count(world):
    bundled(world)
    for carrier in (1, 2, 3):
        claim(world, carrier, carrier)
        finish(world, carrier, carrier)
        over(world, carrier)
    world.until(lambda: len(world.batch.accepted) == 2, 1.0)
    assert states(world) == [*["completed"] * 3, *["submitted"] * 3]
    lost = world.store.attempt(1, 1, 4)
    assert (lost.verdict, lost.reason, lost.kind) == ("again", NEVER_BEGUN, Kind.NOT_BEGUN)
    assert [world.store.local_job(1, n).spent for n in (3, 4, 5)] == [0, 0, 0]
    assert world.store.submission(1, 2).carriers == 2


def test_what_is_never_begun_counts_in_the_end(world):
    """Ten times for nothing; then as often as any loss."""
    world.submit(1, bundle=2)
    for number in range(1, 14):
        world.until(lambda number=number: len(world.batch.accepted) == number, 60.0, 1000)
        task = world.batch.tasks[str(number), 1]
        task.state, task.code = State.COMPLETED, 0
    world.until(lambda: world.finished(1), 60.0)
    assert world.store.local_job(1, 0).reason == f"{NEVER_BEGUN} (attempt 3 of 3)"
    assert len(world.store.attempts(1)) == 13


def test_as_long_as_others_of_its_submission_end_well_nothing_counts(world):
    """Each carrier has time for one of them only: the last one waits for fourteen others."""
    world.submit(15, bundle=15)
    for number in range(1, 16):
        world.until(lambda number=number: len(world.batch.accepted) == number, 60.0, 1000)
        claim(world, 1, 1, k=number)
        finish(world, 1, 1, k=number)
        task = world.batch.tasks[str(number), 1]
        task.state, task.code = State.COMPLETED, 0
    world.until(lambda: world.finished(1), 60.0)
    assert states(world, 15) == ["completed"] * 15


def test_carriers_that_never_ran_cost_an_attempt_as_any_job_does(world):
    bundled(world, 2)
    over(world, 1, code=1)
    world.until(lambda: len(world.batch.accepted) == 2, 10.0)
    assert [world.store.local_job(1, n).spent for n in (0, 1)] == [1, 1]


def test_what_carriers_that_died_had_not_begun_is_not_to_blame(world):
    """As where one of the others took all the memory; else it would fail without ever having run."""
    bundled(world, 2)
    claim(world, 1, 1)
    finish(world, 1, 1)
    (directory(world) / "carried.1").write_text("1\n")
    over(world, 1, code=137)
    world.until(lambda: len(world.batch.accepted) == 2, 10.0)
    assert world.store.local_job(1, 1).spent == 0
    assert world.store.attempt(1, 1, 2).reason == NEVER_BEGUN


def test_a_carrier_s_death_is_that_of_what_it_had_begun_and_not_ended(world):
    world.batch.end_is_death = world.batch.leaves_nothing = True
    bundled(world)
    claim(world, 2, 2)
    finish(world, 2, 2)
    claim(world, 2, 5)
    claim(world, 1, 1)
    over(world, 2, code=1)
    world.until(lambda: world.store.attempt(1, 1, 5).verdict, 1.0)
    assert [bool(world.store.attempt(1, 1, index).verdict) for index in range(1, 7)] == [
        False,
        True,
        False,
        False,
        True,
        False,
    ]
    assert world.state(1, 1) is State.COMPLETED


def test_a_carrier_s_good_end_is_no_reason_for_the_death_of_one_that_it_ran(world):
    """Its wrapper was killed; the carrier went on with others, and exits 0 whatever they did."""
    world.batch.end_is_death = world.batch.leaves_nothing = True
    bundled(world, 2)
    claim(world, 1, 1)
    over(world, 1)
    world.until(lambda: world.store.attempt(1, 1, 1).verdict, 1.0)
    lost = world.store.attempt(1, 1, 1)
    assert (lost.verdict, lost.kind) == ("again", Kind.VANISHED)
    assert "exit 0" not in lost.reason


def test_one_whose_wrapper_was_killed_is_tried_again_while_its_carrier_goes_on(world):
    """The report of the spool alone ends nothing: a payload could have written it."""
    bundled(world, 2)
    claim(world, 1, 1)
    told = world.site.work / "spool" / f"{world.batch.tasks['1', 1].mark}.1.gone"
    told.write_text("x\n")
    world.go(5, 1.0)
    assert not world.store.attempt(1, 1, 1).over
    assert not (directory(world) / "over.1").exists()
    (directory(world) / "gone.1").write_text(f"nonce {1:032x}\nend\n")
    told.write_text("x\n")
    world.until(lambda: world.store.attempt(1, 1, 1).verdict, 1.0)
    lost = world.store.attempt(1, 1, 1)
    assert (lost.verdict, lost.kind) == ("again", Kind.VANISHED)
    assert world.batch.tasks["1", 1].state is State.RUNNING


def test_one_that_waits_is_cancelled_by_its_claim_and_no_batch_job_is(world):
    bundled(world)
    claim(world, 1, 1)
    inbox.wish(world.site.state, "cancel", "1.4")
    world.until(lambda: world.state(1, 4) is State.KILLED)
    assert "fence" in (directory(world) / "claim.5").read_text()
    assert "cancel" not in world.batch.calls
    assert states(world) == ["running", *["submitted"] * 3, "killed", "submitted"]


def test_one_that_runs_is_cancelled_alone_and_no_batch_job_is(world):
    bundled(world)
    claim(world, 1, 1)
    inbox.wish(world.site.state, "cancel", "1.0")
    world.until(lambda: (directory(world) / "over.1").exists())
    world.go(5, 1.0)
    assert world.state(1, 0) is State.RUNNING  # until its wrapper says that nothing of it lives
    (directory(world) / "gone.1").write_text(f"nonce {1:032x}\nend\n")
    world.until(lambda: world.state(1, 0) is State.KILLED, 1.0)
    assert "cancel" not in world.batch.calls
    assert world.batch.tasks["1", 1].state is State.RUNNING


def test_a_cancelled_grid_job_has_all_its_carriers_cancelled(world):
    bundled(world)
    claim(world, 1, 1)
    inbox.wish(world.site.state, "cancel", "1")
    world.until(lambda: world.finished(1), 10.0)
    assert states(world) == ["killed"] * 6
    assert {task.state for task in world.batch.tasks.values()} == {State.KILLED}


def test_while_a_grid_job_is_suspended_its_carriers_begin_nothing(world):
    """Those that wait are held, and those that run are suspended, and would begin nothing anyway."""
    world.batch.can_suspend = True
    bundled(world)
    claim(world, 1, 1)
    inbox.wish(world.site.state, "suspend", "1")
    world.until(lambda: world.state(1, 0) is State.SUSPENDED, 1.0)
    assert (directory(world) / "stop").exists()
    assert [world.batch.tasks["1", index].state for index in (1, 2, 3)] == [State.SUSPENDED, State.HELD, State.HELD]
    world.go(3, 1.0)
    assert states(world) == ["suspended", *["submitted"] * 5]  # for the one that is suspended may go on
    inbox.wish(world.site.state, "resume", "1")
    world.until(lambda: world.state(1, 0) is State.RUNNING, 1.0)
    assert not (directory(world) / "stop").exists()
    world.go(5, 1.0)
    assert [world.batch.tasks["1", index].state for index in (1, 2, 3)] == [
        State.RUNNING,
        State.SUBMITTED,
        State.SUBMITTED,
    ]


def test_local_jobs_whose_carriers_are_all_held_are_held(world):
    bundled(world)
    inbox.wish(world.site.state, "suspend", "1")
    world.until(lambda: states(world) == ["held"] * 6, 1.0)
    inbox.wish(world.site.state, "resume", "1")
    world.until(lambda: states(world) == ["submitted"] * 6, 1.0)
    assert len(world.batch.accepted) == 1


def test_what_was_not_begun_while_suspended_is_sent_again_after_it(world):
    bundled(world, 2)
    inbox.wish(world.site.state, "suspend", "1")
    world.until((directory(world) / "stop").exists)
    over(world, 1)
    world.until(lambda: states(world, 2) == ["waiting"] * 2, 1.0)
    world.go(20, 1.0)
    assert len(world.batch.accepted) == 1
    inbox.wish(world.site.state, "resume", "1")
    world.until(lambda: len(world.batch.accepted) == 2, 1.0)


def test_limits_of_the_queue_are_of_batch_jobs(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=BATCH, limits=Limits(queued=4, per_submission=3))
    world.submit(14, bundle=2)
    world.until(lambda: len(world.batch.tasks) == 4)
    world.go(5)
    assert [world.store.submission(1, k).carriers for k in (1, 2)] == [3, 1]
    assert world.store.in_batch() - world.store.batch_jobs_saved() == 4
    assert world.store.counts(1)[State.WAITING] == 6
    world.submit(3, key="alone")
    world.go(5)
    assert world.store.counts(2) == {State.WAITING: 3}


def test_a_full_queue_halves_the_batch_jobs_of_the_next_submission(world):
    sending = world.move(Sending)
    sending.most = 2
    world.submit(12, bundle=4)
    world.until(lambda: len(world.batch.tasks) == 3)
    assert [world.store.submission(1, k).carriers for k in (1, 2)] == [2, 1]


def test_the_accounting_names_the_carrier_in_the_array(world):
    """It is what the batch system's own accounting has; the piece is in the line anyway."""
    bundled(world)
    claim(world, 3, 1)
    finish(world, 3, 1)
    world.go(3, 1.0)
    (file,) = (world.site.state / "accounting").glob("????-??-??.jsonl")
    (line,) = map(json.loads, file.read_text().splitlines())
    assert (line["local_job"], line["batch_id"], line["index"], line["host"]) == (0, "1", 3, "wn1")
