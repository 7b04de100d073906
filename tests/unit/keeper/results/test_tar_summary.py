"""What a tar says of itself."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tarfile

import pytest

from jim.log_lines import json_line
from tests.support.stand_ins import World
from tests.unit.keeper.runs import files


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


def started(world, size):
    grid = world.submit(size)
    world.until(lambda: len(world.batch.tasks) == size)
    for index in range(1, size + 1):
        world.batch.start(1, index)
    return grid


def enclosed(world, grid):
    """Return what is in the folder jim/ of the tar."""
    world.until(lambda: world.finished(grid))
    with tarfile.open(world.store.grid_job(grid).result["tar"]) as tar:
        return {each.name: tar.extractfile(each).read() for each in tar if each.name.startswith("jim/")}


def table(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_it_says_how_each_local_job_ran(world):
    grid = started(world, 2)
    (world.site.state / "keeper.log.1").write_text(f"2026-01-01 12:00:00,000 INFO jim.x {grid}: first\n")
    log = (f"{grid}.1 attempt 1: no", f"{grid}0: not this", f"none of {grid}: nor this")
    (world.site.state / "keeper.log").write_text(
        "".join(f"2026-01-01 12:00:01,000 INFO jim.x {each}\n" for each in log)
        + "".join(json_line("2026-01-01", "INFO", " jim.x ", each) + "\n" for each in log)
    )
    world.batch.finish(1, 1, **files(stdout=b"good\n", dat=b"data"))
    world.batch.finish(1, 2, code=3, **files(stdout=b"bad\n"))
    told = enclosed(world, grid)
    assert set(told) == {"jim/summary.json", "jim/jobs.csv", "jim/journal.csv", "jim/log"}
    first, second = json.loads(told["jim/summary.json"])
    outputs = {each["name"]: (each["bytes"], each["sha256"]) for each in first["outputs"]}
    assert outputs["dat"] == (4, hashlib.sha256(b"data").hexdigest())
    assert (first["state"], first["code"], first["arguments"]) == ("completed", 0, ["0"])
    assert (second["state"], second["code"], second["reason"]) == ("failed", 3, "exit 3")
    rows = table(told["jim/jobs.csv"])
    assert [(each["local_job"], each["attempt"], each["code"], each["bytes"]) for each in rows] == [
        ("0", "1", "0", "9"),
        ("1", "1", "3", "4"),
    ]
    assert (rows[0]["host"], rows[0]["arguments"]) == ("node1", '["0"]')
    ends = [(each["local_job"], each["now"]) for each in table(told["jim/journal.csv"])]
    assert {("0", "completed"), ("1", "failed")} <= set(ends)
    lines = told["jim/log"].decode().splitlines()
    assert [line.split(" jim.x ")[1] for line in lines[:2]] == [f"{grid}: first", f"{grid}.1 attempt 1: no"]
    assert [json.loads(line)["message"] for line in lines[2:]] == [f"{grid}.1 attempt 1: no"]


def test_a_local_job_that_never_ran_is_told_too(world):
    grid = world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(1, 1)
    world.batch.finish(1, 1, **files(stdout=b"good\n"))
    world.until(lambda: world.state(grid, 0).value == "completed")
    world.wish("cancel", f"{grid}.1")
    rows = table(enclosed(world, grid)["jim/jobs.csv"])
    assert [(each["state"], each["host"], each["outputs"]) for each in rows] == [
        ("completed", "node1", "1"),
        ("killed", "", "0"),
    ]


def test_it_is_in_order_however_many_parts_are_read(world, monkeypatch):
    """Ends, pieces and lines of the journal are read in parts; each local job has its own piece."""
    monkeypatch.setattr("jim.keeper.results.tar_summary.AT_ONCE", 2)
    monkeypatch.setattr("jim.statusdb.grid.journals.LINES_AT_ONCE", 3)
    grid = started(world, 5)
    for index in range(1, 6):
        world.batch.finish(1, index, **files(stdout=b"good\n"))
    told = enclosed(world, grid)
    facts = json.loads(told["jim/summary.json"])
    assert [(each["local_job"], each["arguments"]) for each in facts] == [(n, [str(n)]) for n in range(5)]
    assert [each["arguments"] for each in table(told["jim/jobs.csv"])] == [f'["{n}"]' for n in range(5)]
    ends = [each["local_job"] for each in table(told["jim/journal.csv"]) if each["now"] == "completed"]
    assert ends == ["0", "1", "2", "3", "4"]


def test_a_grid_job_without_local_jobs_has_an_empty_list(world):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    with world.store.transaction():
        world.store.db.execute("DELETE FROM local_job")
        world.store.db.execute("DELETE FROM tally")
    told = enclosed(world, grid)
    assert json.loads(told["jim/summary.json"]) == table(told["jim/jobs.csv"]) == []
