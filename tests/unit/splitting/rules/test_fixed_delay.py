"""FixedDelay: no job until a fixed time, then one with all files."""

import pytest

from tests.support.splitting_work import B, file, jobs, names, work

# Files


@pytest.mark.parametrize(("now", "expected"), [(99, []), (101, ["b a"])])
def test_one_job_is_made_when_the_time_has_come(now, expected):
    assert names(jobs("FixedDelay", work(file("b"), file("a", locations=B), now=now), trigger_time=100)) == expected
    assert jobs("FixedDelay", work(now=now)) == []
