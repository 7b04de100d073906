"""The splitters by lumis: what is expected was worked out by hand from their definitions."""

import pytest

from jim.splitting.errors import JobLimitExceeded
from tests.splitting_work import COST, A, B, file, jobs, lumis, names, work

# LumiBased


def test_lumi_based_fills_jobs_over_files_and_runs_when_nothing_else_is_said():
    files = file("f", runs={1: [1, 2, 3]}), file("g", runs={1: [5], 2: [1]})
    assert lumis(jobs("LumiBased", work(*files), lumis_per_job=2)) == ["1:1-2", "1:3,5", "2:1"]
    assert lumis(jobs("LumiBased", work(*files), lumis_per_job=2, splitOnRun=False)) == ["1:1-2", "1:3,5", "2:1"]
    assert lumis(jobs("LumiBased", work(*files), lumis_per_job=3, splitOnRun=False)) == ["1:1-3", "1:5 2:1"]
    halting = jobs("LumiBased", work(*files), lumis_per_job=2, halt_job_on_file_boundaries=True)
    assert lumis(halting) == ["1:1-2", "1:3", "1:5", "2:1"]


def test_lumi_based_does_not_join_ranges_of_two_files():
    made = jobs("LumiBased", work(file("f", runs={1: [1, 2]}), file("g", runs={1: [3, 4]})), lumis_per_job=9)
    assert made[0].mask.to_record() == {"run_lumis": {"1": [[1, 2], [3, 4]]}}
    assert names(made) == ["f g"]


def test_lumi_based_sorts_files_by_their_lowest_run_and_its_lumis():
    files = file("a", runs={2: [1]}), file("b", runs={1: [5]}), file("c", runs={1: [2]})
    assert names(jobs("LumiBased", work(*files))) == ["c", "b", "a"]


def test_lumi_zero_is_a_lumi():
    assert lumis(jobs("LumiBased", work(file("f", runs={1: [0, 5]})), lumis_per_job=9)) == ["1:0,5"]


def test_files_without_lumis_stay_available():
    assert names(jobs("LumiBased", work(file("f"), file("g", runs={1: []}), file("h", runs={1: [1]})))) == ["h"]


def test_lumi_based_counts_the_total_over_all_locations():
    files = file("f", runs={1: [1, 2]}), file("g", runs={1: [3, 4]}, locations=B)
    assert lumis(jobs("LumiBased", work(*files), total_lumis=3)) == ["1:1", "1:2", "1:3"]


@pytest.mark.parametrize(("runs", "their_lumis"), [(["1"], ["2,3,6,6"]), ([1, "1"], ["6,6", "2,2,3,3"])])
def test_a_lumi_mask(runs, their_lumis):
    files = file("f", runs={1: [1, 2, 3, 4]}), file("g", runs={1: [5, 6, 7], 2: [2]})
    assert lumis(jobs("LumiBased", work(*files), lumis_per_job=9, runs=runs, lumis=their_lumis)) == ["1:2-3,6"]


@pytest.mark.parametrize(("number", "average"), [(5, 2), (7, 4), (9, 4), (6, 3)])
def test_the_average_of_a_lumi_is_rounded_to_even_where_it_is_a_half(number, average):
    (job, _) = jobs("LumiBased", work(file("f", number, {1: [1, 2]})), performance=COST)
    assert job.estimates == (2 * average, 3 * average, 500)


def test_lumi_correction_puts_a_lumi_of_two_files_into_the_job_that_had_it_first():
    files = file("f", runs={1: [1, 2, 3]}), file("g", runs={1: [2, 3, 4]}), file("h", runs={1: [3, 4]})
    made = jobs("LumiBased", work(*files), lumis_per_job=2, applyLumiCorrection=True, performance=COST)
    assert lumis(made) == ["1:1-2", "1:3,4"]
    assert names(made) == ["f g", "f g h"]
    assert [job.estimates.time_s for job in made] == [2 * 33 * 2, 2 * 33 * 2]  # as without the other file
    made = jobs("LumiBased", work(*files, file("i", runs={1: [2, 9]}, locations=B)), applyLumiCorrection=True)
    assert lumis(made) == ["1:1", "1:2", "1:3", "1:4", "1:9"]  # wherever the files are
    assert names(made) == ["f", "f g i", "f g h", "g h", "i"]


@pytest.mark.parametrize("second", [{1: [2, 4]}, {1: [2], 2: [4]}])
@pytest.mark.parametrize(("splitter", "most"), [("LumiBased", "total_lumis"), ("EventAwareLumiBased", "total_events")])
def test_lumi_correction_ends_with_the_last_lumi_that_may_be_taken(splitter, most, second):
    one = {"LumiBased": {"lumis_per_job": 1}, "EventAwareLumiBased": {"events_per_job": 1}}[splitter]
    files = file("f", 3, {1: [1, 4], 2: [4]}), file("g", 2, second)
    made = jobs(splitter, work(*files), **one, applyLumiCorrection=True, **{most: 4})
    assert (names(made), lumis(made)) == (["f", "f", "f", "g"], ["1:1", "1:4", "2:4", "1:2"])  # g's 4 was not met


@pytest.mark.parametrize(("is_open", "number"), [(True, 0), (False, 2)])
def test_too_few_lumis_wait_at_their_place_only(is_open, number):
    files = file("f", runs={1: [1]}), file("g", runs={1: [1]}), file("h", runs={1: [1, 2, 3]}, locations=B)
    made = jobs("LumiBased", work(*files, open=is_open), lumis_per_job=3)
    assert sum(job.locations == A for job in made) == (number and 1)
    assert sum(job.locations == B for job in made) == 1  # three are enough for three


def test_an_open_fileset_does_not_hold_back_what_is_left_over():
    made = jobs("LumiBased", work(file("f", runs={1: [1, 2, 3]}), open=True), lumis_per_job=2)
    assert lumis(made) == ["1:1-2", "1:3"]


def test_a_run_without_lumis_says_nothing_of_where_a_file_comes():
    files = file("a", runs={1: [], 2: [5]}), file("b", runs={2: [1]})
    assert names(jobs("LumiBased", work(*files))) == ["b", "a"]
    assert lumis(jobs("EventAwareLumiBased", work(*files))) == ["2:1,5"]


def test_lumi_based_skips_the_pileup_by_the_average_of_the_last_file():
    files = file("f", 30, {1: [1, 2, 3]}), file("g", 40, {2: [1, 2]})
    made = jobs("LumiBased", work(*files, jobs_before=2), lumis_per_job=2, deterministicPileup=True)
    assert [job.baggage["skipPileupEvents"] for job in made] == [2 * 2 * 20, 3 * 2 * 20, 4 * 2 * 20]


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


def test_one_job_more_than_the_limit_is_an_error():
    files = file("a", 100, {1: [1, 2]}), file("b", 100, {1: [3]}, locations=B)
    assert len(aware(*files, events_per_job=50, job_limit=3)) == 3
    with pytest.raises(JobLimitExceeded, match="job_limit: this work makes more than 2 jobs") as caught:
        aware(*files, events_per_job=50, job_limit=2)
    assert (caught.value.kind, caught.value.key, caught.value.value) == ("job-limit-exceeded", "job_limit", 2)


@pytest.mark.parametrize("splitter", ["EventAwareLumiBased", "EventAwareLumiByWork"])
def test_too_few_events_wait_while_more_may_come(splitter):
    subscription = work(file("a", 99, {1: [1]}), file("b", 100, {1: [1]}, locations=B), open=True)
    assert names(jobs(splitter, subscription, events_per_job=100)) == ["b"]


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
