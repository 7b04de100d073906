"""What becomes of local jobs when people ask for something; statuses move along the graph that they know."""

from __future__ import annotations

import pytest

from jim.evidence.transitions import (
    FORCED_FROM,
    FREEZES_AS,
    again_of,
    not_forced,
    not_split_again,
    too_early_to_retry,
    too_late_to_end,
)
from jim.jobs import HELD, GridJob, LocalJob
from jim.model import FROZEN, Piece, State, Step
from tests.support.statuses import MAY_BECOME, may_become, seen_as


def local_job(state, *, files=("/a/0",), n=0, reason="", due=0.0, failure=""):
    piece = Piece(files=files, failure=failure)
    return LocalJob(1, n, State(state), piece, 1, 1, 0, (), "", "", reason, due, "")


def grid_job(step, wish=""):
    return GridJob(1, "k", "parametric", "o", step, 1, 0, "", wish, "", "", {}, True, 1, 0, 0.0, "", "", "{}")


# Ending


@pytest.mark.parametrize(
    ("states", "late"),
    [
        ("", ""),
        ("running", ""),
        ("completed", "already completed"),
        ("completed running", ""),
        ("killed completed", "already completed, killed"),
        ("failed_frozen", "already failed_frozen"),
        ("completing", ""),
        ("new", "already new"),
    ],
)
def test_what_has_ended_is_too_late_to_be_cancelled(states, late):
    assert too_late_to_end({*map(State, states.split())}) == late


# Trying again


@pytest.mark.parametrize(
    ("step", "wish", "early"),
    [
        (Step.ACTIVE, "", False),
        (Step.ACTIVE, "suspend", False),
        (Step.ACTIVE, "cancel", True),
        (Step.SPLIT, "cancel", True),
        (Step.COLLECTING, "cancel", False),  # it waits until that is done
        (Step.FINISHED, "cancel", False),
    ],
)
def test_a_retry_waits_for_the_end_of_a_cancel(step, wish, early):
    said = "a cancel of it is in progress; retry it when it has finished"
    assert too_early_to_retry(grid_job(step, wish)) == (said if early else "")


@pytest.mark.parametrize(
    ("states", "slices", "again"),
    [
        ("completed failed completed", (), [1]),
        ("failed failed killed", (), [0, 1]),
        ("completed killed new", (), [2]),
        ("completed killed", (), [1]),
        ("completed failed killed", ((0, 2),), [1, 2]),
        ("running completing failed_frozen", ((0, 2),), []),
        ("completed completed", (), []),
    ],
)
def test_what_is_tried_again(states, slices, again):
    ended = [local_job(state, n=n) for n, state in enumerate(states.split())]
    assert [each.n for each in again_of(ended, slices)] == again


def test_what_is_held_is_tried_again_and_what_failed_on_its_creation_is_not():
    held, never = local_job("waiting", due=HELD), local_job("failed", failure="no events", n=1)
    assert again_of([held, local_job("waiting", n=2), never], ((0, 2),)) == [held]


def test_a_number_is_no_part_of_a_longer_one():
    ended = [local_job("failed", n=n, reason=reason) for n, reason in enumerate(("exit 1", "exit 137", "Exit 1 at x"))]
    assert [each.n for each in again_of(ended, (), reason="exit 1")] == [0, 2]
    assert [each.n for each in again_of(ended, (), reason="exit 1", most=1)] == [0]


# Forcing


@pytest.mark.parametrize(
    ("states", "to", "wrong"),
    [
        ("failed", "completed", ""),
        ("failed completed", "completed", ""),
        ("completed killed", "failed", ""),
        ("killed", "completed", "killed"),
        ("running waiting failed", "completed", "still running, waiting; cancel them first"),
        ("completing", "completed", "still completing; cancel them first"),
        ("failed_frozen", "failed", "failed_frozen"),
        ("new", "failed", "new"),
    ],
)
def test_only_local_jobs_that_have_ended_are_forced(states, to, wrong):
    assert not_forced({*map(State, states.split())}, State(to)) == wrong


# Splitting again

ONLY = "only a completed, failed or killed local job can be split again"


@pytest.mark.parametrize(
    ("state", "files", "wrong"),
    [
        ("completed", ("/a/0",), ""),
        ("failed", ("/a/0",), ""),
        ("killed", ("/a/0",), ""),
        ("failed", (), "has no input files that a splitter could split again"),
        ("running", ("/a/0",), f"is running: {ONLY}"),
        ("failed_frozen", ("/a/0",), f"is failed_frozen: {ONLY}"),
        ("new", ("/a/0",), f"is new: {ONLY}"),
    ],
)
def test_only_ended_local_jobs_with_input_files_are_split_again(state, files, wrong):
    assert not_split_again(local_job(state, files=files)) == wrong


def test_what_is_split_again_is_frozen():
    assert {*FREEZES_AS.values()} == {*FROZEN}


# The graph of statuses


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("new", "submitting", True),
        ("new", "submitted", False),
        ("new", "new", True),
        ("submitting", "new", True),
        ("submitted", "submitting", True),
        ("submitted", "new", False),
        ("running", "submitted", True),
        ("completing", "killed", False),
        ("completed", "running", False),
        ("completed", "killed", False),
        ("killed", "running", False),
        ("killed", "completed", False),
        ("killed", "failed_frozen", True),
        ("completed", "completed_frozen", True),
        ("completed_frozen", "completed", True),
        ("completed_frozen", "removed", False),
        ("failed_frozen", "failed", True),
        ("unknown", "removed", True),
        ("template", "new", False),
        ("removed", "new", False),
        ("removed", "removed", True),
    ],
)
def test_what_a_status_may_become(before, after, allowed):
    assert may_become(before, after) is allowed


def test_the_graph_leads_nowhere_outside_itself():
    assert all(after <= MAY_BECOME.keys() for after in MAY_BECOME.values())
    assert sum(len(after) - 1 for after in MAY_BECOME.values()) == 45


def test_what_is_decided_moves_along_the_graph():
    moves = [(each, State.WAITING) for each in State if again_of([local_job(each)], ((0, 0),))]
    moves += [(state, to) for to in FORCED_FROM for state in State if not not_forced({state}, to)]
    moves += [(state, FREEZES_AS[state]) for state in State if not not_split_again(local_job(state))]
    assert len(moves) == 11
    off = [(was, now) for was, now in moves if not may_become(seen_as(was), seen_as(now))]
    assert off == [(State.NEW, State.WAITING)]  # which is being submitted, before people see that it is
