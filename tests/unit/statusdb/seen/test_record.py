"""The status and the record of a grid job."""

from __future__ import annotations

import pytest

from jim.model import Standing, State, Step, Verb
from jim.statusdb.seen.record import exit_code, failures, herd, retryable, standing, status
from tests.support.exit_records import exit_record


@pytest.mark.parametrize(
    ("columns", "counts", "word", "where"),
    [
        ({}, {}, "new", Standing.ACCEPTED),
        ({"step": Step.ACTIVE}, {State.WAITING: 2}, "submitted", Standing.PENDING),
        ({"step": Step.ACTIVE, "wish": Verb.SUSPEND}, {State.WAITING: 2}, "suspended", Standing.SUSPENDED),
        ({"step": Step.ACTIVE, "wish": Verb.SUSPEND}, {State.RUNNING: 1}, "running", Standing.PENDING),
        ({"step": Step.FINISHED, "outcome": "completed"}, {State.COMPLETED: 2}, "completed", Standing.DONE),
        ({"step": Step.FINISHED, "outcome": "failed"}, {State.FAILED: 2}, "failed", Standing.FAILED),
        ({"step": Step.FINISHED, "outcome": "killed"}, {State.KILLED: 2}, "killed", Standing.CANCELLED),
    ],
)
def test_people_and_gatekeepers_see_the_same_job_in_their_words(home, columns, counts, word, where):
    home.add(size=0)
    home.store.set_grid_job(1, **columns)
    job = home.store.grid_job(1)
    assert (status(job, counts), standing(job, counts)) == (word, where)


@pytest.mark.parametrize(
    ("splitter", "size", "step", "word"),
    [
        (None, 4, Step.ACTIVE, "single"),
        ("FileBased", 0, Step.ACCEPTED, "will split"),
        ("FileBased", 4, Step.ACTIVE, "split"),
        ("FileBased", 0, Step.FINISHED, "not split"),
    ],
)
def test_whether_a_splitter_made_a_herd(home, splitter, size, step, word):
    home.add(size=size, splitter=splitter)
    home.store.set_grid_job(1, step=step)
    assert herd(home.store.grid_job(1)) == word


def test_a_single_program_s_own_exit_code_is_the_grid_job_s(home):
    home.add(size=1)
    home.send(0)
    home.store.set_attempt(1, 1, 1, record=exit_record("jim-cafe-1-1", 11))
    home.finish("failed")
    assert exit_code(home.store, home.store.grid_job(1)) == 3
    home.store.set_attempt(1, 1, 1, record=exit_record("m", 11).replace("code 3\nsignal -", "code -\nsignal 9"))
    assert exit_code(home.store, home.store.grid_job(1)) == 137
    home.store.set_attempt(1, 1, 1, record="jim-exit 9\n")  # from another version
    assert exit_code(home.store, home.store.grid_job(1)) == 1
    home.finish("completed")
    assert exit_code(home.store, home.store.grid_job(1)) == 0


def test_the_most_frequent_reasons_come_first_and_the_rest_is_counted(home):
    home.add(size=7)
    assert failures(home.store, 1) == ""
    for n, why in enumerate(("exit 3", "exit 3", "lost", "exit 1", "exit 2", "exit 4", "")):
        if why:
            home.move(n, State.FAILED, reason=why)
    words = failures(home.store, 1)
    assert words.startswith("exit 3 (2), ")
    assert words.endswith(", 2 more")


def test_failed_killed_and_held_local_jobs_may_be_tried_again(home):
    home.add(size=4)
    home.move(3, State.KILLED)
    home.move(1, State.FAILED)
    home.move(0, State.COMPLETED)
    assert [each.n for each in retryable(home.store, 1)] == [1, 3]
