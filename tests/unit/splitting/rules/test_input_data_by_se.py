"""InputDataBySE: so many files in a job, all on one storage."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import File
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription
from tests.unit.splitting.replicas import PLACED, files, shown, tasks

# InputDataBySE


@pytest.mark.parametrize(
    ("told", "most", "expected"),
    [
        ("a@X b@X c@X", 2, ["X ab", "X c"]),
        ("c@X a@X b@X", 2, ["X ab", "X c"]),
        ("a@X b@X c@X d@X e@X p@Y q@Y", 2, ["X ab", "Y pq", "X cd", "X e"]),
        ("a@XY b@XY c@XY d@XY e@XY f@XY", 2, ["X ab", "Y cd", "X ef"]),
        ("a@XY b@X c@Y", 1, ["X a", "Y c", "X b"]),
        ("a@XYZ", 3, ["X a"]),
        ("a@Y b@Y c@X", 1, ["X c", "Y a", "Y b"]),
        ("a@X b@XY c@XY", 5, ["X abc"]),
        ("a@X b@X", 0, ["X a", "X b"]),
        ("a@X b@X", -7, ["X a", "X b"]),
    ],
)
def test_each_job_reads_from_one_storage_and_storages_are_served_alike(told, most, expected):
    assert tasks("InputDataBySE", files(*told.split()), SplitterMaxFilesPerJob=most) == expected


def test_one_file_to_a_job_where_nothing_is_said():
    assert tasks("InputDataBySE", files("a@X", "b@X")) == ["X a", "X b"]


@pytest.mark.parametrize("most", ["two", 1.5, True, [1]])
def test_what_is_no_number_of_files(most):
    with pytest.raises(SplitError, match="SplitterMaxFilesPerJob: expected a whole number"):
        tasks("InputDataBySE", files("a@X"), SplitterMaxFilesPerJob=most)


@pytest.mark.parametrize("told", [[], ["a@"]])
def test_input_data_that_is_nowhere(told):
    with pytest.raises(SplitError, match="InputData"):
        tasks("InputDataBySE", files(*told))


def by_definition(of: tuple[File, ...], most: int) -> list[str]:
    """Do as the rule says, step by step."""
    left = {each.lfn: each for each in sorted(of)}
    given_ = {storage: 0 for each in of for storage in each.locations}
    made = []
    while given_:
        storage = min(given_, key=lambda each: (given_[each], each))
        chosen = list(islice((lfn for lfn, file in left.items() if storage in file.locations), most))
        for lfn in chosen:
            del left[lfn]
        given_[storage] += len(chosen)
        if len(chosen) < most:
            del given_[storage]
        if chosen:
            made.append(f"{storage} {''.join(chosen)}")
    return made


@given(PLACED, st.integers(1, 4))
def test_every_file_in_one_job_at_a_storage_that_holds_it(of, most):
    made = list(split("InputDataBySE", {"SplitterMaxFilesPerJob": most}, Subscription(of)))
    assert Counter(each for job in made for each in job.files) == Counter(of)
    assert all(job.locations <= each.locations for job in made for each in job.files)
    assert [shown(job) for job in made] == by_definition(of, most)
