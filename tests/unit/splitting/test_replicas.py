"""Files grouped by where they are: InputDataBySE, and DIRAC's grouping by replicas and by size."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.splitting.errors import InvalidParameter, SplitError
from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription


def files(*told: str) -> tuple[File, ...]:
    """Read `a@XY:60`: a file of 60 bytes at the storages X and Y."""
    found = []
    for each in told:
        lfn, _, rest = each.partition("@")
        storages, _, size = rest.partition(":")
        found.append(File(lfn, size=int(size or 1), locations=frozenset(storages)))
    return tuple(found)


def shown(job: SplitJob) -> str:
    """Write `XY abc`: files a, b and c at the storages X and Y."""
    return f"{''.join(sorted(job.locations or ()))} {''.join(each.lfn for each in job.files)}"


def tasks(name: str, of: tuple[File, ...], *, open_: bool = True, **parameters: Any) -> list[str]:
    return [shown(job) for job in split(name, parameters, Subscription(of, open=open_))]


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
def test_input_data_by_storage(told, most, expected):
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


PLACED = st.lists(st.tuples(st.text("XYZW", min_size=1, max_size=3), st.integers(0, 40)), min_size=1, max_size=25).map(
    lambda told: tuple(
        File(chr(ord("a") + n), size=size, locations=frozenset(storages)) for n, (storages, size) in enumerate(told)
    )
)


@given(PLACED, st.integers(1, 4))
def test_every_file_in_one_job_at_a_storage_that_holds_it(of, most):
    made = list(split("InputDataBySE", {"SplitterMaxFilesPerJob": most}, Subscription(of)))
    assert Counter(each for job in made for each in job.files) == Counter(of)
    assert all(job.locations <= each.locations for job in made for each in job.files)
    assert [shown(job) for job in made] == by_definition(of, most)


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
def test_grouping_by_replicas(told, size, flush, expected):
    assert tasks("DIRAC.Standard", files(*told.split()), group_size=size, flush=flush) == expected


def test_ten_files_to_a_task_where_nothing_is_said():
    of = tuple(File(f"{n:02}", locations=frozenset("X")) for n in range(21))
    assert [len(job.files) for job in split("DIRAC.Standard", {}, Subscription(of))] == [10, 10]


def test_when_no_more_files_come_what_is_left_is_taken():
    assert tasks("DIRAC.Standard", files("a@X"), open_=False) == ["X a"]
    assert tasks("DIRAC.BySize", files("a@X"), open_=False) == ["X a"]


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
def test_grouping_by_size(told, size, most, flush, expected):
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
