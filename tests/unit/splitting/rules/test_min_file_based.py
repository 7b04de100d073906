"""MinFileBased: expected values were worked out by hand from its definition."""

import pytest

from jim.splitting.errors import InvalidParameter
from tests.support.splitting_work import COST, file, jobs, names, work

# Files


@pytest.mark.parametrize(
    ("is_open", "number", "expected"),
    [(True, 2, []), (True, 3, ["a b c"]), (True, 4, ["a b c"]), (False, 4, ["a b c", "d"]), (False, 2, ["a b"])],
)
def test_min_file_based_lets_what_is_left_over_wait(is_open, number, expected):
    subscription = work(*map(file, "dcba"[-number:]), open=is_open)
    assert names(jobs("MinFileBased", subscription, files_per_job=3)) == expected


def test_min_file_based_counts_what_is_left_over_across_runs():
    files = [file(name, runs={run: [1]}) for name, run in (("a", 1), ("b", 1), ("c", 2), ("d", 3), ("e", 3))]
    params = {"files_per_job": 3, "respect_run_boundaries": True}
    assert names(jobs("MinFileBased", work(*files, open=True), **params)) == ["a b", "c"]
    assert names(jobs("MinFileBased", work(*files, open=False), **params)) == ["a b", "c", "d e"]


def test_min_file_based_refuses_a_mask_which_it_would_not_heed():
    with pytest.raises(InvalidParameter, match="runs: unknown parameter"):
        jobs("MinFileBased", work(file("a", runs={1: [1]})), runs=[2], lumis=["1,1"])


def test_min_file_based_gives_no_estimates():
    (job,) = jobs("MinFileBased", work(file("a")), performance=COST)
    assert job.estimates == (None, None, None)
