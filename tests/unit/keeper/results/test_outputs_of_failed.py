"""What failed and killed local jobs have left: in folders of their own in the tar, apart from what has completed."""

from __future__ import annotations

import errno
import json
import os
import tarfile
from pathlib import Path

import pytest

from jim.keeper.results import outputs_of_failed
from jim.model import State, Witness
from jim.site.file import Limits
from jim.workdir import verified
from tests.support.stand_ins import World
from tests.unit.keeper.runs import files


def started(world: World, size: int) -> int:
    world.batch.end_is_death = True
    world.keeper.site = world.site._replace(limits=Limits(attempts=1))
    grid = world.submit(size)
    world.until(lambda: len(world.batch.tasks) == size)
    for index in range(1, size + 1):
        world.batch.start(1, index)
    world.go(2)
    return grid


def run_of(world: World, grid: int, index: int, k: int = 1) -> Path:
    place = world.site.work / str(grid) / f"s{k}" / f"run.{index}"
    place.mkdir(exist_ok=True)
    return place


def tar_of(world: World, grid: int) -> dict[str, bytes]:
    """Return what is in the tar, but for the summary."""
    world.until(lambda: world.finished(grid))
    with tarfile.open(world.store.grid_job(grid).result["tar"]) as tar:
        assert all(member.isreg() for member in tar)
        return {member.name: tar.extractfile(member).read() for member in tar if member.name != "summary.json"}


def left(world: World, grid: int) -> dict[str, bytes]:
    return {name: content for name, content in tar_of(world, grid).items() if not name.startswith("jim/")}


def told(world: World, grid: int, n: int = 0) -> dict:
    return json.loads(tar_of(world, grid)["jim/summary.json"])[n]


def test_what_a_failed_local_job_has_left_is_apart_from_what_has_completed(world):
    grid = started(world, 2)
    world.batch.finish(1, 1, **files(stdout=b"good\n", stderr=b"", dat=b"data"))
    world.batch.finish(1, 2, code=3, **files(stdout=b"step 1\n", stderr=b"no such calibration\n", dat=b"half"))
    assert left(world, grid) == {
        "1.0/stdout": b"good\n",
        "1.0/stderr": b"",
        "1.0/dat": b"data",
        "1.1.failed/stdout": b"step 1\n",
        "1.1.failed/stderr": b"no such calibration\n",
        "1.1.failed/dat": b"half",
    }
    assert told(world, grid, 1)["left"] == "1.1.failed"
    assert told(world, grid, 1)["left_by"] == {
        "attempt": 1,
        "verified": ["stdout", "stderr", "dat"],
        "unverified": {},
        "left_out": [],
    }
    assert "left" not in told(world, grid, 0)
    job = world.store.grid_job(grid)
    assert (job.outcome, job.result["local_jobs"], job.result["unfinished"]) == ("failed", 1, 1)


def test_what_was_cancelled_is_not_lost(world):
    """One has an exit record, one was killed without, and one was never sent."""
    world.keeper.site = world.site._replace(limits=Limits(queued=2))
    grid = world.submit(3)
    world.batch.end_is_death = True
    world.until(lambda: len(world.batch.tasks) == 2)
    keys = sorted(world.batch.tasks)
    for key in keys:
        world.batch.start(*key)
    world.go(2)
    (run_of(world, grid, 2) / "stdout").write_bytes(b"event 1\nevent 2\n")
    world.wish("cancel", str(grid))
    world.go(1)
    world.batch.finish(*keys[0], code=None, signal=15, **files(stdout=b"almost\n", dat=b"half"))
    assert left(world, grid) == {
        "1.0.killed/stdout": b"almost\n",
        "1.0.killed/dat": b"half",
        "1.1.killed/stdout.unverified": b"event 1\nevent 2\n",
    }
    assert told(world, grid, 1)["left_by"]["unverified"] == {"stdout.unverified": 16}
    assert world.store.counts(grid) == {State.KILLED: 3}
    assert "left" not in told(world, grid, 2)
    job = world.store.grid_job(grid)
    assert (job.outcome, job.result["local_jobs"], job.result["unfinished"]) == ("killed", 0, 2)


@pytest.mark.parametrize(("size", "begin"), [(9, b"012345678"), (10, b"123456789")])
def test_without_an_exit_record_the_last_bytes_are_there_and_are_called_unverified(world, monkeypatch, size, begin):
    monkeypatch.setattr(outputs_of_failed, "MOST_UNVERIFIED", 9)
    grid = started(world, 1)
    (run_of(world, grid, 1) / "stderr").write_bytes(b"0123456789"[:size])
    (run_of(world, grid, 1) / "dat").write_bytes(b"nobody knows whether this is whole")
    world.batch.kill(1)
    assert left(world, grid) == {"1.0.failed/stderr.unverified": begin}
    assert told(world, grid)["left_by"]["unverified"] == {"stderr.unverified": size}


@pytest.mark.parametrize("spoil", ["changed", "gone", "link", "longer"])
def test_what_no_longer_matches_the_exit_record_is_left_out_and_told(world, spoil):
    grid, said = started(world, 1), b"012345678"
    world.batch.finish(1, 1, code=1, **files(stdout=said, stderr=b"why", dat=b"data"))
    stdout = run_of(world, grid, 1) / "stdout"
    if spoil in ("changed", "longer"):
        stdout.write_bytes(b"876543210" if spoil == "changed" else b"0123456789")
    else:
        stdout.unlink()
    if spoil == "link":
        (stdout.parent / "elsewhere").write_bytes(said)
        stdout.symlink_to("elsewhere")
    assert left(world, grid) == {"1.0.failed/stderr": b"why", "1.0.failed/dat": b"data"}
    why = {
        "changed": "stdout: other content than when the payload ended",
        "gone": "stdout: No such file or directory",
        "link": "stdout: is or lies behind a link",
        "longer": "stdout: 10 bytes instead of 9",
    }
    assert told(world, grid)["left_by"]["left_out"] == [why[spoil]]
    assert world.store.grid_job(grid).tries == 0


@pytest.mark.parametrize("hostile", ["link", "link to the directory", "pipe", "directory"])
def test_no_link_is_followed_and_only_regular_files_are_read(world, tmp_path, hostile):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "stdout").write_bytes(b"a key")
    grid = started(world, 1)
    place = run_of(world, grid, 1)
    if hostile == "link to the directory":
        place.rmdir()
        place.symlink_to(secret)
    elif hostile == "link":
        (place / "stdout").symlink_to(secret / "stdout")
    elif hostile == "pipe":
        os.mkfifo(place / "stdout")
    else:
        (place / "stdout").mkdir()
    world.batch.kill(1)
    assert left(world, grid) == {}
    assert len(told(world, grid)["left_by"]["left_out"]) == (2 if hostile == "link to the directory" else 1)
    assert world.store.grid_job(grid).result["unfinished"] == 0


def test_the_files_are_those_of_the_last_attempt_that_ran(world):
    """The second attempt waits in the queue when the grid job is cancelled."""
    grid = started(world, 1)
    world.keeper.site = world.site._replace(limits=Limits(attempts=3))
    world.batch.finish(1, 1, code=1, recovery="recoverable", **files(stdout=b"first\n"))
    world.until(lambda: len(world.batch.tasks) == 2)
    world.wish("cancel", str(grid))
    assert left(world, grid) == {"1.0.killed/stdout": b"first\n"}
    assert (told(world, grid)["attempt"], told(world, grid)["left_by"]["attempt"]) == (2, 1)


def test_of_several_attempts_that_ran_the_last_one_is_there(world):
    grid = started(world, 1)
    world.keeper.site = world.site._replace(limits=Limits(attempts=3))
    world.batch.finish(1, 1, code=1, recovery="recoverable", **files(stdout=b"first\n"))
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(2, 1)
    world.batch.finish(2, 1, code=1, **files(stdout=b"second\n"))
    assert left(world, grid) == {"1.0.failed/stdout": b"second\n"}


def test_what_may_still_run_is_left_alone(world):
    """A local job has ended, but its attempt has no verdict: no move ends one like that."""
    grid = started(world, 1)
    (run_of(world, grid, 1) / "stdout").write_bytes(b"goes on")
    world.store.set_local_job(grid, 0, state=State.FAILED, witness=Witness.USER)
    assert left(world, grid) == {}
    assert told(world, grid)["left_by"]["left_out"] == ["everything: the attempt may still run"]


@pytest.mark.parametrize("heals", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_file_server_that_does_not_answer_is_asked_again_and_then_left_out(world, monkeypatch, heals, recorded):
    grid, opened, failures = started(world, 2), verified.open_regular, []

    def away(path):
        if path.name == "stdout" and path.parent.name == "run.2" and (not heals or len(failures) < 2):
            failures.append(path)
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return opened(path)

    monkeypatch.setattr(verified, "open_regular", away)
    monkeypatch.setattr(verified, "patiently", lambda call: call())
    monkeypatch.setattr(outputs_of_failed, "patiently", lambda call: call())
    if recorded:
        world.batch.finish(1, 2, code=1, **files(stdout=b"why\n", stderr=b"e"))
    else:
        (run_of(world, grid, 2) / "stdout").write_bytes(b"why\n")
        (run_of(world, grid, 2) / "stderr").write_bytes(b"e")
        world.batch.kill(1, 2)
    world.batch.finish(1, 1, **files(dat=b"data"))
    ending = "" if recorded else ".unverified"
    both = {f"1.1.failed/stdout{ending}": b"why\n", f"1.1.failed/stderr{ending}": b"e", "1.0/dat": b"data"}
    if not heals:
        del both[f"1.1.failed/stdout{ending}"]
    assert left(world, grid) == both
    assert told(world, grid, 1)["left_by"]["left_out"] == ([] if heals else ["stdout: Input/output error"])
    assert len(failures) == (2 if heals else 1 + outputs_of_failed.TRIES)


def test_a_full_disk_leaves_nothing_out(world, monkeypatch):
    """However often: what was not written is the tar's fault, not that of the files."""
    grid, refused = started(world, 1), []
    add = outputs_of_failed.Tar.add

    def full(tar, name, size, content, **how):
        if name.startswith("1.0.failed") and len(refused) < 5:
            refused.append(name)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        add(tar, name, size, content, **how)

    monkeypatch.setattr(outputs_of_failed.Tar, "add", full)
    world.batch.finish(1, 1, code=1, **files(stdout=b"why\n"))
    assert left(world, grid) == {"1.0.failed/stdout": b"why\n"}
    assert len(refused) == 5
