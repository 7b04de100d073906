"""Files grouped by where they are: InputDataBySE, and DIRAC's grouping by replicas and by size."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.splitting.errors import InvalidParameter
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription
from tests.unit.splitting.replicas import PLACED, files, tasks

# By replicas


@pytest.mark.parametrize(
    ("told", "size", "flush", "expected"),
    [
        ("a@X b@X c@X", 2, False, ["X ab"]),
        ("a@X b@X c@X", 2, True, ["X ab", "X c"]),
        ("a@XY b@X c@Z", 2, False, ["X ab"]),
        ("a@XY b@X c@Z", 2, True, ["X b", "XY a", "Z c"]),
        ("a@XY b@XY c@X d@Y", 2, False, ["XY ab"]),
        ("a@XY b@XY c@XY d@X e@Y", 2, False, ["XY ab", "X cd"]),
        ("a@XY b@YZ c@Z", 2, False, ["Y ab"]),
        ("a@XY b@Y c@X", 2, False, ["X ac"]),
        ("a@ b@ c@X", 1, True, ["X c"]),
        ("b@X a@X", 1, False, ["X b", "X a"]),
        ("a@X", 10, False, []),
    ],
)
def test_files_are_grouped_by_the_storages_that_hold_them(told, size, flush, expected):
    assert tasks("DIRAC.Standard", files(*told.split()), group_size=size, flush=flush) == expected


@given(PLACED, st.integers(1, 4), st.booleans())
def test_no_file_in_two_tasks_and_none_where_it_is_not(of, size, flush):
    made = list(split("DIRAC.Standard", {"group_size": size, "flush": flush}, Subscription(of)))
    taken = Counter(each for job in made for each in job.files)
    assert max(taken.values(), default=0) <= 1
    assert all(job.locations <= each.locations for job in made for each in job.files)
    assert all(len(job.files) == size or flush for job in made)
    left = set(of) - taken.keys()
    at = Counter(storage for each in left for storage in each.locations)
    assert not left if flush else all(count < size for count in at.values())


# By size


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("DIRAC.Standard", {"group_size": 0}),
        ("DIRAC.Standard", {"flush": 1}),
        ("DIRAC.BySize", {"max_files_per_task": 0}),
        ("DIRAC.BySize", {"group_size": -1}),
        ("DIRAC.BySize", {"groupsize": 1}),
    ],
)
def test_parameters_that_cannot_be(name, parameters):
    with pytest.raises(InvalidParameter, match=next(iter(parameters))):
        tasks(name, files("a@X"), **parameters)
