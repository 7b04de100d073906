"""RunBased: expected values were worked out by hand from its definition."""

import pytest

from jim.splitting.errors import SplitError
from tests.support.splitting_work import A, B, file, jobs, names, work

# Files


def test_run_based_groups_by_the_lowest_run_at_each_place():
    runs = (("a", 2, A), ("b", 1, A), ("c", 2, B), ("d", 2, A), ("e", 2, A))
    made = jobs(
        "RunBased", work(*(file(n, runs={run: [1], 9: [1]}, locations=at) for n, run, at in runs)), files_per_job=2
    )
    assert names(made) == ["b", "e d", "a", "c"]
    assert [(job.group, job.locations, job.sites) for job in made] == [
        *((n, A, ("a1", "a2")) for n in (0, 1, 1)),
        (2, B, ("b1",)),
    ]
    with pytest.raises(SplitError, match="b: has no run"):
        jobs("RunBased", work(file("a", runs={1: []}), file("b")))
