"""The tar: its summary, and that it holds nothing but what was verified."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import tarfile
import time
from pathlib import Path

import pytest

from jim.keeper import packing, verifying
from jim.model import State
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
