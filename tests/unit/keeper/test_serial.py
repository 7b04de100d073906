"""A state directory that is older than its work directory, or elsewhere: noticed, said, and gone on with."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import tarfile
import threading
from contextlib import closing
from pathlib import Path

import pytest

from jim.admin import restoring
from jim.cli import main, site_verbs
from jim.errors import BadSite, Outdated
from jim.jobs import whole_reason
from jim.keeper import serial
from jim.keeper.opening import hold_of
from jim.keeper.serial import instances_in, own_work, serials
from jim.model import MARK_VARIABLE, State, Step
from jim.site.file import Site, make_state
from jim.statusdb.grid.restored_submissions import SUPERSEDED, TAKEN_UP
from jim.statusdb.store import Store
from jim.workdir.claims import fence
from jim.workdir.removed import INSTANCE
from tests.support.splitting_work import end_all, submit
from tests.support.stand_ins import Answers, Instead, StandInClock

OF_STATE = ("status.db", "status.db-wal", "status.db-shm")


class Death(BaseException):
    """The keeper is killed."""


def save(world):
    """Save the state directory, as a backup does while no keeper runs."""
    world.keeper.store.close()
    if not (world.site.state / "next-id").exists():  # what was given out later is forgotten with it
        (world.site.state / "next-id").write_text("1\n")
    shutil.copytree(world.site.state, world.site.state.parent / "backup", ignore=shutil.ignore_patterns("work"))
    world.restart()


def put_back(world, *names):
    """Restore it, or only some files of it."""
    world.keeper.store.close()
    backup = world.site.state.parent / "backup"
    for each in world.site.state.iterdir():
        if each.name != "work" and (not names or each.name in names):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    for each in backup.iterdir():
        if not names or each.name in names:
            to = world.site.state / each.name
            shutil.copytree(each, to) if each.is_dir() else shutil.copy2(each, to)


@pytest.fixture(autouse=True)
def waiting(monkeypatch):
    """A clock by which restores wait, so that this takes no time; a list of what happens after each second."""
    clock, next_second = StandInClock(), []

    def sleep(seconds):
        clock.now += seconds
        if next_second:
            next_second.pop(0)()

    monkeypatch.setattr(restoring, "Clock", lambda: clock)
    monkeypatch.setattr(restoring, "sleep", sleep)
    return clock, next_second


def restored(world):
    told = list(restoring.restored(world.site))
    world.restart()
    return told


def stopped_for_people(world):
    """Restore it up to where people are to act; no keeper goes on before the command is given again."""
    told = []
    with pytest.raises(BadSite, match="cancel the batch jobs named above, then run `jim site restored` again"):
        told += restoring.restored(world.site)
    stopped(world, "taken over by another copy")
    return told


def stopped(world, words):
    with pytest.raises(Outdated, match=words):
        world.restart()


def sent(world, count=1, number=1, **asked):
    """Hand in a grid job, and see it sent."""
    assert world.submit(count, key=f"k{number}", **asked) == number
    world.until(lambda: world.store.submissions("recorded", "confirmed", grid=number))


def fail_and_send_again(world, index=1, batch_id="1"):
    """Let an attempt be killed by its site, and see the next one sent."""
    world.batch.start(batch_id, index)
    world.batch.finish(batch_id, index, code=None, signal=9)
    before = len(world.batch.accepted)
    world.until(lambda: len(world.batch.accepted) > before, seconds=30.0)


# Noticing


def test_a_state_directory_restored_from_a_backup_is_noticed(world):
    save(world)
    sent(world)
    put_back(world)
    stopped(world, "older than the work done with it: its serial is 1 in the state directory, 1 in its status.db, ")
    assert world.submit(1, key="later") == 1, "the doors go on"
    restored(world)


@pytest.mark.parametrize("saved", ["before it was sent", "after"])
def test_a_status_db_restored_alone_is_noticed(world, saved):
    if saved == "after":
        sent(world)
    save(world)
    if saved == "after":
        fail_and_send_again(world)
    else:
        sent(world)
    put_back(world, *OF_STATE)
    stopped(world, "its serial is . in the state directory, . in its status.db, . in the work directory")
    restored(world)
    if saved == "after":
        first, second = world.store.attempts(1)
        told = world.store.local_job(1, 0), world.store.submission(1, second.k), first
        assert [whole_reason(each) for each in told] == [TAKEN_UP, TAKEN_UP, SUPERSEDED]
    world.run_all(1)
    assert world.store.grid_job(1).outcome == ("completed" if saved == "after" else "failed")


def test_a_state_directory_that_is_on_another_machine_now_is_noticed(world, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(serial, "MACHINE", tmp_path / "machine-id")
    world.store.db.execute("DELETE FROM meta WHERE name = 'machine'")
    sent(world)
    for text in ("one\n", "uninitialized\n", "", "one\n"):  # a machine without an id is not compared
        (tmp_path / "machine-id").write_text(text)
        world.restart()
    (tmp_path / "machine-id").write_text("another\n")
    stopped(world, "and is now .*/state on machine another: it was moved or copied")
    assert world.keeper.store.close() is None
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    monkeypatch.setattr("jim.run_grid_job.wake", lambda state: None)
    parser = argparse.ArgumentParser()
    site_verbs.add_arguments(parser)
    assert site_verbs.run(parser.parse_args(["moved"])) == 0
    assert "continues as" in capsys.readouterr().out
    assert site_verbs.run(parser.parse_args(["moved"])) == 0
    assert "nothing to do" in capsys.readouterr().out
    world.restart()
    world.run_all(1)
    assert world.store.grid_job(1).outcome == "completed"


def test_a_state_directory_in_another_place_is_noticed_and_moved(world):
    sent(world)
    world.keeper.store.close()
    away = world.site.state.with_name("away")
    world.site.state.rename(away)
    world.site = world.site._replace(state=away)
    stopped(world, "it was moved or copied")
    list(restoring.moved(world.site))
    world.restart()


def test_a_kill_at_each_point_of_raising_needs_no_word_of_anyone(world, monkeypatch):
    """The store first, then the state directory, then the work directory: none of these may look like a restore."""
    real, left = serial.replace_durably, [0]

    def dying(path, content):
        left[0] -= 1
        if left[0] < 0:
            raise Death
        real(path, content)

    world.submit(1)
    for steps in range(4):
        for made in (world.restart, lambda: world.go(1)):
            left[0] = steps
            with monkeypatch.context() as patch:
                patch.setattr(serial, "replace_durably", dying)
                try:
                    made()
                except Death:
                    with closing(Store(world.site.state / "status.db", world.clock)) as store:
                        found = serials(world.site, store)
                    assert found.store >= found.state >= found.work
            world.restart()
    world.run_all(1)
    assert world.store.grid_job(1).outcome == "completed"


def test_a_lost_answer_of_the_last_write_is_not_taken_for_another_keeper(world, monkeypatch):
    sent(world)
    real, failing = serial.replace_durably, [True]

    def lost(path, content):
        real(path, content)
        if failing and path.parent == world.site.work and failing.pop():
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(serial, "replace_durably", lost)
    world.submit(1, key="k2")
    world.until(lambda: len(world.batch.accepted) == 2)


def test_a_keeper_ends_when_another_one_has_worked_in_its_work_directory(world):
    """As that of a machine that was cloned with its id, or of one that was rolled back with its memory."""
    sent(world)
    store, world.keeper.store = world.keeper.store, None
    hold_of(world.site, store)
    world.keeper.store = store
    world.submit(1, key="k2")
    with pytest.raises(Outdated, match="another keeper has worked in"):
        world.go(3)
    assert not (world.site.work / "2").exists()
    world.restart()
    world.run_all(2)


def test_a_keeper_whose_work_directory_another_one_has_taken_removes_nothing_from_it(world):
    """What is over for the one may have been retried with the other, and run."""
    sent(world)
    world.run_all(1)
    store, world.keeper.store = world.keeper.store, None
    hold_of(world.site, store)
    world.keeper.store = store
    world.clock.utc = lambda: "2100-01-01T00:00:00.000Z"
    world.keeper.workers.forget("age")
    with pytest.raises(Outdated, match="another keeper has worked in"):
        world.go(3)
    assert (world.site.work / "1/result/1.tar").exists()
    utc = world.clock.utc
    world.restart()
    world.clock.utc = utc
    world.go(3)
    assert not (world.site.work / "1").exists()


# The version before


# Whose directory it is


def test_a_number_told_again_by_a_door_gets_a_directory_of_its_own(world):
    save(world)
    sent(world)
    world.run_all(1)
    put_back(world)
    assert world.submit(1, key="new") == 1
    told = restored(world)
    assert any("1 belongs to a grid job that JIM no longer knows (its key is k1)" in line for line in told)
    old = sorted(each.name for each in (world.site.work / "1").iterdir())
    world.run_all(1)
    job = world.store.grid_job(1)
    assert (job.outcome, job.key, job.place) == ("completed", "new", f"1-{job.nonce}")
    assert job.result["tar"] == str(world.site.work / job.place / "result/1.tar")
    assert [mark for mark, _ in world.batch.ledger] == ["jim-cafe0001-1-1", f"jim-{world.keeper.hold.instance}-1-1"]
    world.restart()
    assert world.keeper.directory(1) == world.site.work / job.place
    world.store.removals.remove(job)
    world.keeper.workers.forget("age")
    world.go(3)
    assert not (world.site.work / job.place).exists()
    assert sorted(each.name for each in (world.site.work / "1").iterdir()) == old
    assert world.submit(1, key="newer") == 3, "two was drawn to go past it"


def test_what_ends_before_it_is_split_leaves_another_s_directory_alone(world):
    save(world)
    sent(world)
    world.run_all(1)
    put_back(world)
    world.submit(1, key="new")
    restored(world)
    tar = (world.site.work / "1/result/1.tar").read_bytes()
    world.wish("cancel", "1")
    world.until(lambda: world.finished(1))
    assert world.store.grid_job(1).outcome == "killed"
    assert (world.site.work / "1/result/1.tar").read_bytes() == tar


# What was sent, and is forgotten


@pytest.fixture
def forgotten(world):
    """A grid job of two that run; in its backup both are the first attempts, meanwhile a second one was sent."""
    sent(world, 2)
    world.batch.start(1, 2)
    world.go(1)
    save(world)
    fail_and_send_again(world)
    return world


def test_what_was_sent_after_the_backup_and_waits_is_taken_up(forgotten):
    world = forgotten
    put_back(world)
    assert "1: submissions 2 were submitted after the backup was made: JIM looks for them again" in restored(world)
    world.batch.start(2, 1)
    world.batch.finish(2, 1)
    world.batch.finish(1, 2)
    world.run_all(1)
    assert world.store.counts(1) == {State.COMPLETED: 2}
    assert (len(world.batch.accepted), len(world.batch.ledger)) == (2, 3)
    assert [each.verdict for each in world.store.attempts(1, n=0)] == ["again", "completed"]


def resplit_after_the_backup(world, monkeypatch, *, shared):
    """Send two local jobs of which the backup knows nothing, not even that they are."""
    monkeypatch.setattr(world.batch, "shared_work", shared)
    monkeypatch.setattr(restoring, "adapter_of", lambda _: world.batch)
    submit(world, splitter_parameters={"lumis_per_job": 3})
    world.until(lambda: len(world.batch.tasks) == 2)
    end_all(world, 1, 0)
    save(world)
    wish = {"verb": "resplit", "target": "1.0", "parameters": {"lumis_per_job": 2}, "by": "me"}
    (world.site.state / "inbox" / "wish-1").write_text(json.dumps(wish))
    world.until(lambda: ("2", 2) in world.batch.tasks)


@pytest.mark.parametrize("shared", [True, False])
def test_what_a_forgotten_resplit_has_sent_is_cancelled_where_it_runs(world, monkeypatch, shared):
    resplit_after_the_backup(world, monkeypatch, shared=shared)
    world.batch.start(2, 1)
    put_back(world)
    if not shared:  # no fence reaches it, so people end it before a keeper goes on
        assert "cancel these batch jobs" in stopped_for_people(world)[0]
    assert not [line for line in restored(world) if "cancel these batch jobs" in line]
    assert world.finished(1)
    world.submit(1, key="another, for which the queue is listed")
    world.until(lambda: {world.batch.tasks["2", index].state for index in (1, 2)} == {State.KILLED}, seconds=30.0)
    assert world.store.counts(1) == {State.FAILED: 1, State.COMPLETED: 1}


@pytest.fixture
def far_and_forgotten(world, monkeypatch):
    """A grid job whose forgotten resplit has sent two local jobs to worker nodes that see no work directory."""
    resplit_after_the_backup(world, monkeypatch, shared=False)
    put_back(world)
    return world


NAMED = (
    "1: before you run `jim site restored` again, cancel these batch jobs if they exist: "
    "jim-cafe0001-1-2 index 1, jim-cafe0001-1-2 index 2"
)


def test_batch_jobs_that_people_must_cancel_are_named_before_a_keeper_can_start(far_and_forgotten, monkeypatch, capsys):
    """The command itself starts a keeper, as doors do, and that may send the same work again."""
    world, awake = far_and_forgotten, []
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    monkeypatch.setattr("jim.run_grid_job.wake", awake.append)
    monkeypatch.setattr("jim.cli.site_verbs.site_file.load", lambda: world.site)
    assert main(["site", "restored"]) != 0
    printed = capsys.readouterr()
    assert NAMED in printed.out.splitlines()
    assert "then run `jim site restored` again" in printed.err
    assert not awake
    stopped(world, "taken over by another copy")
    assert main(["site", "restored"]) == 0
    assert "cancel" not in capsys.readouterr().out
    assert awake


def test_batch_jobs_that_people_must_cancel_are_named_before_that_is_forgotten(far_and_forgotten):
    """Killed after the line was printed or before: the one command or the next has named them."""
    world, reader = far_and_forgotten, restoring.restored(far_and_forgotten.site)
    assert next(reader) == NAMED
    reader.close()  # killed here, nothing of it is stored
    assert NAMED in stopped_for_people(world)
    restored(world)


def test_a_batch_command_that_outlived_its_keeper_hands_over_nothing_that_people_were_told_to_cancel(
    far_and_forgotten,
):
    its = subprocess.Popen(["sleep", "60"], env={MARK_VARIABLE: "jim-cafe0001-1-2"})
    others = subprocess.Popen(["sleep", "60"], env={MARK_VARIABLE: "jim-cafe0001-1-1"})
    try:
        stopped_for_people(far_and_forgotten)
        assert its.wait(10) == -signal.SIGKILL
        assert others.poll() is None
    finally:
        for each in (its, others):
            each.kill()
            each.wait()


def outputs_in(tar):
    """Return what is in a tar; the journal in its folder jim/ goes on."""
    with tarfile.open(tar) as members:
        return {each.name: members.extractfile(each).read() for each in members if not each.name.startswith("jim/")}


@pytest.mark.parametrize("content", [b"", b"no tar", None])
def test_a_tar_that_was_made_after_the_backup_is_made_anew(world, content):
    sent(world)
    world.run_all(1)
    save(world)
    tar = Path(world.store.grid_job(1).result["tar"])
    was = outputs_in(tar)
    if content is None:
        with tarfile.open(tar, "w") as others:
            others.addfile(tarfile.TarInfo("summary.json"))
    else:
        tar.write_bytes(content)
    put_back(world)
    assert any("1: its tar is newer than the backup" in line for line in restored(world))
    world.until(lambda: world.finished(1))
    assert outputs_in(tar) == was
    assert world.store.grid_job(1).outcome == "completed"
    assert not any("1: its tar" in line for line in restored(world))


def test_a_forgotten_retry_has_all_its_attempts(world):
    sent(world)
    for attempt in (1, 2, 3):
        world.batch.start(attempt)
        world.batch.finish(attempt, code=None, signal=9)
        world.until(lambda attempt=attempt: world.finished(1) or len(world.batch.accepted) > attempt, seconds=30.0)
    world.until(lambda: world.finished(1))
    save(world)
    world.wish("retry", "1")
    world.until(lambda: len(world.batch.accepted) == 4, seconds=30.0)
    put_back(world)
    restored(world)
    world.batch.start(4)
    world.batch.finish(4, code=None, signal=9)
    world.until(lambda: len(world.batch.accepted) == 5, seconds=30.0)
    world.run_all(1)
    assert world.store.grid_job(1).outcome == "completed"


def test_what_was_sent_after_the_backup_and_is_gone_is_fenced_and_sent_anew(forgotten):
    world = forgotten
    world.batch.kill(2)
    put_back(world)
    restored(world)
    world.batch.finish(1, 2)
    world.until(lambda: len(world.batch.accepted) == 3, seconds=30.0)
    assert world.batch.accepted[-1] == f"jim-{world.keeper.hold.instance}-1-3"
    assert not world.batch.start(2, 1), "it is fenced"
    world.run_all(1)
    assert world.store.counts(1) == {State.COMPLETED: 2}


def test_what_has_ended_after_the_backup_is_not_done_again(forgotten):
    world = forgotten
    world.batch.start(2, 1)
    world.batch.finish(2, 1)
    world.batch.finish(1, 2)
    world.until(lambda: world.finished(1))
    put_back(world)
    restored(world)
    world.until(lambda: world.finished(1))
    assert world.store.counts(1) == {State.COMPLETED: 2}
    assert (len(world.batch.accepted), len(world.batch.ledger)) == (2, 3)


@pytest.mark.parametrize("meanwhile", ["fenced", "accepted"])
def test_what_was_just_to_be_sent_in_the_backup_and_was_sent_again_is_looked_for(world, meanwhile):
    """It was handed over anew as the later attempts of its local jobs, and no keeper could go on."""
    world.batch.lies = [Instead("submit", Answers.NOT_STARTED)]
    world.submit(2, key="k1")
    world.until(lambda: world.store.submissions("intended", grid=1))
    save(world)
    if meanwhile == "fenced":
        world.batch.lies = [Instead("submit", Answers.DOWN)]
        world.until(lambda: world.batch.accepted)
    else:
        world.until(lambda: world.batch.accepted)
        fail_and_send_again(world)
    put_back(world)
    restored(world)
    world.run_all(1)
    assert world.store.counts(1) == {State.COMPLETED: 2}
    starts = [mark.rpartition("-")[2] for mark, _ in world.batch.ledger]
    assert starts == (["2", "2"] if meanwhile == "fenced" else ["1", "1", "2"])


def sent_by_another(world):
    """Send two, and let another keeper that believed to go on send them, too: the first of these runs."""
    sent(world, 2)
    there = world.site.work / "1"
    shutil.copytree(there / "s1", there / "s7")
    jobs = (there / "s7/jobs").read_text().replace("jim-cafe0001-1-1", "jim-cafe0001-1-7")
    (there / "s7/jobs").write_text(jobs)
    (there / "s7/c.1").write_text("nonce abc\nhost n\npid 1\nbatch 9\nrestart -\n")
    os.link(there / "s7/c.1", there / "s7/claim.1")
    world.keeper.store.close()
    return there


def test_what_runs_though_a_later_attempt_is_known_is_told_to_end(world, waiting):
    """What the other one has sent is not believed, nor does it start any more; of what was killed comes no word."""
    there = sent_by_another(world)
    began = waiting[0].boot()
    told = restored(world)
    most = 3 * world.site.batch.touch_seconds
    assert f"attempts that count no more were told to end: 1; waiting for that, {most} s at the most" in told
    assert waiting[0].boot() - began == pytest.approx(most, abs=1)
    assert (there / "s7/over.1").exists()
    assert fence(there / "s7", [2])[2].fence
    assert not (there / "s7/over.2").exists()
    world.run_all(1)
    assert world.store.counts(1) == {State.COMPLETED: 2}
    assert world.store.grid_job(1).submissions == 7


def test_no_keeper_goes_on_before_what_was_told_to_end_has_ended(world, waiting):
    """Otherwise the same work, split again, might run beside it."""
    there, instance = sent_by_another(world), world.site.state / "instance"
    (clock, next_second), before = waiting, instance.read_text()
    began = clock.boot()

    def end():
        assert instance.read_text() == before  # without its last step, no keeper opens this state directory
        (there / "s7/gone.1").write_text("nonce abc\nwhy given up\nend\n")

    next_second += [lambda: None, end]
    restored(world)
    assert clock.boot() - began == 2
    assert instance.read_text() != before


def test_what_was_split_and_sent_after_the_backup_is_not_split_beside_what_runs(world):
    world.batch.lies = []
    world.submit(2)
    save(world)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1, 1)
    put_back(world)
    restored(world)
    world.until(lambda: world.finished(1))
    job = world.store.grid_job(1)
    assert (job.outcome, "sent before the state directory was restored" in job.reason) == ("failed", True)
    assert not world.batch.start(1, 2), "what has not started never will"
    assert len(world.batch.accepted) == 1
    assert not (world.site.work / "1/result").exists()


def test_what_was_sent_from_a_directory_beside_another_s_ends_after_a_second_restore(world):
    """Both directories of its number have submissions, and it is to end without having been sent."""
    save(world)
    sent(world)
    put_back(world)
    assert world.submit(1, key="new") == 1
    restored(world)
    shutil.rmtree(world.site.state.parent / "backup")
    save(world)
    before = len(world.batch.accepted)
    world.until(lambda: len(world.batch.accepted) > before)
    put_back(world)
    restored(world)
    world.until(lambda: world.finished(1))
    job = world.store.grid_job(1)
    assert (job.outcome, "sent before the state directory was restored" in job.reason) == ("failed", True)
    assert not world.batch.start(2), "what has not started never will"
    assert (world.site.work / job.place / "result/1.tar").exists()


def test_what_a_finished_grid_job_was_retried_for_goes_on(world):
    sent(world)
    world.batch.start(1)
    world.batch.finish(1, code=3)
    world.until(lambda: world.finished(1))
    save(world)
    world.wish("retry", "1")
    world.until(lambda: len(world.batch.accepted) == 2)
    put_back(world)
    restored(world)
    world.batch.start(2)
    world.batch.finish(2)
    world.until(lambda: world.finished(1))
    assert (world.store.grid_job(1).outcome, len(world.batch.accepted)) == ("completed", 2)


def test_a_request_that_only_its_key_remembers_is_taken_again(world):
    save(world)
    world.submit(1)
    world.go(1)
    world.store.db.execute("PRAGMA wal_checkpoint")
    shutil.rmtree(world.site.work / "1", ignore_errors=True)
    put_back(world, *OF_STATE)
    assert "status.db had forgotten these grid jobs; their requests were submitted again: 1" in restored(world)
    world.run_all(1)
    assert world.store.grid_job(1).outcome == "completed"
    assert world.submit(1) == 1


def test_a_submission_directory_that_another_has_stops_the_keeper(world):
    """As where nobody noticed a restore: what it holds may run, so that nothing may be sent beside it."""
    world.submit(2)
    world.go(1)
    assert world.store.grid_job(1).step is Step.RESOLVED
    for k in (1, 4):
        directory = world.site.work / f"1/s{k}"
        directory.mkdir()
        (directory / "jobs").write_text(f"* mark jim-cafe0001-1-{k}\n1 n 0\n1 attempt {k}\n")
        (directory / "sent").write_text("1\n")
    with pytest.raises(Outdated, match=r"holds a submission that status.db does not know"):
        world.go(3)
    assert world.batch.accepted == []
    world.keeper.store.close()
    assert "1: submissions 1, 4 were submitted after the backup was made: JIM looks for them again" in restored(world)
    assert fence(world.site.work / "1/s1", [1])[1].fence
    assert [world.store.local_job(1, n).attempt for n in (0, 1)] == [4, 0]
    world.run_all(1)
    assert world.batch.accepted == [f"jim-{world.keeper.hold.instance}-1-{k}" for k in (5, 6)]
    assert world.store.counts(1) == {State.COMPLETED: 2}


def test_a_look_for_a_submission_believes_no_other_s_directory(world):
    world.batch.lies = [Instead("submit", Answers.LOST_BEFORE)]
    world.submit(1)
    world.until(lambda: world.store.submissions("unknown"))
    jobs = world.site.work / "1/s1/jobs"
    own = jobs.read_text()
    jobs.write_text(own.replace("jim-cafe0001-1-1", "jim-beef0002-1-1"))
    world.go(5, seconds=30.0)
    assert "belongs to another submission" in world.store.submission(1, 1).trouble
    jobs.write_text(own.replace("n 0", "n ?"))
    world.run_all(1)


@pytest.mark.parametrize("lie", ["not started", "lost before", "lost after"])
@pytest.mark.parametrize("text", ["a\u20281 n 5", "a\x85* mark other"])
def test_no_text_of_a_request_makes_its_submission_another_s(world, lie, text):
    """What some take for the end of a line is none in `jobs`."""
    world.batch.lies = [Instead("submit", Answers(lie))]
    grid = world.submit(argument_sets=[[text]])
    world.until(lambda: world.store.submission(grid, 1) and not world.batch.lies)
    world.clock.now += 1000.0
    world.run_all(grid)
    assert (world.state(grid), len(world.batch.ledger)) == (State.COMPLETED, 1)


def test_marks_of_before_are_believed_as_they_are_stored_and_no_others(world):
    sent(world)
    world.keeper.store.close()
    restored(world)
    assert world.keeper.hold.instance != "cafe0001"
    spool = world.site.work / "spool"
    claim = "nonce a\nhost n\npid 1\nbatch 1\nrestart -\n"
    for name in (f"jim-{world.keeper.hold.instance}-1-1.1.start", "jim-beef0002-1-1.1.start"):
        (spool / name).write_text(claim)
    world.go(1)
    assert (len(list((world.site.work / "rejected").iterdir())), world.state(1)) == (2, State.SUBMITTED)
    world.batch.start(1)
    world.go(1)
    assert world.state(1) is State.RUNNING
    world.batch.finish(1)
    world.until(lambda: world.finished(1))
    world.batch.tasks["1", 1].state = State.HELD
    sent(world, number=3)  # two was drawn to go past it
    world.until(lambda: world.batch.tasks["1", 1].state is State.KILLED)


def test_restored_is_given_again_where_it_was_killed(forgotten, monkeypatch):
    world = forgotten
    put_back(world)
    steps = ["jim.admin.restoring.Hold.take", "jim.admin.restoring._take_up_all", "jim.admin.restoring.inbox.draw_id"]
    for step in steps:
        with monkeypatch.context() as patch:
            patch.setattr(step, lambda *_, **__: (_ for _ in ()).throw(Death))
            with pytest.raises(Death):
                list(restoring.restored(world.site))
        stopped(world, "taken over by another copy|older than")
    restored(world)
    assert len(instances_in(world.site.state)) == 1 + 1 + len(steps)
    world.batch.start(2, 1)
    world.batch.finish(2, 1)
    world.batch.finish(1, 2)
    world.run_all(1)
    assert len(world.batch.ledger) == 3


def test_the_work_directory_of_another_is_not_taken(world, tmp_path):
    sent(world)
    world.keeper.store.close()
    (world.site.work / "instance").write_text("beef0002\n")
    with pytest.raises(BadSite, match="belongs to another state directory"):
        list(restoring.restored(world.site))


# Two at the same instant


def test_of_two_keepers_that_open_one_empty_work_directory_one_goes_on(tmp_path):
    """Of two state directories: the file is made by a link, and then read."""
    for turn in range(30):
        work = tmp_path / f"work{turn}"
        sites = [Site(tmp_path / f"{name}{turn}/state") for name in "ab"]
        for site in sites:
            make_state(site)
            shutil.rmtree(site.work)
            work.mkdir(exist_ok=True)
            site.work.symlink_to(work)
        ready, outcomes = threading.Barrier(2), []

        def take(site, name, ready=ready, outcomes=outcomes):
            ready.wait()
            try:
                own_work(site, (name,), used=False)
                outcomes.append(name)
            except BadSite:
                outcomes.append("")

        threads = [threading.Thread(target=take, args=each) for each in zip(sites, ("aa", "bb"), strict=True)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sorted(outcomes)[0] == "", outcomes
        assert sorted(outcomes)[1] == (work / "instance").read_text().strip()


def test_a_work_directory_whose_instance_makes_no_sense_is_refused_in_words(world):
    (world.site.work / INSTANCE).write_bytes(b"\xff\n")
    world.keeper.store.close()
    with pytest.raises(BadSite, match="belongs to another state directory"):
        world.restart()
