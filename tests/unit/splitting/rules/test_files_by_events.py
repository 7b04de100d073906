"""FilesByEvents: whole files up to so many events. Expected values were worked out by hand from its definition."""

import pytest
from hypothesis import assume, given, settings

from jim.splitting.errors import SplitError
from tests.support.splitting_work import COST, B, file, jobs, names, work
from tests.unit.splitting.any_files import SIZES, closed, files

SMALL = [
    file(name, events=events) for name, events in (("c", 60), ("a", 40), ("b", 110), ("d", 10), ("e", 90), ("f", 1))
]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"events_per_job": 100}, ["c a", "b", "d e", "f"]),
        ({"events_per_job": 1}, ["c", "a", "b", "d", "e", "f"]),
        ({"events_per_job": 1000}, ["c a b d e f"]),
        ({"events_per_job": 1000, "files_per_job": 4}, ["c a b d", "e f"]),
        ({}, ["c a b d e f"]),
    ],
)
def test_files_fill_jobs_in_their_order_up_to_the_limit(parameters, expected):
    assert names(jobs("FilesByEvents", work(*SMALL), **parameters)) == expected


def test_files_of_two_places_never_share_a_job_and_events_are_estimated():
    made = jobs("FilesByEvents", work(file("a", 10), file("b", 10, locations=B), file("c", 10)), performance=COST)
    assert names(made) == ["a c", "b"]
    assert made[0].estimates == (40, 60, 500)
    assert jobs("FilesByEvents", work()) == []


def test_files_of_which_none_has_a_number_of_events_are_not_put_into_one_job():
    unknown = [file(name, events=0) for name in "abc"]
    with pytest.raises(
        SplitError, match="a: has no number of events, nor has any other file; give them, or `files_per"
    ):
        jobs("FilesByEvents", work(*unknown))
    assert names(jobs("FilesByEvents", work(*unknown), files_per_job=2)) == ["a b", "c"]
    assert names(jobs("FilesByEvents", work(*unknown[:1]))) == ["a"]
    assert names(jobs("FilesByEvents", work(*unknown, file("d", events=5)))) == ["a b c d"]


@settings(derandomize=True, deadline=None)
@given(files(), SIZES)
def test_every_file_is_in_one_job_and_no_job_is_over_its_limit_unless_one_file_is(those, size):
    assume(len(those) < 2 or any(file.events for file in those))
    made = jobs("FilesByEvents", closed(those), events_per_job=size)
    assert sorted(file.lfn for job in made for file in job.files) == sorted(file.lfn for file in those)
    assert all(sum(file.events for file in job.files) <= size or len(job.files) == 1 for job in made)
