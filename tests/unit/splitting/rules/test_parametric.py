"""Parametric and its progressions, as in DIRAC's RFC 15."""

from __future__ import annotations

import pytest

from jim.splitting.errors import SplitError
from jim.splitting.parameters import check, declared
from jim.splitting.rules import parametric
from tests.unit.splitting.manifests import values

# The dialect of the RFC


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"Parameters": 3}, ["1.0", "1.0", "1.0"]),
        ({"Parameters": "3", "ParameterStep": "1"}, ["1.0", "2.0", "3.0"]),
        ({"Parameters": ["3"], "ParameterStart": 5}, ["5.0", "5.0", "5.0"]),
        ({"Parameters": 3, "ParameterStep": 1, "ParameterFactor": 1.3}, ["1.0", "2.3", "3.99"]),
        ({"Parameters": 3, "ParameterStart": 10, "ParameterStep": -3.5}, ["10.0", "6.5", "3.0"]),
        ({"Parameters": 3, "ParameterStart": 0, "ParameterFactor": 2}, ["0.0", "0.0", "0.0"]),
        ({"Parameters": ["a", "b"]}, ["a", "b"]),
        ({"Parameters": "a, b,c"}, ["a", "b", "c"]),
        ({"Parameters": [1, 2.5, "x"]}, ["1", "2.5", "x"]),
        ({"Parameters": ["1", "2"], "ParameterStart": 9}, ["1", "2"]),
        ({"Parameters": ["a", "a"]}, ["a", "a"]),
        ({}, []),
    ],
)
def test_values_of_the_rfc(options, expected):
    assert values(**options) == expected


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"Parameters": ["only"]}, "Parameters: expected a whole number, found 'only' .*at least two"),
        ({"Parameters": "3.0"}, "Parameters: expected a whole number"),
        ({"Parameters": 2.5}, "Parameters: expected a whole number"),
        ({"Parameters": 0}, "Parameters: expected at least one job"),
        ({"Parameters": "-4"}, "Parameters: expected at least one job"),
        ({"Parameters": True}, "Parameters: expected a number of jobs, or a list of values"),
        ({"Parameters": {"a": 1}}, "Parameters: expected a number of jobs"),
        ({"Parameters": [["a"], ["b"]]}, "Parameters: expected a number of jobs"),
        ({"Parameters": 2, "ParameterStep": "abc"}, "ParameterStep: expected a number, found 'abc'"),
        ({"Parameters": 2, "ParameterStart": "nan"}, "ParameterStart: expected a number"),
        ({"Parameters": 2, "ParameterFactor": [1]}, "ParameterFactor: expected a number"),
        ({"Parameters": 2000, "ParameterFactor": 2}, "parameter 998 of 2,000 is too large"),
    ],
)
def test_what_the_rfc_refuses(options, reason):
    with pytest.raises(SplitError, match=reason) as error:
        values(**options)
    assert error.value.kind == "split-error"


def test_millions_of_values_are_given_one_by_one():
    p = check(parametric.Parameters, {"Parameters": 10**9, "ParameterStep": 1})
    stream = parametric.split({}, p)
    assert [next(stream)["Parameter"] for _ in range(3)] == ["1.0", "2.0", "3.0"]


def test_the_options_go_and_all_else_stays():
    given_ = {
        "Parameters": 1,
        "ParameterStart": 1,
        "ParameterStep": 1,
        "ParameterFactor": 1,
        "Parameter": "old",
        "x": [1],
    }
    assert list(parametric.split(given_, check(parametric.Parameters, {"Parameters": 1}))) == [
        {"Parameter": "1.0", "x": [1]}
    ]
    assert {each.name for each in declared(parametric.Parameters).values()} < given_.keys()
