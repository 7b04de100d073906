"""GenericSplitter: a job for each value of an attribute."""

from __future__ import annotations

import pytest

from jim.splitting.errors import SplitterConfiguration
from tests.unit.splitting.split_requests import split

REQUEST = {"executable": "echo", "arguments": ["base"], "environment": {"X": "0"}, "deep": {"er": {"still": 1}}}


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
def test_each_value_of_the_attributes_makes_a_job(parameters, expected):
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
