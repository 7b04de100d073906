"""EventAwareLumiBased: expected values were worked out by hand from its definition."""

import pytest

from tests.support.splitting_work import COST, B, file, jobs, lumis, names, work

# EventAwareLumiBased


def aware(*files, **params):
    return jobs("EventAwareLumiBased", work(*files), performance=COST, **params)


def test_event_aware_takes_files_while_their_next_lumi_fits():
    files = file("a", 60, {1: [1, 2]}), file("b", 30, {1: [3]}), file("c", 20, {1: [4, 5]}), file("d", 80, {1: [6]})
    assert lumis(aware(*files, events_per_job=100)) == ["1:1-2,3,4", "1:5,6"]


def test_event_aware_that_halts_at_files_fills_each_by_itself():
    files = file("a", 60, {1: [1, 2]}), file("b", 500, {1: [3, 4]}), file("c", 0, {1: [5, 6, 7]})
    made = aware(*files, events_per_job=100, halt_job_on_file_boundaries=True)
    assert lumis(made) == ["1:1-2", "1:3", "1:4", "1:5-7"]


def test_event_aware_cuts_where_a_job_must_end_and_then_by_this_file_alone():
    files = file("a", 90, {1: [1]}), file("b", 200, {1: [2, 3, 4, 5]})
    assert lumis(aware(*files, events_per_job=100)) == ["1:1", "1:2-3", "1:4-5"]


def test_event_aware_takes_any_number_of_lumis_without_events():
    files = file("a", 100, {1: [1]}), file("b", 0, {1: [2, 3]}), file("c", 100, {1: [4]})
    assert lumis(aware(*files, events_per_job=100)) == ["1:1,2-3", "1:4"]


@pytest.mark.parametrize(("seconds", "failed"), [(199, True), (200, False)])
def test_a_lumi_that_takes_too_long_fails_alone(seconds, failed):
    files = file("a", 10, {1: [1]}), file("b", 100, {1: [2]}), file("c", 10, {1: [3]})
    made = aware(*files, events_per_job=1000, job_time_limit=seconds)
    assert lumis(made) == (["1:1", "1:2", "1:3"] if failed else ["1:1,2,3"])
    if failed:
        assert [job.failure and job.failure.code for job in made] == [None, 99305, None]
        for fact in ("b", "lumi, 2", "run 1", "100 events", "200 s"):
            assert fact in made[1].failure.reason


def test_a_lumi_that_takes_too_long_may_be_wanted_all_the_same():
    files = file("a", 10, {1: [1]}), file("b", 100, {1: [2]}), file("c", 10, {1: [3]})
    made = aware(*files, events_per_job=1000, job_time_limit=199, allowCreationFailure=False)
    assert lumis(made) == ["1:1", "1:2", "1:3"]
    assert not any(job.failure for job in made)


@pytest.mark.parametrize(
    ("total", "expected"), [(1, ["1:1"]), (50, ["1:1"]), (51, ["1:1", "1:2"]), (0, ["1:1", "1:2"])]
)
def test_event_aware_stops_after_the_lumi_that_reaches_the_total(total, expected):
    assert lumis(aware(file("a", 100, {1: [1, 2]}), events_per_job=50, total_events=total)) == expected


def test_event_aware_skips_the_pileup_of_full_jobs():
    files = file("a", 20, {1: [1, 2]}), file("b", 40, {1: [3, 4, 5, 6]})
    made = jobs("EventAwareLumiBased", work(*files, jobs_before=1), events_per_job=30, deterministicPileup=True)
    assert lumis(made) == ["1:1-2,3", "1:4-6"]
    assert [job.baggage["skipPileupEvents"] for job in made] == [1 * 3 * 10, 2 * 3 * 10]


@pytest.mark.parametrize("splitter", ["EventAwareLumiBased", "EventAwareLumiByWork"])
def test_too_few_events_wait_while_more_may_come(splitter):
    subscription = work(file("a", 99, {1: [1]}), file("b", 100, {1: [1]}, locations=B), open=True)
    assert names(jobs(splitter, subscription, events_per_job=100)) == ["b"]
