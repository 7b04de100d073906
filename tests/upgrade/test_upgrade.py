"""A state directory that a version before has left in the middle of its work: this version opens it, and all ends well.

What was going on is said in captured.py; what each local job comes to is written here by hand.
"""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path

import pytest

from jim.clock import Clock
from jim.model import State, Step
from jim.statusdb.list_filters import LocalJobsAsked
from jim.statusdb.store import Store
from tests.upgrade.captured import opened, unpack, written

SAME_BOOT, BOOT_BEFORE = "boot-1", "boot-0"  # as the stand-in clock names its own
# Local job: its end, its attempts, and how often its payload ran in all.
COMES_TO = {
    "1.0": ("completed", 1, 1),
    "1.1": ("completed", 1, 1),
    "2.0": ("completed", 1, 1),  # ran
    "2.1": ("completed", 1, 1),  # its exit record lay in the spool
    "2.2": ("completed", 1, 1),  # had completed
    "2.3": ("completed", 2, 2),  # killed by signal 9, and to be tried again
    "2.4": ("completed", 2, 2),  # held for a person
    "2.5": ("failed", 1, 1),  # had failed
    "2.6": ("completed", 1, 1),  # of 6, 7 and 8 the answer was lost: they had been accepted
    "2.7": ("completed", 1, 1),
    "2.8": ("completed", 1, 1),
    "2.9": ("completed", 1, 1),  # was in the queue
    "2.10": ("killed", 0, 0),  # waited; a wish to cancel it lay in the inbox
    "2.11": ("completed", 1, 1),  # waited
    "3.0": ("completed", 2, 1),  # its answer was lost, and it had not been accepted
    "4.0": ("completed", 1, 1),  # split
    "4.1": ("completed", 1, 1),
    "5.0": ("completed", 1, 1),  # in the inbox
    "6.0": ("completed", 1, 1),  # handed in later
}
OUTCOMES = {1: "completed", 2: "failed", 3: "completed", 4: "completed", 5: "completed", 6: "completed"}


@pytest.fixture(params=[SAME_BOOT, BOOT_BEFORE])
def world(request, left, tmp_path):
    return opened(left, tmp_path, request.param)


def run_what_is_in_the_queue(world):
    """Let all that the batch system has accepted run to its end."""
    for (id_, index), task in list(world.batch.tasks.items()):
        if task.state is State.SUBMITTED:
            assert world.batch.start(id_, index), f"a second start: {task}"
            world.batch.finish(id_, index)


def go_on(world):
    """Do what people and worker nodes do, until nothing is left."""
    assert world.submit(key="finished", events=2) == 1, "a key of before has its number"
    assert world.submit(key="later") == 6, "numbers go on"
    world.go(20, seconds=1.0)
    world.batch.finish("2", 1)

    def at_rest(*left):
        run_what_is_in_the_queue(world)
        return [each.id for each in world.store.grid_jobs() if each.step is not Step.FINISHED] == [*left]

    world.until(lambda: at_rest(2) and world.store.counts(2)[State.WAITING] == 1)
    assert world.store.local_job(2, 4).held
    world.wish("retry", "2.4")
    world.until(at_rest)


def payloads(world):
    """Count the runs of each local job's payload, as the batch system knows them."""
    ran = Counter()
    for grid in OUTCOMES:
        for each in world.store.attempts(grid):
            ran[f"{grid}.{each.n}"] += world.batch.ledger.count((world.store.submission(grid, each.k).mark, each.idx))
    assert ran.total() == len(world.batch.ledger)
    return ran


def test_each_local_job_ends_well_exactly_once(world):
    go_on(world)
    ran = payloads(world)
    found = {
        f"{grid}.{each.n}": (each.state.value, each.attempt, ran[f"{grid}.{each.n}"])
        for grid in OUTCOMES
        for each in world.store.local_jobs(grid)
    }
    assert found == COMES_TO
    assert {each.id: each.outcome for each in world.store.grid_jobs()} == OUTCOMES
    assert max(Counter(world.batch.accepted).values()) == 1, "nothing is sent twice"
    assert max(Counter(world.batch.ledger).values()) == 1
    assert list((world.site.state / "inbox").iterdir()) == []


def test_what_was_sent_is_not_sent_again_and_numbers_of_submissions_go_on(world):
    go_on(world)
    submissions = {grid: world.store.submissions(*STATES, grid=grid) for grid in OUTCOMES}
    assert {(each.k, each.state, each.batch_id) for each in submissions[2]} >= {
        (1, "ended", "2"),
        (2, "ended", "3"),
        (3, "ended", "4"),
    }
    assert [(each.k, each.state) for each in submissions[3]] == [(1, "void"), (2, "ended")]
    numbers = {grid: sorted(each.k for each in those) for grid, those in submissions.items()}
    assert numbers == {grid: list(range(1, len(those) + 1)) for grid, those in submissions.items()}
    assert len(numbers[2]) > 3


STATES = ("intended", "unknown", "full", "refused", "cancelled", "recorded", "confirmed", "void", "ended")


def test_what_had_ended_stays_as_it_is_and_journals_go_on(world):
    tar, lines = Path(world.store.grid_job(1).result["tar"]), world.store.journals.of(2)
    before = tar.read_bytes(), (world.site.state / "answers/1").read_bytes(), world.store.journals.of(1)
    go_on(world)
    assert (tar.read_bytes(), (world.site.state / "answers/1").read_bytes(), world.store.journals.of(1)) == before
    assert world.store.journals.of(2)[: len(lines)] == lines
    with tarfile.open(world.store.grid_job(2).result["tar"]) as tar:
        assert tar.extractfile("2.2/events.dat").read() == b"2.2"


def test_what_is_derived_is_right_after_the_upgrade_and_in_the_end(world):
    right = {"tally": 0, "cells": 0, "pulse": 0, "phase": 0, "on_host": 0}
    assert world.store.derived.wrong() == right
    assert [(each.host, each.attempts, each.failed) for each in world.store.seen.hosts(2, 9)] == [("node1", 6, 3)]
    go_on(world)
    assert world.store.derived.wrong() == right
    site = Counter(each.what for each in world.store.seen.lately("2000-01-01T00:00Z") for _ in range(each.times))
    assert site == {"started": 20, "completed": 17, "failed": 1, "killed": 1}


def test_people_can_read_it_before_a_keeper_has_opened_it(left, tmp_path):
    unpack(left, tmp_path, SAME_BOOT)
    reader = Store(tmp_path / "state/status.db", Clock())
    assert {each.id: each.step.value for each in reader.grid_jobs()} == {
        1: "finished",
        2: "active",
        3: "split",
        4: "split",
    }
    assert reader.counts(2) == {
        State.COMPLETED: 1,
        State.FAILED: 1,
        State.RUNNING: 2,
        State.SUBMITTED: 1,
        State.SUBMITTING: 3,
        State.WAITING: 4,
    }
    assert sorted((each.grid, each.k) for each in reader.submissions("unknown")) == [(2, 2), (3, 1)]
    assert [(each.host, each.attempts, each.failed) for each in reader.seen.hosts(2, 9)] == [("node1", 6, 3)]
    assert Counter(state for _, state in reader.seen.states(2, LocalJobsAsked())) == reader.counts(2)
    assert reader.seen.local_jobs_page(2, LocalJobsAsked(states=(State.FAILED,)), 9)[0].n == 5
    reader.close()


def test_a_capture_is_text_without_a_trace_of_where_it_was_made(tmp_path):
    captured = {"database": [f"a {tmp_path}/x", 'a "b"'], "files": {"f": None, "g": {"link": str(tmp_path)}}}
    assert written(captured, tmp_path) == (
        '{"database": [\n"a {PLACE}/x",\n"a \\"b\\""\n],\n"files": {\n"f": null,\n"g": {"link": "{PLACE}"}\n}}\n'
    )


def test_an_upgraded_store_has_the_tables_of_a_new_one(world, tmp_path):
    new = Store(tmp_path / "new.db", Clock(), write=True)
    assert _tables(world.store) == _tables(new)
    new.close()


def _tables(store):
    """Give the columns of each table, and each index and trigger."""
    names = [name for (name,) in store.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {name: [row[1:] for row in store.db.execute(f"PRAGMA table_info({name})")] for name in names}
    others = "SELECT name, sql FROM sqlite_master WHERE type <> 'table' AND sql <> ''"
    return columns, {name: " ".join(sql.split()) for name, sql in store.db.execute(others)}
