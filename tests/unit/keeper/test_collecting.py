"""The tar: what is in it, what is not, and that it holds nothing but what was verified."""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import json
import os
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from jim.handlers.parametric import Parametric
from jim.keeper import collecting, packing, verifying
from jim.keeper.accepting import TakingInbox
from jim.model import Piece, State, Step
from jim.site.file import Limits
from jim.workdir.tar import Tar
from tests.stand_ins import World


def files(**contents: bytes) -> dict:
    """Give what the stand-in of the wrapper writes, and what it says of it."""
    lines = [f"file {len(c)} {hashlib.sha256(c).hexdigest()} {name}\n" for name, c in contents.items()]
    return {"extra": "".join(lines), "files": list(contents.items())}


def started(world: World, size: int) -> int:
    grid = world.submit(size)
    world.until(lambda: len(world.batch.tasks) == size)
    for index in range(1, size + 1):
        world.batch.start(1, index)
    world.go(2)
    return grid


def run_of(world: World, grid: int, index: int) -> Path:
    return world.site.work / str(grid) / "s1" / f"run.{index}"


def tar_of(world: World, grid: int) -> dict[str, bytes]:
    """Return what is in the tar, but for its folder jim/."""
    world.until(lambda: world.finished(grid))
    with tarfile.open(world.store.grid_job(grid).result["tar"]) as tar:
        chosen = [each for each in tar if not each.name.startswith("jim/")]
        return {member.name: tar.extractfile(member).read() for member in chosen}


@pytest.mark.parametrize("few", [100, 2])
def test_a_cancelled_grid_job_of_which_nothing_was_sent_ends_without_a_tar(world, monkeypatch, few):
    """Many such are cancelled at once: each would cost a directory, a tar and its way to the disk."""
    monkeypatch.setattr(collecting, "FEW", few)
    world.keeper.site = world.site._replace(limits=Limits(queued=0))
    grid = world.submit(3)
    world.until(lambda: world.store.counts(grid) == {State.WAITING: 3})
    world.wish("cancel", str(grid))
    world.move(TakingInbox)(world.keeper)
    at_once = Step.FINISHED if few == 100 else Step.SPLIT
    assert world.store.grid_job(grid).step is at_once
    world.until(lambda: world.finished(grid))
    job = world.store.grid_job(grid)
    assert (job.outcome, job.reason, job.result) == (
        "killed",
        "cancelled: 3 of 3 local jobs killed: cancelled before it was submitted",
        {},
    )
    assert not (world.site.work / "1/result").exists()
    assert [(each.was, each.now) for each in world.store.journal(grid) if each.n == 2] == [("waiting", "killed")]
    world.go()
    assert "GRAM_SCRIPT_ERROR:8\n" in world.answer(grid)


def test_what_was_half_split_before_a_restore_is_forgotten_once_it_is_cancelled(world):
    """Such a grid job is accepted anew: none of its local jobs counts."""
    grid = world.submit(2)
    world.move(TakingInbox)(world.keeper)
    world.store.add_pieces(grid, 0, [Piece(), Piece()])
    world.wish("cancel", str(grid))
    world.until(lambda: world.finished(grid))
    assert (world.store.grid_job(grid).outcome, world.store.local_jobs(grid)) == ("killed", [])


@pytest.mark.parametrize("change", [b"DATA", b"da", b"data and more"])
def test_an_output_that_changed_after_it_was_verified_does_not_get_in(world, change):
    grid = started(world, 2)
    world.batch.finish(1, 1, **files(dat=b"data"))
    world.until(lambda: world.state(grid, 0) is State.COMPLETED)
    (run_of(world, grid, 1) / "dat").write_bytes(change)
    world.batch.finish(1, 2, **files(dat=b"data"))
    world.until(lambda: world.store.grid_job(grid).tries == 1)
    assert "output 1.0/dat changed after it was verified" in world.store.grid_job(grid).reason
    assert list((world.site.work / str(grid) / "result").iterdir()) == []
    (run_of(world, grid, 1) / "dat").write_bytes(b"data")
    assert tar_of(world, grid)["1.0/dat"] == b"data"


@pytest.mark.parametrize(
    "raised", [RuntimeError, NameError, type("Own", (Exception,), {}), SystemExit, FileNotFoundError]
)
def test_what_goes_wrong_in_a_job_types_collect_takes_nothing_from_the_tar(world, monkeypatch, raised):
    """Nor does it end the keeper, which works for other grid jobs, too."""

    def collect(handler, request, results, beside):
        raise raised("no such histogram")

    monkeypatch.setattr(Parametric, "collect", collect)
    grid = started(world, 1)
    world.batch.finish(1, 1, **files(dat=b"data"))
    assert tar_of(world, grid)["1.0/dat"] == b"data"
    job = world.store.grid_job(grid)
    assert (job.outcome, job.tries) == ("completed", 0)
    assert job.result["line"].startswith("the job type could not use the outputs: ")
    assert "no such histogram" in job.result["line"]


def test_a_collect_that_may_work_later_is_tried_again_until_somebody_cancels(world, monkeypatch):
    def collect(handler, request, results, beside):
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(Parametric, "collect", collect)
    grid = started(world, 1)
    world.batch.finish(1, 1, **files(dat=b"data"))
    world.until(lambda: world.store.grid_job(grid).tries == 2)
    assert world.store.grid_job(grid).reason == (
        "collecting: the job type's collect step: [Errno 111] Connection refused"
    )
    world.wish("cancel", str(grid))
    assert tar_of(world, grid)["1.0/dat"] == b"data"
    job = world.store.grid_job(grid)
    line = "the job type could not use the outputs: [Errno 111] Connection refused"
    assert (job.outcome, job.result["line"]) == ("completed", line)


# Its format


NAMES = {"empty": b"", "é": b"x" * 511, "d/" + "n" * 200: b"y" * 512, "a b\t*": b"z" * 513, "large": bytes(3_000_000)}


@pytest.mark.parametrize("size", [0, 1, 3])
def test_the_summary_is_one_json_document_however_many_there_are(world, size):
    """Byte for byte as JIM has always written it: after a restore, tars are compared with the store."""
    grid = world.submit(3)
    world.until(lambda: len(world.batch.tasks) == 3)
    why = 'says "no"\n  }, \u2028 \\ é'
    with world.store.transaction():
        world.store.db.execute("DELETE FROM local_job WHERE n >= ?", (size,))
        world.store.db.execute("UPDATE local_job SET reason = ?", (why,))
    job = world.store.grid_job(grid)
    local_jobs = [{"n": n, "state": "submitted", "attempt": 1, "reason": why} for n in range(size)]
    whole = {"id": 1, "key": "k1", "type": "parametric", "request": job.request, "local_jobs": local_jobs}
    assert b"".join(packing._lines(job, world.store)) == json.dumps(whole, indent=1).encode()


def test_a_tar_is_read_by_others(tmp_path):
    file = tmp_path / "x.tar"
    with file.open("wb") as out:
        tar = Tar(out)
        for name, content in NAMES.items():
            tar.add(name, len(content), [content[:100], content[100:]])
        tar.end()
    assert file.stat().st_size % 10240 == 0
    with tarfile.open(file) as found:
        assert {member.name: found.extractfile(member).read() for member in found} == NAMES
        assert {(member.mode, member.type) for member in found} == {(0o600, tarfile.REGTYPE)}
    done = subprocess.run(["tar", "-xOf", file, "a b\t*"], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"z" * 513, b"")


def test_a_tar_of_nothing_is_whole():
    out = io.BytesIO()
    Tar(out).end()
    assert out.getvalue() == bytes(10240)


def test_a_file_server_that_refuses_every_third_call_does_not_keep_the_tar_from_being_made(world, monkeypatch):
    """With 30 files to open, no try without a refusal would ever come."""
    asked, opened = itertools.count(1), verifying.open_regular

    def refused(path):
        if next(asked) % 3 == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return opened(path)

    monkeypatch.setattr(verifying, "open_regular", refused)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    grid = started(world, 10)
    for index in range(1, 11):
        world.batch.finish(1, index, **files(stdout=b"good\n", stderr=b"", dat=b"data"))
    assert len(tar_of(world, grid)) == 31
    assert not [each.now for each in world.store.journal(grid) if "again" in each.now]
    assert next(asked) > 60, "each file was opened twice: to verify, and for the tar"
