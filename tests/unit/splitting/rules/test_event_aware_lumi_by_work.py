"""EventAwareLumiByWork: expected values were worked out by hand from its definition."""

import pytest

from tests.support.splitting_work import COST, file, jobs, lumis, names, work

# EventAwareLumiByWork


def by_work(*files, **params):
    return jobs("EventAwareLumiByWork", work(*files), performance=COST, **params)


@pytest.mark.parametrize(
    ("target", "expected"),
    [(360, ["1:1-4", "1:5-6"]), (340, ["1:1-3", "1:4-6"]), (350, ["1:1-3", "1:4-6"])],  # a tie ends the job
)
def test_by_work_comes_as_near_as_it_can(target, expected):
    assert lumis(by_work(file("a", 600, {1: [1, 2, 3, 4, 5, 6]}), events_per_job=target)) == expected


def test_by_work_has_each_lumi_once_with_all_its_files():
    files = file("a", 100, {1: [1, 2]}), file("b", 60, {1: [2, 3]})
    made = by_work(*files, events_per_job=1000)
    assert lumis(made) == ["1:1-3"]
    assert names(made) == ["a b"]
    assert made[0].estimates.time_s == 2 * (50 + 30 + 30)  # the last file says how many events lumi 2 has
    apart = by_work(*files, events_per_job=50)
    assert (lumis(apart), names(apart)) == (["1:1", "1:2-3"], ["a", "a b"])


def test_by_work_ends_a_job_at_a_change_of_run_or_file():
    files = file("a", 20, {1: [1], 2: [1]}), file("b", 10, {2: [2]})
    assert lumis(by_work(*files, events_per_job=100)) == ["1:1", "2:1-2"]
    assert lumis(by_work(*files, events_per_job=100, splitOnRun=False)) == ["1:1 2:1-2"]
    halting = by_work(*files, events_per_job=100, splitOnRun=False, halt_job_on_file_boundaries=True)
    assert lumis(halting) == ["1:1 2:1", "2:2"]


def test_by_work_fails_a_lumi_that_takes_too_long_without_a_code():
    files = file("a", 20, {1: [1, 2]}), file("b", 100, {1: [3]}), file("c", 10, {1: [4]})
    made = by_work(*files, events_per_job=1000, job_time_limit=199)
    assert lumis(made) == ["1:1-2", "1:3", "1:4"]
    assert [job.failure and job.failure.code for job in made] == [None, None, None]
    assert "lumi 3 of run 1 has 100 events, which take 200 s" in made[1].failure.reason


def test_by_work_skips_the_pileup_of_the_largest_lumis_and_jobs():
    files = file("a", 30, {1: [1, 2, 3]}), file("b", 80, {1: [4, 5]})
    made = jobs("EventAwareLumiByWork", work(*files, jobs_before=1), events_per_job=30, deterministicPileup=True)
    assert lumis(made) == ["1:1-3", "1:4", "1:5"]
    assert [job.baggage["skipPileupEvents"] for job in made] == [1 * 40 * 3, 2 * 40 * 3, 3 * 40 * 3]
    empty = work(file("a", 0, {1: [1, 2, 3]}), jobs_before=1)
    (job,) = jobs("EventAwareLumiByWork", empty, deterministicPileup=True)
    assert job.baggage["skipPileupEvents"] == 1 * 1 * 3  # of lumis that seem empty, one each


def test_by_work_looks_at_the_total_before_it_takes_a_lumi():
    assert lumis(by_work(file("a", 30, {1: [1, 2, 3]}), events_per_job=10, total_events=20)) == ["1:1", "1:2"]
