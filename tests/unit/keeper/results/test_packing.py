"""The tar: its summary, and that it holds nothing but what was verified."""

from __future__ import annotations

import errno
import itertools
import json
import os
import tarfile
import time

import pytest

from jim.keeper.results import packing
from jim.model import State
from jim.workdir import verified
from tests.unit.keeper.runs import files, run_of, started, tar_of


def test_an_output_that_can_be_executed_can_be_so_in_the_tar(world):
    grid = started(world, 2)
    world.batch.finish(1, 1, **files(dat=b"data", prog=b"#!/bin/sh\n"))
    (run_of(world, grid, 1) / "prog").chmod(0o4775)
    world.batch.finish(1, 2, code=3, **files(prog=b"#!/bin/sh\n"))
    (run_of(world, grid, 2) / "prog").chmod(0o700)
    tar_of(world, grid)
    with tarfile.open(world.store.grid_job(grid).result["tar"]) as tar:
        modes = {each.name: each.mode for each in tar if not each.name.startswith("jim/")}
    assert modes == {"summary.json": 0o600, "1.0/dat": 0o600, "1.0/prog": 0o700, "1.1.failed/prog": 0o700}


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


def test_the_summary_names_private_variables_without_their_values(world):
    grid = world.submit(1, environment={"GLOBUS_GRAM_JOB_CONTACT": "https://gk:2119/1/", "A": "1"})
    world.until(lambda: world.batch.tasks)
    told = json.loads(b"".join(packing._lines(world.store.grid_job(grid), world.store)))
    assert told["request"]["environment"] == {"GLOBUS_GRAM_JOB_CONTACT": "(not shown)", "A": "1"}


def test_a_file_server_that_refuses_every_third_call_does_not_keep_the_tar_from_being_made(world, monkeypatch):
    """With 30 files to open, no try without a refusal would ever come."""
    asked, opened = itertools.count(1), verified.open_regular

    def refused(path):
        if next(asked) % 3 == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return opened(path)

    monkeypatch.setattr(verified, "open_regular", refused)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    grid = started(world, 10)
    for index in range(1, 11):
        world.batch.finish(1, index, **files(stdout=b"good\n", stderr=b"", dat=b"data"))
    assert len(tar_of(world, grid)) == 31
    assert not [each.now for each in world.store.journals.of(grid) if "again" in each.now]
    assert next(asked) > 60, "each file was opened twice: to verify, and for the tar"
