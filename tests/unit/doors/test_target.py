"""Ids as people write them: grid jobs, local jobs, slices of local jobs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.doors.target import Target, parse
from jim.errors import UnknownJob


@pytest.mark.parametrize(
    ("text", "grid_job", "slices"),
    [
        ("12", 12, ()),
        ("12.0", 12, ((0, 0),)),
        ("12.3", 12, ((3, 3),)),
        ("12.1-4", 12, ((1, 4),)),
        ("12.4-4", 12, ((4, 4),)),
        ("12.3,5", 12, ((3, 3), (5, 5))),
        ("12.5,3", 12, ((3, 3), (5, 5))),
        ("12.1-4,7,9-10", 12, ((1, 4), (7, 7), (9, 10))),
        ("12.1-4,3-6,7", 12, ((1, 7),)),
        ("12.3,3", 12, ((3, 3),)),
        ("12.1-9,2-3", 12, ((1, 9),)),
    ],
)
def test_ids_and_slices_name_these_local_jobs(text, grid_job, slices):
    assert parse(text) == Target(grid_job, slices)


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "12.", "12.-3", "12.3-", "12.3,", "12.,3", "12.a", "a.1", "12.1.2", " 12", "12\n", "-12", "+12"),
        *("12.1--4", "12.1-2-3", "12.1 -4", "²", "12.١", "12.1,,2", "1" * 16, "12." + "1" * 10),
        "12." + "1," * 10_000 + "1",
    ],
)
def test_what_is_no_id(text):
    with pytest.raises(UnknownJob, match="is not an id") as error:
        parse(text)
    assert len(str(error.value)) < 500


def test_a_slice_that_ends_before_it_begins():
    with pytest.raises(UnknownJob, match="4-1 ends before it begins; use 1-4"):
        parse("12.4-1")


def test_the_local_jobs_meant():
    assert list(parse("12").numbers(3)) == [0, 1, 2]
    assert list(parse("12").numbers(0)) == []
    assert list(parse("12.1-3,7").numbers(8)) == [1, 2, 3, 7]
    assert 3 in parse("12")
    assert 3 in parse("12.1-3")
    assert 4 not in parse("12.1-3,5")


def test_a_local_job_that_there_is_not():
    with pytest.raises(UnknownJob, match=r"no local job 12\.8: 12 has 12\.0 to 12\.7"):
        list(parse("12.1-3,8").numbers(8))
    with pytest.raises(UnknownJob, match=r"no local job 12\.0: 12 has no local jobs"):
        list(parse("12.0").numbers(0))


def test_a_huge_slice_costs_nothing_until_it_is_used():
    assert 5 in parse("12.0-999999999")


@given(st.integers(0, 99), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), min_size=1))
def test_slices_mean_the_numbers_in_them(grid_job, spans):
    text = ",".join(f"{first}-{first + more}" for first, more in spans)
    target = parse(f"{grid_job}.{text}")
    meant = sorted({n for first, more in spans for n in range(first, first + more + 1)})
    assert list(target.numbers(40)) == meant
    assert parse(str(target)) == target
