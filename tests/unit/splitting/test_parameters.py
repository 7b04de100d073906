"""The parameters of splitters."""

import math

import pytest

from jim.splitting.errors import InvalidParameter
from jim.splitting.parameters import declared
from jim.splitting.registry import known, splitter_of
from tests.unit.splitting.refusals import parameters, refused

NAN = math.nan


# Parameters


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("splitOnRun", 1, "true or false"),
        ("siteWhitelist", "s1", "a list of texts"),
        ("siteBlacklist", ["s1", 2], "a list of texts"),
        ("siteBlacklist", ["s\n1"], "a list of texts"),
        ("runWhitelist", ["x"], "a list of run numbers"),
        ("runWhitelist", [-1], "a list of run numbers"),
        ("performance", {"timePerEvent": -1}, "timePerEvent"),
        ("performance", {"timePerEvent": NAN}, "timePerEvent"),
        ("performance", {"timePerEvent": True}, "timePerEvent"),
        ("performance", {"timeperevent": 1}, "did you mean 'timePerEvent'"),
        ("performance", 5, "a table of timePerEvent"),
    ],
)
def test_a_parameter_of_another_kind(name, value, expected):
    error = refused(InvalidParameter, lambda: parameters("LumiBased", **{name: value}))
    assert error.key == name
    assert expected in str(error)


def test_an_unknown_parameter_is_told_the_nearest_known_one():
    error = refused(InvalidParameter, lambda: parameters("EventBased", events_per_jobs=5))
    assert str(error).startswith("events_per_jobs: unknown parameter; did you mean 'events_per_job'? (known: ")
    assert error.value == 5


def test_what_is_missing_of_the_performance_or_null_is_nothing():
    given = parameters("EventBased", performance={"timePerEvent": None, "sizePerEvent": 1.5})
    assert given.performance.of(10) == (0, 15, 0)


@pytest.mark.parametrize("name", known())
def test_every_parameter_is_declared_whole(name):
    for one in declared(splitter_of(name).Parameters).values():
        assert one.help
        assert one.kind.what
        assert not one.help.endswith(".")
