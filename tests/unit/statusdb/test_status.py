"""The status of a grid job in one word."""

from __future__ import annotations

import pytest

from jim.model import Standing, State, Step, Verb
from jim.statusdb.status import herd, standing, status


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
