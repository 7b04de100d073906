"""Lumi masks of requests."""

import math

import pytest

from jim.splitting.errors import InvalidMask
from tests.support.splitting_work import file, jobs, lumis, work
from tests.unit.splitting.refusals import parameters, refused

# LumiBased


@pytest.mark.parametrize(("runs", "their_lumis"), [(["1"], ["2,3,6,6"]), ([1, "1"], ["6,6", "2,2,3,3"])])
def test_only_lumis_of_the_mask_are_processed(runs, their_lumis):
    files = file("f", runs={1: [1, 2, 3, 4]}), file("g", runs={1: [5, 6, 7], 2: [2]})
    assert lumis(jobs("LumiBased", work(*files), lumis_per_job=9, runs=runs, lumis=their_lumis)) == ["1:2-3,6"]


# EventAwareLumiByWork


NAN = math.nan


@pytest.mark.parametrize(
    ("runs", "lumis"),
    [
        ([1], []),
        ([], ["1,2"]),
        ([1, 2], ["1,2"]),
        ([1], ["1,2,3"]),
        ([1], ["2,1"]),
        ([1], ["1-2"]),
        ([1], ["-1,2"]),
        ([1], [""]),
        ([1], [[1, 2]]),
        ([1], [1]),
        ([1], "1,2"),
        ([1.0], ["1,2"]),
        ([True], ["1,2"]),
        ([None], ["1,2"]),
        (["x"], ["1,2"]),
        ("1", ["1,2"]),
        ([NAN], ["1,2"]),
    ],
)
@pytest.mark.parametrize("splitter", ["LumiBased", "FileBased"])
def test_a_mask_that_says_nothing_clear(splitter, runs, lumis):
    error = refused(InvalidMask, lambda: parameters(splitter, runs=runs, lumis=lumis))
    assert error.kind == "invalid-mask"
    assert error.key in ("runs", "lumis")


def test_a_mask_tells_what_is_odd_about_it():
    error = refused(InvalidMask, lambda: parameters("LumiBased", runs=["1"], lumis=["1,2,3"]))
    assert "lumis in pairs (first and last), but '1,2,3' has 3 numbers" in str(error)
