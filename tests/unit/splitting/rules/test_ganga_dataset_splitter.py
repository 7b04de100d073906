"""GangaDatasetSplitter: so many files in a job, in the given order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.splitting.errors import InvalidParameter, SplitterConfiguration
from jim.splitting.files_and_jobs import File
from jim.splitting.subscription import Subscription
from tests.unit.splitting.split_requests import split


def dataset(count):
    return Subscription(tuple(File(f"f{n:02}") for n in range(count)))


@pytest.mark.parametrize(
    ("count", "parameters", "expected"),
    [
        (12, {"files_per_subjob": 5}, [5, 5, 2]),
        (12, {}, [5, 5, 2]),
        (10, {"maxFiles": -1}, [5, 5]),
        (10, {"maxFiles": None}, [5, 5]),
        (12, {"maxFiles": 7}, [5, 2]),
        (12, {"maxFiles": 5}, [5]),
        (12, {"maxFiles": 99}, [5, 5, 2]),
        (12, {"maxFiles": 0}, []),
        (3, {"files_per_subjob": 1}, [1, 1, 1]),
    ],
)
def test_files_are_cut_into_jobs(count, parameters, expected):
    made = split("GangaDatasetSplitter", parameters, dataset(count))
    assert [len(job.files) for job in made] == expected
    assert [each for job in made for each in job.files] == list(dataset(count).files[: sum(expected)])


def test_files_keep_the_order_given():
    work = Subscription((File("b"), File("c"), File("a")))
    assert [
        [each.lfn for each in job.files] for job in split("GangaDatasetSplitter", {"files_per_subjob": 2}, work)
    ] == [
        ["b", "c"],
        ["a"],
    ]


def test_a_split_without_files_is_refused():
    with pytest.raises(SplitterConfiguration, match="there are no files to split"):
        split("GangaDatasetSplitter", {}, dataset(0))


@pytest.mark.parametrize("parameters", [{"files_per_subjob": 0}, {"maxFiles": -2}, {"maxFiles": "all"}])
def test_numbers_of_files_that_cannot_be(parameters):
    with pytest.raises(InvalidParameter, match=next(iter(parameters))):
        split("GangaDatasetSplitter", parameters, dataset(3))


@given(st.integers(1, 60), st.integers(1, 9), st.integers(-1, 70))
def test_every_file_is_in_one_job_up_to_the_total(count, per_job, most):
    made = split("GangaDatasetSplitter", {"files_per_subjob": per_job, "maxFiles": most}, dataset(count))
    assert sum(len(job.files) for job in made) == (count if most == -1 else min(count, most))
    assert all(len(job.files) == per_job for job in made[:-1])
    assert [job.group for job in made] == list(range(len(made)))
