"""ParametricJDL: parameters of DIRAC's JDL."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.splitting.errors import InvalidManifest, TooManyJobs
from jim.splitting.rules import parametric_jdl
from tests.unit.splitting.manifests import jobs, values

# The dialect of today's JDL


def column(name: str, **options: Any) -> list[Any]:
    return [job[name] for job in jobs(**options)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"Parameters": 3}, ["1", "1", "1"]),
        ({"Parameters": "3", "ParameterStart": "5"}, ["5", "5", "5"]),
        ({"Parameters": 3, "ParameterStep": 2}, ["1", "3", "5"]),
        ({"Parameters": 3, "ParameterStep": "0.5"}, ["1.0", "1.5", "2.0"]),
        ({"Parameters": 3, "ParameterFactor": 2.0}, ["1.0", "2.0", "4.0"]),
        ({"Parameters": 3, "ParameterStart": 1.5, "ParameterStep": 1}, ["1.5", "2.5", "3.5"]),
        ({"Parameters": 3, "ParameterStart": 2, "ParameterFactor": 3, "ParameterStep": -1}, ["2", "5", "14"]),
        ({"Parameters": 3, "ParameterStep": 1, "ParameterFactor": 1.3}, ["1.0", "2.3", "3.99"]),
        ({"Parameters": ["a", "b c"]}, ["a", "b c"]),
        ({"Parameters": [1, 2.5]}, ["1", "2.5"]),
        ({"Parameters": [["/a/1", "/a/2"], ["/a/3"]]}, [("/a/1", "/a/2"), ("/a/3",)]),
        ({"Parameters": ["only"]}, ["only"]),
    ],
)
def test_values_of_the_unnamed_parameter(options, expected):
    assert column("Parameter", **options) == expected


def test_parameters_side_by_side():
    options = {
        "Arguments": "%(A)s %(B)s %s %n %(C)s",
        "Parameters": 3,
        "ParameterStart.A": 1,
        "ParameterStep.A": 1,
        "ParameterFactor.A": 2,
        "Parameters.B": ["x", "y", "z"],
    }
    first, second, third = jobs(**options)
    assert first == {
        "Arguments": "1 x 1 0 %(C)s",
        "Parameter": "1",
        "Parameter.A": "1",
        "Parameter.B": "x",
        "ParameterNumber": 0,
    }
    assert (second["Arguments"], third["Arguments"]) == ("3 y 1 1 %(C)s", "7 z 1 2 %(C)s")


def test_named_lists_alone_are_parameters_too():
    """The peer counts them and expands nothing."""
    assert column(
        "Arguments", **{"Arguments": "%(A)s%(B)s%s", "Parameters.A": ["1", "2"], "Parameters.B": ["x", "y"]}
    ) == [
        "1x%s",
        "2y%s",
    ]


def test_a_manifest_without_parameters_is_one_job():
    options = {"Arguments": "%s %n", "ParameterStart": "zz", "ParameterStep.A": 3, "ParametersOf": "x"}
    assert jobs(**options) == [options]


@pytest.mark.parametrize(
    ("count", "expected"), [(1, ["0"]), (10, ["0", "9"]), (11, ["00", "10"]), (101, ["000", "100"])]
)
def test_the_number_has_the_digits_of_the_highest_one(count, expected):
    found = column("Name", most=200, Name="%n", Parameters=count)
    assert [found[0], found[-1]][: len(expected)] == expected
    assert column("ParameterNumber", most=200, Parameters=count)[-1] == count - 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s", "v"),
        ("%n", "0"),
        ("a%sb%nc", "avb0c"),
        ("%%n", "%0"),
        ("%ns", "0s"),
        ("%d %", "%d %"),
        ("%(N)s", "w"),
        ("%(N)n %(N) %(n)s %()s", "%(N)n %(N) %(n)s %()s"),
        ("%(V)s", "%s %n %(N)s"),
        ([["%s"], "%n"], [["v"], "0"]),
        ({"inner": "%s", "n": 5}, {"inner": "v", "n": 5}),
        (7, 7),
    ],
)
def test_each_placeholder_gets_its_value(text, expected):
    options = {"Parameters": ["v", "-"], "Parameters.N": ["w", "-"], "Parameters.V": ["%s %n %(N)s", "-"]}
    assert column("Text", Text=text, **options)[0] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s", ("a", "b")),
        (["%s"], ["a", "b"]),
        (["x", "%s", "%n"], ["x", "a", "b", "0"]),
        ("of %s", "of a, b"),
        (["of %s"], ["of a, b"]),
    ],
)
def test_a_list_that_is_put_in(text, expected):
    assert column("Text", Text=text, Parameters=[["a", "b"], ["c"]])[0] == expected


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"Parameters": 0}, "Parameters: 0 values, but at least one needed"),
        ({"Parameters": []}, "Parameters: 0 values"),
        ({"Parameters": -1}, "Parameters: -1 values"),
        ({"Parameters": "3.0"}, "Parameters: expected a whole number"),
        ({"Parameters": "abc"}, "Parameters: expected a whole number"),
        ({"Parameters": {"a": 1}}, "Parameters: expected a whole number"),
        ({"Parameters.A": 3}, "Parameters.A: expected a list of values, found 3"),
        ({"Parameters": 3, "Parameters.A": 3}, "Parameters.A: expected a list"),
        ({"Parameters": 3, "Parameters.A": ["x", "y"]}, "Parameters.A: 2 values, but 3 needed"),
        ({"Parameters.A": ["x"], "Parameters.B": ["x", "y"]}, "Parameters.B: 2 values, but 1 needed"),
        ({"Parameters": 2, "ParameterStep": "abc"}, "ParameterStep: expected a number, found 'abc'"),
        ({"Parameters": 2, "ParameterStart.A": "x"}, "ParameterStart.A: expected a number"),
        ({"Parameters": [{"a": 1}]}, "Parameters: expected a value, or a list of values"),
        ({"Parameters": 2000, "ParameterFactor": 10}, "parameter 302 of 2,000 is too large"),
        ({"Parameters": 2000, "ParameterFactor": 10.0}, "is too large"),
    ],
)
def test_what_the_jdl_refuses(options, reason):
    with pytest.raises(InvalidManifest, match=reason.replace(".", r"\.")):
        jobs(most=5000, **options)


def test_the_limit_is_met_before_anything_is_made():
    assert len(jobs(Parameters=20)) == 20
    with pytest.raises(TooManyJobs, match="this manifest makes 21 jobs; at most 20 are allowed"):
        next(parametric_jdl.split({"Parameters": 21}, parametric_jdl.Parameters()))


@given(st.integers(1, 12), st.integers(-9, 9), st.integers(-9, 9), st.integers(-3, 3))
def test_whole_numbers_stay_whole_and_the_dialects_agree(count, start, step, factor):
    options = {"Parameters": count, "ParameterStart": start, "ParameterStep": step, "ParameterFactor": factor}
    whole = column("Parameter", **options)
    assert [f"{each}.0" for each in whole] == values(**options)


@given(st.lists(st.text("".join(map(chr, range(128))), max_size=5), min_size=1, max_size=15))
def test_values_are_put_in_as_they_are(given_):
    texts = column("Text", Text="<%s>", Parameters=given_)
    assert texts == [f"<{each}>" for each in given_]
