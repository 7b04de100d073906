"""DIRAC.BySize: tasks of more than so many bytes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.splitting.registry import split
from jim.splitting.subscription import Subscription
from tests.unit.splitting.replicas import PLACED, files, tasks

# By size


@pytest.mark.parametrize(
    ("told", "size", "most", "flush", "expected"),
    [
        ("a@X:60 b@X:30 c@X:20 d@X:50 e@X:40", 100, 100, False, ["X cbed"]),
        ("a@X:60 b@X:30 c@X:20 d@X:50 e@X:40", 100, 100, True, ["X cbed", "X a"]),
        ("a@X:101 b@X:100 c@X:10", 100, 100, False, ["X cb", "X a"]),
        ("a@X:50 b@X:50", 100, 100, False, []),
        ("a@X:50 b@X:50 c@X:50", 100, 100, False, ["X abc"]),
        ("a@X:100", 100, 100, False, []),
        ("a@X:10 b@X:11 c@X:12 d@X:13 e@X:14", 1000, 2, False, ["X ab", "X cd"]),
        ("a@X:0 b@X:1", 100, 100, True, ["X b"]),
        ("b@X:5 a@X:5 c@X:4", 100, 100, True, ["X cab"]),
        ("a@XY:60 b@X:60 c@Y:60", 100, 100, False, ["X ab"]),
        ("a@XY:60 b@X:60 c@Y:60", 100, 100, True, ["X b", "XY a", "Y c"]),
        ("a@:500 b@X:500", 100, 100, True, ["X b"]),
    ],
)
def test_files_are_collected_until_they_exceed_the_size(told, size, most, flush, expected):
    parameters = {"group_size": size, "max_files_per_task": most, "flush": flush}
    assert tasks("DIRAC.BySize", files(*told.split()), **parameters) == expected


@given(PLACED, st.integers(1, 60), st.integers(1, 4), st.booleans())
def test_a_task_is_full_by_its_last_file(of, size, most, flush):
    parameters = {"group_size": size, "max_files_per_task": most, "flush": flush}
    made = list(split("DIRAC.BySize", parameters, Subscription(of)))
    taken = Counter(each for job in made for each in job.files)
    assert max(taken.values(), default=0) <= 1
    assert all(job.locations <= each.locations for job in made for each in job.files)
    for job in made:
        sizes = [each.size for each in job.files]
        assert sizes == sorted(sizes)
        assert min(sizes) > 0
        assert sum(sizes[:-1]) <= size
        assert len(sizes) <= most
        assert flush or sum(sizes) > size or len(sizes) == most
    if flush:
        assert taken.keys() == {each for each in of if each.size}
