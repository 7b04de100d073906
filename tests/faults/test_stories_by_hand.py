"""Stories of a grid job by hand that is done again, and of a pool that stays open, with keepers killed."""

from __future__ import annotations

import tarfile
from collections import Counter

import pytest

from tests.faults.real import DONE, until

GATEKEEPER = {"dn": "/CN=somebody", "fqans": [], "contact": "https://gatekeeper:2119/1/2"}


def in_tar(told, grid):
    """Return what the tar of a grid job has of each local job."""
    with told.at.store() as store:
        tar = store.grid_job(grid).result["tar"]
    with tarfile.open(tar) as opened:
        names = [each for each in opened.getnames() if each.endswith("/out.txt")]
        return {name.split("/")[0]: opened.extractfile(name).read().decode() for name in names}


def rested(told, grid):
    """Tell whether a grid job has ended, and nobody wants anything of it."""
    with told.at.store() as store:
        job = store.grid_job(grid)
        return job.step.value == "finished" and not told.waits()


def submitted(story, **beside):
    """Let a grid job of three local jobs end."""
    told = story()
    grid = told.at.submit(3, body="sleep 0.2", **beside)
    told.wake()
    until(lambda: told.at.state_of(0, grid), "it is there")
    told.work(lambda: rested(told, grid), "it has ended", 2)
    assert told.at.events("start", grid).count((1, 1)) == 1
    return told, grid, in_tar(told, grid)


@pytest.mark.torture
@pytest.mark.parametrize("target", ["1", ""])
def test_local_jobs_run_once_more_and_the_tar_is_made_anew(story, target):
    told, grid, before = submitted(story)
    chosen = {int(target)} if target else {0, 1, 2}
    told.ask("redo", f"{grid}.{target}".rstrip("."), kills=5)
    told.work(lambda: rested(told, grid), "it has ended again", 3)
    ran = Counter(n for n, _ in told.at.events("start", grid))
    assert ran == {n: 1 + (n in chosen) for n in range(3)}
    last = {n: max(attempt for m, attempt in told.at.events("end", grid) if m == n) for n in range(3)}
    assert in_tar(told, grid) == {f"{grid}.{n}": f"data {n} {last[n]}\n" for n in range(3)}
    assert [name for name, text in before.items() if in_tar(told, grid)[name] == text] == [
        f"{grid}.{n}" for n in range(3) if n not in chosen
    ]
    assert told.at.answer(grid) == DONE
    told.at.check(3, grid)


@pytest.mark.torture
def test_what_a_gatekeeper_has_had_is_done_again_only_if_that_is_said(story):
    told, grid, before = submitted(story, sender=GATEKEEPER)
    told.end()
    refused = told.at.door("redo", f"{grid}.1")
    assert refused.returncode != 0
    assert "its gatekeeper has the last answer" in refused.stdout + refused.stderr
    told.die(1)
    assert in_tar(told, grid) == before
    told.ask("redo", f"{grid}.1", "--again", kills=5)
    assert told.at.answer(grid) == DONE
    told.work(lambda: rested(told, grid), "it has ended again", 3)
    after = in_tar(told, grid)
    assert {name for name in after if after[name] != before[name]} == {f"{grid}.1"}
    assert told.at.answer(grid) == DONE
    assert Counter(n for n, _ in told.at.events("start", grid)) == {0: 1, 1: 2, 2: 1}
    told.at.check(3, grid)


@pytest.mark.torture
def test_what_does_not_fill_a_piece_waits_until_the_pool_closes(story):
    told = story()
    names, files = told.here / "names", told.here / "raw"
    files.mkdir()

    def come(*events: int) -> None:
        for event in events:
            (files / str(event)).write_text(f"{event}\n")
            with names.open("a") as more:
                more.write(f"{files}/{event}\n")

    come(1, 2, 3)
    split = '[task.split]\nsplitter = "FileBased"\nparameters = { files_per_job = 2 }\nwhen = "full"'
    told.start(told.task("gen", f'list = "{names}"\nevery_seconds = 1', more=split), ["gen"])
    told.work(lambda: len(told.runs("end")) == 1, "the first piece is done", 4)
    told.die(2)
    assert sorted(told.times("gen")) == [1, 2]
    come(4, 5, 6, 7)
    told.work(lambda: len(told.runs("end")) == 3, "what is full is done", 4)
    told.die(2)
    assert sorted(told.times("gen")) == [1, 2, 3, 4, 5, 6], "the seventh waits"
    told.jim("task", "redo", "gen/0", "--with-all", "--reason", "a wrong table")
    told.die(2)
    told.ask("task", "close", "gen", kills=3)
    told.finish(3)
    told.calm()
    assert sorted(told.lines("gen")) == list(range(1, 8))
    assert {event: stamps["gen"].split(":")[0] for event, stamps in told.lines("gen").items()} == told.lasts("gen")
    assert {event for event, many in told.times("gen").items() if many == 2} == {1, 2}
    assert len([name for name in told.files("gen") if ".withdrawn.1" in name]) == 1
