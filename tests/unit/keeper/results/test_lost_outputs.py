"""Outputs that are lost or changed after they were verified: no tar waits for them for ever, and none lies."""

from __future__ import annotations

import errno
import json
import os
import shutil
from itertools import pairwise

import pytest

from jim.doors import inbox
from jim.errors import JimError, StoreError
from jim.files import durable
from jim.keeper import recorded_outputs
from jim.keeper.results import collecting, lost_outputs, packing, verifying
from jim.keeper.results.naming import Naming
from jim.model import Kind, State, Step, Verb
from jim.reading.job.effects import effect, offered
from jim.reading.view import View
from jim.site.file import Limits
from jim.statusdb.grid.host_evidence import tried_lately
from jim.workdir import verified
from tests.unit.keeper.runs import files, run_of, started, tar_of

HELD = "If the files come back, JIM goes on by itself. If not, `jim retry 1` tries these local jobs again"


def done(world, size, spoil=()):
    """Let all local jobs but the last one complete, spoil outputs, then let the last one complete."""
    grid = started(world, size)
    for index in range(1, size):
        world.batch.finish(1, index, **files(dat=b"data"))
    world.until(lambda: world.store.counts(grid).get(State.COMPLETED) == size - 1)
    for n in spoil:
        (run_of(world, grid, n + 1) / "dat").unlink()
    world.batch.finish(1, size, **files(dat=b"data"))
    return grid


def again(world, grid, n):
    """Let the second attempt of a local job run and end well."""
    world.until(lambda: world.state(grid, n) is State.SUBMITTED)
    k = world.store.local_job(grid, n).submission
    ((job, index),) = [(id_, idx) for (id_, idx), task in world.batch.tasks.items() if task.mark.endswith(f"-{k}")]
    world.batch.start(job, index)
    world.batch.finish(job, index, **files(dat=b"anew"))


# What was verified is durable before the store says so


def test_outputs_are_durable_before_their_local_job_is_completed(world, monkeypatch):
    seen = []
    grid = started(world, 2)
    real = verifying.sync_local
    monkeypatch.setattr(
        verifying, "sync_local", lambda places: seen.append(([*places], world.store.counts(grid))) or real(())
    )
    world.batch.finish(1, 1, **files(dat=b"data"))
    world.batch.finish(1, 2, **files(dat=b"data"))
    world.until(lambda: world.finished(grid))
    places = [place for some, _ in seen for place in some]
    assert sorted(places) == [run_of(world, grid, 1), run_of(world, grid, 2)]
    assert not any(State.COMPLETED in counts for some, counts in seen[:1])


def test_a_disk_that_takes_no_sync_completes_nothing(world, monkeypatch):
    grid = started(world, 1)
    with monkeypatch.context() as patch:
        patch.setattr(verifying, "sync_local", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "bad")))
        world.batch.finish(1, 1, **files(dat=b"data"))
        for _ in range(3):
            with pytest.raises(OSError, match="bad"):
                world.go(3, 100.0)
        assert world.state(grid) is State.COMPLETING
    assert tar_of(world, grid)["1.0/dat"] == b"data"


def test_a_run_directory_that_is_gone_and_had_no_outputs_holds_up_nobody(world):
    """Its payload, or somebody who cleaned up, has removed it."""
    grid = started(world, 2)
    world.batch.finish(1, 1)
    run_of(world, grid, 1).rmdir()
    world.batch.finish(1, 2, **files(dat=b"data"))
    world.until(lambda: world.finished(grid))
    assert tar_of(world, grid)["1.1/dat"] == b"data"
    assert world.store.counts(grid) == {State.COMPLETED: 2}


@pytest.fixture
def calls(monkeypatch):
    """Take down what the C library is called for, on a file system that is said to be ext4."""
    found = []

    def call(name, descriptor, path, *more):
        found.append((name, path))
        if name == "fstatfs":
            more[0][:8] = (0xEF53).to_bytes(8, "little")

    monkeypatch.setattr(durable, "_call", call)
    return found


def test_one_call_is_for_all_directories_of_a_file_system(tmp_path, calls):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    durable.sync_local([tmp_path / "a", tmp_path / "b"])
    assert calls == [("fstatfs", ""), ("syncfs", tmp_path / "a")]


def test_a_directory_that_cannot_be_opened_is_made_durable_by_another_one(tmp_path, calls, monkeypatch):
    """A payload may have taken from its directory the right to list it, but its outputs can be read."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    real = os.open

    def opened(path, *more):
        if path == tmp_path / "a":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *more)

    monkeypatch.setattr(durable.os, "open", opened)
    durable.sync_local([tmp_path / "a", tmp_path / "b"])
    durable.sync_local([tmp_path / "a"])
    assert [path for name, path in calls if name == "syncfs"] == [tmp_path / "b", tmp_path]


def test_a_network_file_system_is_left_alone(tmp_path, calls, monkeypatch):
    """It has written what was closed, and a server that is away would hold up the call."""
    monkeypatch.setattr(durable, "LOCAL", {})
    durable.sync_local([tmp_path])
    assert calls == [("fstatfs", "")]


def test_the_calls_of_the_c_library_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(durable, "LOCAL", {0x01021994: "tmpfs", **durable.LOCAL})
    durable.sync_local([tmp_path])
    with pytest.raises(OSError, match="Bad file descriptor") as refused:
        durable._call("syncfs", -1, tmp_path)
    assert (refused.value.errno, refused.value.filename) == (errno.EBADF, str(tmp_path))


# Few are tried again


def test_an_output_that_is_lost_after_it_was_verified_is_made_again(world):
    grid = done(world, 3, spoil=[1])
    again(world, grid, 1)
    tar = tar_of(world, grid)
    assert (tar["1.0/dat"], tar["1.1/dat"], tar["1.2/dat"]) == (b"data", b"anew", b"data")
    first, second = (each for each in world.store.attempts(grid) if each.n == 1)
    assert (first.verdict, second.verdict) == ("again", "completed")
    assert first.reason.startswith("outputs were lost or changed after they were verified: dat: ")
    assert world.store.grid_job(grid).outcome == "completed"
    assert len(world.batch.ledger) == 4


def test_an_output_that_comes_back_in_time_is_not_made_again(world):
    world.keeper.site = world.site._replace(batch=world.site.batch._replace(visible_seconds=20.0))
    grid = done(world, 2, spoil=[0])
    world.until(lambda: world.store.grid_job(grid).tries)
    assert world.store.grid_job(grid).reason == "collecting: output 1.0/dat is gone"
    world.go(10)
    (run_of(world, grid, 1) / "dat").write_bytes(b"data")
    assert tar_of(world, grid)["1.0/dat"] == b"data"
    assert len(world.batch.ledger) == 2


def test_all_that_is_spoilt_is_found_in_one_pass(world, monkeypatch):
    """Each pass reads all outputs, which may be terabytes."""
    passes = []
    real = packing.fill
    monkeypatch.setattr("jim.keeper.results.collecting.fill", lambda *given: passes.append(1) or real(*given))
    monkeypatch.setattr("jim.evidence.verdict.SHARE_LOST", 1)
    grid = done(world, 6, spoil=[0, 2, 4])
    world.until(lambda: world.store.counts(grid).get(State.COMPLETED) == 3)
    assert passes == [1, 1]  # at first, and to be sure


def test_who_has_had_all_attempts_fails_and_the_rest_gets_its_tar(world):
    world.keeper.site = world.site._replace(limits=Limits(attempts=1))
    grid = done(world, 3, spoil=[1])
    tar = tar_of(world, grid)
    assert {name for name in tar if name.endswith("dat")} == {"1.0/dat", "1.2/dat"}
    job = world.store.grid_job(grid)
    assert (job.outcome, world.state(grid, 1)) == ("failed", State.FAILED)
    assert "1 of 3 local jobs failed" in job.reason


def test_the_attempt_that_lost_its_outputs_counts_once(world):
    world.keeper.site = world.site._replace(limits=Limits(attempts=2))
    grid = done(world, 2, spoil=[0])
    world.until(lambda: world.state(grid, 0) is not State.COMPLETED)
    assert world.store.local_job(grid, 0).spent == 1
    again(world, grid, 0)
    assert tar_of(world, grid)["1.0/dat"] == b"anew"


def test_a_next_keeper_comes_to_the_same(world):
    grid = done(world, 3, spoil=[1])
    world.until(lambda: world.store.grid_job(grid).tries)
    world.restart()
    again(world, grid, 1)
    assert tar_of(world, grid)["1.1/dat"] == b"anew"


def test_lost_outputs_do_not_count_against_the_host(world):
    """It had done its work, and its outputs were whole when they were verified."""
    grid = done(world, 2, spoil=[0])
    world.until(lambda: world.state(grid, 0) is State.WAITING)
    (attempt,) = world.store.attempts(grid, n=0)
    assert (attempt.verdict, attempt.kind, attempt.host) == ("again", Kind.OUTPUTS_LOST, "node1")
    assert [each.n for each in tried_lately(world.store, 86_400.0)] == [1]
    again(world, grid, 0)
    k = world.store.local_job(grid, 0).submission
    assert [task.avoid for task in world.batch.tasks.values() if task.mark.endswith(f"-{k}")] == [()]


# More are held


@pytest.fixture
def held(world):
    """A grid job of four that lost three outputs."""
    grid = done(world, 4, spoil=[0, 1, 2])
    world.until(lambda: HELD in world.store.grid_job(grid).reason)
    world.go(20, 100.0)
    return grid


def test_many_are_held_and_told(world, held):
    job = world.store.grid_job(held)
    assert (job.step, world.store.counts(held)) == (Step.COLLECTING, {State.COMPLETED: 4})
    assert job.reason.startswith("collecting: output 1.0/dat is gone; output 1.1/dat is gone; output 1.2/dat is gone. ")
    assert "3 of 4 completed local jobs are affected, and JIM tries only 1 of them again by itself" in job.reason
    told = [line for line in world.store.journals.of(held) if line.now == "collecting failed, will be tried again"]
    assert len(told) == 2  # at first, and when they are held
    assert len(world.batch.ledger) == 4


def test_held_ones_go_on_by_themselves_if_their_files_come_back(world, held):
    for index in (1, 2, 3):
        (run_of(world, held, index) / "dat").write_bytes(b"data")
    assert tar_of(world, held)["1.2/dat"] == b"data"
    assert (len(world.batch.ledger), world.store.grid_job(held).outcome) == (4, "completed")


def test_a_retry_passes_and_tries_them_again(world, held):
    world.wish("retry", str(held))
    world.until(lambda: len(world.batch.tasks) == 7 or world.store.counts(held).get(State.SUBMITTED) == 3)
    assert world.store.counts(held) == {State.COMPLETED: 1, State.SUBMITTED: 3}
    world.run_all(held)
    assert world.store.grid_job(held).outcome == "completed"


def test_a_retry_of_one_leaves_the_others_held(world, held):
    world.wish("retry", f"{held}.1")
    world.until(lambda: world.state(held, 1) is State.SUBMITTED)
    assert world.store.counts(held) == {State.COMPLETED: 3, State.SUBMITTED: 1}


def test_a_retry_of_at_most_two_leaves_the_third_held(world, held):
    inbox.wish(world.site.state, "retry", str(held), most=2)
    world.until(lambda: world.store.counts(held).get(State.SUBMITTED) == 2)
    assert [world.state(held, n) for n in range(4)] == [State.SUBMITTED, State.SUBMITTED, *[State.COMPLETED] * 2]
    assert [each.verdict for each in world.store.attempts(held, n=2)] == ["completed"]


def test_a_retry_by_words_chooses_among_the_spoilt_ones(world, held):
    inbox.wish(world.site.state, "retry", str(held), reason="no such words")
    world.go(5, 1.0)
    assert world.store.counts(held) == {State.COMPLETED: 4}
    inbox.wish(world.site.state, "retry", f"{held}.1-3", reason="after they were verified: dat", most=1)
    world.until(lambda: world.state(held, 1) is State.SUBMITTED)
    assert world.store.counts(held) == {State.COMPLETED: 3, State.SUBMITTED: 1}


def test_a_retry_gives_a_full_set_of_attempts(world, held):
    world.wish("retry", f"{held}.0")
    world.until(lambda: world.state(held, 0) is State.SUBMITTED)
    assert world.store.local_job(held, 0).spent == 0


def test_the_verb_that_the_reason_names_is_not_refused(world, held):
    would = effect(View(world.site, world.store), Verb.RETRY, str(held))
    assert (would.late, would.words) == ("", "local jobs whose outputs were lost get another set of attempts")
    assert Verb.RETRY in offered(world.store.grid_job(held), [State.COMPLETED])


def test_force_passes_and_gives_one_up(world, held):
    for n in (0, 1, 2):
        inbox.wish(world.site.state, "force", f"{held}.{n}", to="failed", reason="lost")
    tar = tar_of(world, held)
    assert {name for name in tar if name.endswith("dat")} == {"1.3/dat"}
    assert world.store.counts(held) == {State.FAILED: 3, State.COMPLETED: 1}


def test_a_cancel_fails_what_is_spoilt_and_makes_the_tar_of_the_rest(world, held):
    world.wish("cancel", str(held))
    tar = tar_of(world, held)
    assert {name for name in tar if name.endswith("dat")} == {"1.3/dat"}
    job = world.store.grid_job(held)
    assert (job.outcome, job.reason[:43]) == ("failed", "cancelled: 3 of 4 local jobs failed: output")
    assert len(world.batch.ledger) == 4


@pytest.mark.parametrize(
    ("size", "lost", "tried"), [(1000, 10, True), (1001, 11, False), (250, 2, True), (250, 3, False)]
)
def test_few_are_one_in_a_hundred_and_at_most_ten(world, size, lost, tried):
    world.store.counts = lambda _: {State.COMPLETED: size}
    one = (
        recorded_outputs.Claimed((1, 1, 1), 0, world.site.work, None),
        recorded_outputs.Problem("dat", "", passes=False, gone=True),
    )
    assert (lost_outputs._held(world.keeper, 1, [one] * lost) == "") is tried


def test_a_directory_that_is_away_costs_no_attempt(world):
    """A work directory that came back empty must not make JIM do everything again."""
    grid = done(world, 3)
    run = run_of(world, grid, 1)
    away = run.rename(run.with_name("elsewhere"))
    world.until(lambda: HELD in world.store.grid_job(grid).reason)
    assert f"{run} is away. If the files come back" in world.store.grid_job(grid).reason
    world.go(20, 1000.0)
    assert world.store.counts(grid) == {State.COMPLETED: 3}
    away.rename(run)
    assert tar_of(world, grid)["1.0/dat"] == b"data"
    assert len(world.batch.ledger) == 3


def test_the_directory_of_a_grid_job_that_is_away_can_come_back(world):
    """JIM itself leaves nothing in its place."""
    grid = done(world, 3)
    world.keeper.workers.wait(("collect", grid), 5.0)
    world.until(lambda: world.store.counts(grid) == {State.COMPLETED: 3}, seconds=0.0)
    place = world.site.work / str(grid)
    away = place.rename(place.with_name("elsewhere"))
    world.until(lambda: HELD in world.store.grid_job(grid).reason)
    away.rename(place)
    tar = tar_of(world, grid)
    assert [tar[f"1.{n}/dat"] for n in range(3)] == [b"data"] * 3
    assert len(world.batch.ledger) == 3


def test_a_directory_that_was_removed_is_tried_again_if_a_person_says_so(world):
    grid = done(world, 3)
    shutil.rmtree(run_of(world, grid, 1))
    world.until(lambda: HELD in world.store.grid_job(grid).reason)
    world.wish("retry", str(grid))
    again(world, grid, 0)
    assert tar_of(world, grid)["1.0/dat"] == b"anew"


def test_an_output_that_cannot_be_read_for_an_hour_is_lost(world, out_of_reach, monkeypatch):
    monkeypatch.setattr("jim.files.PAUSES", ())
    grid = started(world, 2)
    for index in (1, 2):
        world.batch.finish(1, index, **files(dat=b"data"))
    world.until(lambda: world.state(grid, 0) is State.COMPLETED)
    place = run_of(world, grid, 1)
    out_of_reach(verified, "open_inside", errno.EIO, lambda directory, _: directory == place)
    world.until(lambda: world.store.grid_job(grid).tries, seconds=0.1)
    assert "output 1.0/stdout cannot be read" in world.store.grid_job(grid).reason or world.store.grid_job(grid).tries
    world.go(10, 300.0)
    assert world.state(grid, 0) is State.COMPLETED
    world.go(10, 300.0)
    assert world.state(grid, 0) is not State.COMPLETED


def test_a_full_disk_of_the_tar_is_no_fault_of_an_output(world, monkeypatch):
    grid = started(world, 1)
    full = [True]
    real = packing.Tar.add

    def add(self, name, *given, **more):
        if full and name.endswith("/dat"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, name, *given, **more)

    monkeypatch.setattr(packing.Tar, "add", add)
    world.batch.finish(1, 1, **files(dat=b"data"))
    world.until(lambda: world.store.grid_job(grid).tries == 3)
    assert world.keeper.lost.spoilt == {}
    full.clear()
    assert tar_of(world, grid)["1.0/dat"] == b"data"


def test_a_retry_after_a_cancel_waits_for_the_tar_as_ever(world, held):
    """Otherwise what it tries again would be killed at once by the cancel, and nothing would come of the retry."""
    world.wish("cancel", str(held))
    world.wish("retry", str(held))
    world.until(lambda: world.store.counts(held).get(State.SUBMITTED) == 3)
    world.run_all(held)
    assert world.store.grid_job(held).outcome == "completed"


def test_an_edit_before_a_retry_does_not_hold_it_up(world):
    """What it changes is for the one that has failed, too."""
    world.keeper.site = world.site._replace(limits=Limits(attempts=1))
    grid = started(world, 4)
    for index, code in ((1, 0), (2, 0), (3, 0), (4, 1)):
        world.batch.finish(1, index, code=code, **files(dat=b"data"))
        if index == 3:
            world.until(lambda: world.store.counts(grid).get(State.COMPLETED) == 3)
            for lost in (1, 2, 3):
                (run_of(world, grid, lost) / "dat").unlink()
    world.until(lambda: HELD in world.store.grid_job(grid).reason)
    inbox.wish(world.site.state, "edit", str(grid), changes={"memory_mb": 900})
    world.wish("retry", str(grid))
    world.until(lambda: world.store.counts(grid).get(State.SUBMITTED) == 4)
    assert world.store.grid_job(grid).request["memory_mb"] == 900
    assert {each.asked["memory_mb"] for each in world.store.submissions("confirmed", "recorded", grid=grid)} >= {900}


# What is none of an output's


def test_a_trouble_of_the_database_is_none_of_an_output(world, monkeypatch):
    grid = started(world, 2)
    broken = [1, 2, 3]
    real = Naming.names

    def names(self, n, outputs):
        if broken:
            broken.pop()
            raise StoreError("database is locked")
        return real(self, n, outputs)

    monkeypatch.setattr(Naming, "names", names)
    for index in (1, 2):
        world.batch.finish(1, index, **files(dat=b"data"))
    for _ in range(40):
        try:
            world.go(1, 1.0)
        except StoreError:
            assert world.keeper.lost.spoilt == {}
    assert (broken, world.finished(grid)) == ([], True)
    assert [line for line in world.store.journals.of(grid) if "collecting failed" in line.now] == []


def test_a_file_server_that_flaps_has_the_tar_made_ever_more_seldom(world, monkeypatch):
    """Each tar meets it in a bad moment, each look at the same output in a good one."""
    grid = started(world, 1)
    tries = []

    def content(directory, output):
        tries.append(world.clock.boot())
        raise JimError("Stale file handle")
        yield b""

    with monkeypatch.context() as patch:
        patch.setattr(packing, "verified", content)
        world.batch.finish(1, 1, **files(dat=b"data"))
        world.until(lambda: len(tries) >= 8, seconds=0.5, rounds=1000)
    pauses = [after - before for before, after in pairwise(tries)]
    assert pauses[0] < 5
    assert all(30.0 <= pause <= 64.0 for pause in pauses[6:])
    assert tar_of(world, grid)["1.0/dat"] == b"data"
    assert len(world.batch.ledger) == 1


# What was delivered before


@pytest.fixture
def reopened(world):
    """A grid job of three that has finished with a tar, one of them failed, and whose outputs somebody has removed."""
    grid = started(world, 3)
    for index in (1, 2):
        world.batch.finish(1, index, **files(dat=b"data"))
    world.batch.finish(1, 3, code=3)
    world.until(lambda: world.finished(grid))
    for index in (1, 2):
        shutil.rmtree(run_of(world, grid, index))
    world.wish("retry", str(grid))
    return grid


def test_outputs_that_are_gone_after_a_tar_was_made_come_from_that_tar(world, reopened):
    again(world, reopened, 2)
    tar = tar_of(world, reopened)
    assert (tar["1.0/dat"], tar["1.1/dat"], tar["1.2/dat"]) == (b"data", b"data", b"anew")
    assert (len(world.batch.ledger), world.store.grid_job(reopened).reason) == (4, "")


def test_outputs_that_are_gone_with_the_tar_that_had_them_are_not_made_again(world, reopened):
    """Whoever took that tar has them. The new one says what it lacks."""
    (world.site.work / f"{reopened}/result/{reopened}.tar").unlink()
    again(world, reopened, 2)
    assert {name for name in tar_of(world, reopened) if name.endswith("dat")} == {"1.2/dat"}
    job = world.store.grid_job(reopened)
    assert (len(world.batch.ledger), world.store.counts(reopened)) == (4, {State.COMPLETED: 3})
    words = "outputs of 2 completed local jobs are gone, and not in this tar: an earlier tar had them, "
    assert (job.outcome, job.reason[: len(words)], job.result["lost"]) == ("completed", words, 2)
    assert [len(world.store.attempts(reopened, n=n)) for n in range(3)] == [1, 1, 2]


@pytest.mark.parametrize("harm", ["payload", "link", "rest"])
def test_an_earlier_tar_is_believed_only_where_it_has_what_was_verified(world, reopened, harm):
    place = world.site.work / f"{reopened}/result/{reopened}.tar"
    whole = place.read_bytes()
    place.unlink()
    if harm == "link":
        place.with_name("elsewhere").write_bytes(whole)
        place.symlink_to("elsewhere")
    else:
        place.write_bytes(whole.replace(b"data", b"atad") if harm == "payload" else whole[:1500])
    again(world, reopened, 2)
    assert {name for name in tar_of(world, reopened) if name.endswith("dat")} == {"1.2/dat"}


def test_what_has_run_after_the_earlier_tar_is_made_again(world, reopened):
    """Its outputs were never delivered."""
    world.until(lambda: world.state(reopened, 2) is State.SUBMITTED)
    world.batch.start(2, 1)
    world.batch.finish(2, 1, **files(dat=b"anew"))
    world.keeper.workers.wait(("collect", reopened), 5.0)
    world.until(lambda: world.state(reopened, 2) is State.COMPLETED, seconds=0.0)
    (world.site.work / f"{reopened}/s2/run.1/dat").unlink()
    world.until(lambda: ("3", 1) in world.batch.tasks)
    world.batch.start(3, 1)
    world.batch.finish(3, 1, **files(dat=b"once more"))
    tar = tar_of(world, reopened)
    assert (tar["1.0/dat"], tar["1.2/dat"], len(world.batch.ledger)) == (b"data", b"once more", 5)


def test_a_retry_of_what_was_delivered_leaves_it_alone(world, reopened):
    (world.site.work / f"{reopened}/result/{reopened}.tar").unlink()
    again(world, reopened, 2)
    world.until(lambda: bool(world.keeper.lost.spoilt), seconds=0.0)
    world.wish("retry", f"{reopened}.0")
    tar_of(world, reopened)
    assert len(world.batch.ledger) == 4


def test_what_only_a_tar_without_outputs_was_made_of_is_made_again(world):
    """Nobody has its outputs. Here a person wants them after all."""
    grid = started(world, 2)
    request = {**world.store.grid_job(grid).request, "tar": "summary"}
    world.store.set_grid_job(grid, request=json.dumps(request))
    world.batch.finish(1, 1, **files(dat=b"data"))
    world.batch.finish(1, 2, code=3)
    world.until(lambda: world.finished(grid))
    inbox.wish(world.site.state, Verb.EDIT, str(grid), changes={"tar": None})
    (run_of(world, grid, 1) / "dat").unlink()
    world.wish("retry", str(grid))
    again(world, grid, 1)
    world.until(lambda: ("3", 1) in world.batch.tasks)
    again(world, grid, 0)
    tar = tar_of(world, grid)
    assert (tar["1.0/dat"], tar["1.1/dat"]) == (b"anew", b"anew")


def test_what_was_delivered_and_is_made_anew_is_not_left_out(world, reopened, monkeypatch):
    """The first attempt was, the second one was never delivered."""
    (world.site.work / f"{reopened}/result/{reopened}.tar").unlink()
    real, k = collecting.fill, 3

    def full(*words):
        return real(*words[:-1], full_disk(words[-1]))

    def full_disk(left_out):
        if left_out:
            raise OSError(errno.ENOSPC, "full")
        return left_out

    with monkeypatch.context() as patch:
        patch.setattr(collecting, "fill", full)
        again(world, reopened, 2)
        world.until(lambda: world.store.grid_job(reopened).reason == "collecting: [Errno 28] full")
        inbox.wish(world.site.state, Verb.FORCE, f"{reopened}.0", to="failed")
        world.wish("retry", f"{reopened}.0")
        world.until(lambda: (str(k), 1) in world.batch.tasks)
    world.batch.start(k, 1)
    world.batch.finish(k, 1, **files(dat=b"anew"))
    world.keeper.workers.wait(("collect", reopened), 5.0)
    world.until(lambda: world.state(reopened, 0) is State.COMPLETED, seconds=0.0)
    (world.site.work / f"{reopened}/s{k}/run.1/dat").unlink()
    again(world, reopened, 0)
    assert tar_of(world, reopened)["1.0/dat"] == b"anew"
    assert world.store.grid_job(reopened).result["lost"] == 1


@pytest.mark.parametrize("what", ["nothing", "a file", "a link", "a link to nothing"])
def test_what_became_of_one_directory_after_it_was_verified_holds_up_no_other(tmp_path, calls, what):
    """A payload may do that on purpose, at each try: then nothing of its account would ever be completed."""
    (tmp_path / "b").mkdir()
    if what == "a file":
        (tmp_path / "a").write_bytes(b"")
    elif what != "nothing":
        (tmp_path / "a").symlink_to("/proc" if what == "a link" else "nowhere")
    durable.sync_local([tmp_path / "b", tmp_path / "a"])
    assert calls == [("fstatfs", ""), ("syncfs", tmp_path / "b")]


def test_what_was_in_directories_that_are_gone_is_made_durable_by_those_above(tmp_path, calls):
    """Perhaps somebody only moves them."""
    durable.sync_local([tmp_path / "s1/run.1"])
    assert calls == [("fstatfs", ""), ("syncfs", tmp_path)]
