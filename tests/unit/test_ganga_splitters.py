"""Ganga's splitters: by arguments, by any attribute, by files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.splitting.errors import InvalidParameter, SplitterConfiguration
from jim.splitting.files_and_jobs import File
from jim.splitting.parameters import check
from jim.splitting.registry import splitter_of
from jim.splitting.subscription import Subscription

REQUEST = {"executable": "echo", "arguments": ["base"], "environment": {"X": "0"}, "deep": {"er": {"still": 1}}}


def split(name, parameters, work):
    module = splitter_of(name)
    return list(module.split(work, check(module.Parameters, parameters)))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"args": [["1"], ["2"]]}, [["1"], ["2"]]),
        ({"args": [["1"], ["2"]], "append": True}, [["base", "1"], ["base", "2"]]),
        ({"args": [["AAA", 1], []]}, [["AAA", 1], []]),
        ({"args": [[], []], "append": True}, [["base"], ["base"]]),
        ({"args": []}, []),
        ({}, []),
    ],
)
def test_by_arguments(parameters, expected):
    made = split("ArgSplitter", parameters, REQUEST)
    assert [job["arguments"] for job in made] == expected
    assert all({**job, "arguments": ["base"]} == REQUEST for job in made)


def test_arguments_that_were_not_given():
    assert split("ArgSplitter", {"args": [["1"]], "append": True}, {"arguments": None}) == [{"arguments": ["1"]}]


def test_a_job_type_without_arguments():
    with pytest.raises(SplitterConfiguration, match="has no arguments to split over"):
        split("ArgSplitter", {"args": [["1"]]}, {"executable": "echo"})


@pytest.mark.parametrize("args", ["1", [1], [["1"], "2"], [[["1"]]], [[None]], [[True]], {"a": ["1"]}])
def test_what_are_no_arguments(args):
    with pytest.raises(InvalidParameter, match="args: expected a list of lists of texts and numbers, found"):
        split("ArgSplitter", {"args": args}, REQUEST)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"attribute": "arguments", "values": [["a"], ["b"]]}, [{"arguments": ["a"]}, {"arguments": ["b"]}]),
        (
            {"multi_attrs": {"arguments": [["a"], ["b"]], "environment": [{"Y": "1"}, {}]}},
            [{"arguments": ["a"], "environment": {"Y": "1"}}, {"arguments": ["b"], "environment": {}}],
        ),
        (
            {"attribute": "environment.X", "values": [1, None]},
            [{"environment": {"X": 1}}, {"environment": {"X": None}}],
        ),
        ({"attribute": "deep.er.still", "values": [2]}, [{"deep": {"er": {"still": 2}}}]),
        (
            {"multi_attrs": {"deep.er": [{"still": 5}], "executable": ["cat"]}},
            [{"deep": {"er": {"still": 5}}, "executable": "cat"}],
        ),
        ({"attribute": "executable", "values": []}, []),
        ({"multi_attrs": {"executable": [], "arguments": []}}, []),
        ({"attribute": "", "values": [], "multi_attrs": {}}, []),
        ({}, []),
    ],
)
def test_by_attributes(parameters, expected):
    assert split("GenericSplitter", parameters, REQUEST) == [REQUEST | own for own in expected]


def test_what_the_jobs_share_is_not_changed():
    split("GenericSplitter", {"attribute": "deep.er.still", "values": [2, 3]}, REQUEST)
    assert REQUEST["deep"] == {"er": {"still": 1}}


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"values": [["x"]], "multi_attrs": {"environment": [{}]}}, "multi_attrs: cannot be given together with"),
        (
            {"attribute": "arguments", "multi_attrs": {"environment": [{}]}},
            "multi_attrs: cannot be given together with",
        ),
        ({"values": [["x"]]}, "values: needs the parameter attribute"),
        ({"multi_attrs": {"arguments": [1, 2], "environment": [{}]}}, "environment: 1 values, but arguments has 2"),
        ({"multi_attrs": {"arguments": [], "environment": [{}]}}, "environment: 1 values, but arguments has 0"),
        (
            {"attribute": "argument", "values": ["x"]},
            "argument: there is no attribute 'argument'; did you mean 'arguments'",
        ),
        ({"attribute": "environment.Y", "values": ["x"]}, "environment.Y: there is no attribute"),
        ({"attribute": "executable.x", "values": ["x"]}, "executable.x: there is no attribute"),
        ({"attribute": "nosuch", "values": []}, "nosuch: there is no attribute"),
        ({"attribute": ".", "values": ["x"]}, "there is no attribute"),
    ],
)
def test_what_cannot_be_split_by_attributes(parameters, reason):
    with pytest.raises(SplitterConfiguration, match=reason) as error:
        split("GenericSplitter", parameters, REQUEST)
    assert error.value.kind == "splitter-configuration"


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
def test_by_files(count, parameters, expected):
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


def test_no_files():
    with pytest.raises(SplitterConfiguration, match="there are no files to split"):
        split("GangaDatasetSplitter", {}, dataset(0))


@pytest.mark.parametrize("parameters", [{"files_per_subjob": 0}, {"maxFiles": -2}, {"maxFiles": "all"}])
def test_numbers_of_files_that_cannot_be(parameters):
    with pytest.raises(InvalidParameter, match=next(iter(parameters))):
        split("GangaDatasetSplitter", parameters, dataset(3))


@given(st.integers(1, 60), st.integers(1, 9), st.integers(-1, 70))
def test_the_cap_is_exact(count, per_job, most):
    made = split("GangaDatasetSplitter", {"files_per_subjob": per_job, "maxFiles": most}, dataset(count))
    assert sum(len(job.files) for job in made) == (count if most == -1 else min(count, most))
    assert all(len(job.files) == per_job for job in made[:-1])
    assert [job.group for job in made] == list(range(len(made)))
