"""What a listing says of jobs that wait, in groups."""

from __future__ import annotations

from jim.evidence.queue_words import LONGEST, MOST, grouped
from jim.jobs import Live
from jim.model import Kind, Observation, State


def live(idx: int, k: int = 1, state: State = State.SUBMITTED, *, started: bool = False) -> Live:
    return Live(7, k, idx, idx - 1, 1, state, started, f"jim-7-{k}", str(k), True, "", Kind.UNKNOWN)


def says(waits: str, state: State = State.SUBMITTED, mark: str = "jim-7-1", reason: str = "") -> Observation:
    return Observation(state, mark, reason=reason, waits=waits)


def test_jobs_are_counted_by_submission_state_and_words():
    attempts = [live(1), live(2), live(3), live(4), live(1, 2)]
    listing = {
        ("1", 1): says("Resources"),
        ("1", 2): says("Priority"),
        ("1", 3): says("Resources"),
        ("1", 4): says("", State.HELD, reason="JobHeldUser"),
        ("2", 1): says("Resources", mark="jim-7-2"),
    }
    assert grouped(listing, attempts, 60) == {
        (7, 1, "submitted", "Resources"): 2,
        (7, 1, "submitted", "Priority"): 1,
        (7, 1, "held", "JobHeldUser"): 1,
        (7, 2, "submitted", "Resources"): 1,
    }


def test_only_jobs_that_wait_are_counted():
    attempts = [live(1), live(2, started=True), live(3), live(4), live(5)]
    listing = {
        ("1", 1): says("Resources", mark="another's"),  # a reused id
        ("1", 2): says("Resources"),  # put back into the queue after its start
        ("1", 3): says("", State.RUNNING, reason="a note"),
        ("1", 4): says("", reason="BadConstraints"),  # never starts, which the local job itself tells
    }
    assert grouped(listing, attempts, 60) == {}


def test_a_name_that_a_listing_cuts_off_is_the_jobs():
    assert grouped({("1", 1): says("Priority", mark="jim-7")}, [live(1)], 5) == {(7, 1, "submitted", "Priority"): 1}


def test_words_of_strangers_become_one_short_printable_line():
    words = "\x1b]0;pwned\x07 a\n b\t\u202ec \udc80"
    ((_, _, _, shown),) = grouped({("1", 1): says(words)}, [live(1)], 60)
    assert shown == "\\x1b]0;pwned\\x07 a b \\u202ec \\udc80"
    ((_, _, _, shown),) = grouped({("1", 1): says("x" * 100_000)}, [live(1)], 60)
    assert shown == "x" * (LONGEST - 1) + "…"
    assert grouped({("1", 1): says(" \n")}, [live(1)], 60) == {}


def test_words_that_name_each_job_become_few_groups():
    listing = {("1", idx): says(f"waits for job {idx}") for idx in range(1, 101)}
    listing |= {("1", 101): says("Resources"), ("1", 102): says("Resources")}
    groups = grouped(listing, [live(idx) for idx in range(1, 103)], 60)
    assert len(groups) == MOST
    assert groups[7, 1, "submitted", "Resources"] == 2
    assert groups[7, 1, "submitted", "other words"] == 102 - 2 - (MOST - 2)
    assert sum(groups.values()) == 102
