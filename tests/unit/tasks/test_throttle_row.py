"""What the row of a task keeps about its pace: also what other versions have written is read."""

from __future__ import annotations

import json

from jim.tasks.throttle import Limits, Throttle
from jim.tasks.throttle_row import Orders, Step, ThrottleRow, in_words, read, size_in_words, steps_in

ROW = ThrottleRow(Limits(2000, 500), Orders(again=7.0, trial="3.1"), Throttle(a=50, excess=4, mark=9))
OLD = json.loads(  # of a version that kept more, in a bad time
    """{"at_once": 2000, "queued": 500, "first": 5, "probe_seconds": 600, "a": 1, "fast": 0, "good": 0, "ended": 1,
    "failed": 1, "decided": 900.0, "bad": 700.0, "shrunk": 7, "alone": 9, "alone_line": 80, "row": 3, "again": 0.0,
    "suspend": 1, "retry": 0, "was_a": 10, "was_fast": 1, "bad_failed": 9, "bad_ended": 10, "trying": 2,
    "alone_first": 2, "good_from": 600.0, "doubt": 600.0, "probed": 890.0, "trial": "4.2", "failing": 0.0,
    "failing_wave": 0, "shrunk_line": 70}"""
)


def test_it_is_stored_as_plain_values():
    assert read(ROW.stored() | {"of a later version": 1}) == ROW
    assert read({"at_once": 9, "queued": 8}) == ThrottleRow(Limits(9, 8))


def test_no_name_stands_for_two_things():
    names = [*Limits._fields, *Orders._fields, *Throttle._fields]
    assert len(names) == len({*names})
    assert len(Throttle._fields) <= 12


def test_what_a_version_before_has_written_is_read_and_its_pace_is_kept():
    row = read(OLD)
    assert (row.allowance, row.limits) == (1, Limits(2000, 500, 5, 600))
    assert row.orders == Orders(suspend=1, trying=2, alone_first=2, trial="4.2")
    assert row.throttle == Throttle(a=1, ended=1, failed=1, decided=900.0, was_a=10, probed=890.0)


def test_a_version_before_finds_what_it_needs_and_nothing_that_means_something_else():
    stored = ROW.stored()
    assert {"at_once", "queued"} <= stored.keys()
    assert {*stored} & {"fast", "good", "bad", "shrunk", "alone", "row", "doubt", "failing"} == set()


def test_the_allowance_is_told_in_words():
    assert (in_words(ROW), size_in_words(ROW)) == ("50 of 2,000, failing", "50 of 2,000")
    assert in_words(ThrottleRow(Limits(2000, 500))) == "5 of 2,000, growing"
    assert in_words(ThrottleRow(Limits(3, 3))) == "3 of 3, steady"


def test_failed_pieces_are_tried_again_after_a_bad_time_or_if_that_is_ordered():
    limits = Limits(5, 5)
    assert not ThrottleRow(limits).tries_again
    assert ThrottleRow(limits, Orders(retry=1)).tries_again
    assert ThrottleRow(limits, Orders(again=1.0)).tries_again
    assert ThrottleRow(limits, throttle=Throttle(excess=1)).tries_again


def test_the_steps_in_a_journal_are_read_whoever_has_written_them():
    assert steps_in("6 of 10 attempts failed: allowance 10 → 5") == [Step(6, 10, 10, 5)]
    assert steps_in("allowance 5 → 1,000: a black hole ate what failed") == [Step(0, 0, 5, 1000)]
    assert steps_in("4 of 8 attempts failed: allowance 5 → 10; a black hole ate others") == [Step(4, 8, 5, 10)]
