"""Words that all of JIM shares: what a grid job shows of its local jobs."""

from __future__ import annotations

from collections import Counter

import pytest

from jim.model import FROZEN, State, roll_up

LETTERS = {
    "w": State.WAITING,
    "i": State.SUBMITTING,
    "s": State.SUBMITTED,
    "h": State.HELD,
    "u": State.SUSPENDED,
    "r": State.RUNNING,
    "g": State.COMPLETING,
    "c": State.COMPLETED,
    "f": State.FAILED,
    "k": State.KILLED,
    "n": State.NEW,
    "C": State.COMPLETED_FROZEN,
    "F": State.FAILED_FROZEN,
}


def states(letters: str) -> tuple[State, ...]:
    return tuple(LETTERS[each] for each in letters)


@pytest.mark.parametrize(
    ("letters", "status", "strict"),
    [
        ("", "n", "n"),
        ("n", "n", "n"),
        ("nCF", "n", "n"),
        ("w", "s", "s"),
        ("i", "s", "s"),
        ("h", "s", "s"),
        ("srgfckn", "s", "s"),
        ("rgfckn", "r", "r"),
        ("gfck", "r", "r"),
        ("ufck", "r", "r"),
        ("fckCn", "f", "f"),
        ("ckn", "c", "k"),
        ("kF", "k", "k"),
        ("cF", "c", "c"),
        ("kc", "c", "k"),
        ("k", "k", "k"),
    ],
)
def test_the_status_of_a_grid_job_is_that_of_its_local_jobs(letters, status, strict):
    counts = Counter(states(letters))
    assert roll_up(counts) is LETTERS[status]
    assert roll_up(counts, strict=True) is LETTERS[strict]


def test_a_count_of_none_is_no_local_job():
    assert roll_up({State.FAILED: 0, State.COMPLETED: 1}) is State.COMPLETED


def test_what_is_frozen_has_ended():
    assert all(state.final for state in FROZEN)
