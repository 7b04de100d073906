"""Slices that are counted from the end, or open."""

from __future__ import annotations

import pytest

from jim.doors.target import absolute, is_relative, parse
from jim.errors import UnknownJob


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("12.-1", "12.9"),
        ("12.-10", "12.0"),
        ("12.5-", "12.5-9"),
        ("12.9-", "12.9-9"),
        ("12.-3-", "12.7-9"),
        ("12.-3--2", "12.7-8"),
        ("12.0--1", "12.0-9"),
        ("12.1-4,-1", "12.1-4,9"),
        ("12.3,5-", "12.3,5-9"),
        ("12.-1,0", "12.9,0"),
    ],
)
def test_they_are_what_a_grid_job_of_ten_local_jobs_has(text, numbers):
    assert is_relative(text)
    assert absolute(text, 10) == numbers
    parse(numbers)


@pytest.mark.parametrize("text", ["12", "12.3", "12.1-4", "12.1-4,7", "12.-", "12.", "12.a-", "x.-1", "12.3-x", ""])
def test_other_ids_stay_as_they_are(text):
    assert absolute(text, 10) == text


@pytest.mark.parametrize("text", ["12.-11", "12.10-", "12.5--11", "12.-1-12", "12.--1", "12.1---1", "12.,-1"])
def test_what_a_grid_job_does_not_have_is_refused_with_what_it_has(text):
    with pytest.raises(UnknownJob, match=r"12\.0 to 12\.9|is no slice|is not an id"):
        parse(absolute(text, 10))


def test_nobody_knows_the_last_one_before_the_split():
    with pytest.raises(UnknownJob, match="12 has no local jobs yet"):
        absolute("12.-1", 0)


def test_verbs_take_them(home):
    home.add(size=4)
    home.beat()
    assert home.out("show", "1.-1").startswith("local job    1.3")
    assert [each["id"] for each in home.json("show", "1.2-")] == ["1.2", "1.3"]
    assert home.out("cancel", "1.-2-").startswith("1.2-3: cancel requested: ends 2 local jobs: 2 wait")
    assert '"came_from": "1.3"' in home.out("copy", "1.-1")
    code, _, err = home.run("explain", "1.-5")
    assert (code, err) == (4, "jim: '1.-5': -5 is not among the local jobs: 1 has 1.0 to 1.3\n")
