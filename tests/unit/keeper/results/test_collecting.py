"""The tar: what is in it, what is not, and that it holds nothing but what was verified."""

from __future__ import annotations

import pytest

from jim.handlers.parametric import Parametric
from jim.keeper.inbox.accepting import TakingInbox
from jim.model import Piece
from tests.unit.keeper.runs import files, started, tar_of


def test_what_was_half_split_before_a_restore_is_forgotten_once_it_is_cancelled(world):
    """Such a grid job is accepted anew: none of its local jobs counts."""
    grid = world.submit(2)
    world.move(TakingInbox)(world.keeper)
    world.store.add_pieces(grid, 0, [Piece(), Piece()])
    world.wish("cancel", str(grid))
    world.until(lambda: world.finished(grid))
    assert (world.store.grid_job(grid).outcome, world.store.local_jobs(grid)) == ("killed", [])


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


@pytest.mark.parametrize("name", ["result", "result/.1.tar", "result/1.tar"])
def test_nothing_that_a_payload_puts_in_its_place_keeps_a_tar_from_being_made(world, name):
    grid = started(world, 1)
    place = world.site.work / str(grid) / name
    place.parent.mkdir(exist_ok=True)
    if name == "result":
        place.write_text("a file")
    else:
        (place / "below").mkdir(parents=True)
    world.batch.finish(1, 1, **files(dat=b"data"))
    assert tar_of(world, grid)["1.0/dat"] == b"data"


def test_a_link_of_a_payload_leads_no_tar_elsewhere(world, tmp_path):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    (tmp_path / "home").mkdir()
    (world.site.work / f"{grid}/result").symlink_to(tmp_path / "home")
    world.batch.finish(1)
    world.until(lambda: world.finished(grid))
    assert list((tmp_path / "home").iterdir()) == []
    assert (world.site.work / f"{grid}/result/{grid}.tar").is_file()
