"""The splitters by lumis: what is expected was worked out by hand from their definitions."""

import pytest

from jim.splitting.errors import JobLimitExceeded
from tests.support.splitting_work import COST, A, B, file, jobs, lumis, names, work

# LumiBased


def test_lumi_zero_is_a_lumi():
    assert lumis(jobs("LumiBased", work(file("f", runs={1: [0, 5]})), lumis_per_job=9)) == ["1:0,5"]


def test_files_without_lumis_stay_available():
    assert names(jobs("LumiBased", work(file("f"), file("g", runs={1: []}), file("h", runs={1: [1]})))) == ["h"]


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


# EventAwareLumiBased


def aware(*files, **params):
    return jobs("EventAwareLumiBased", work(*files), performance=COST, **params)


def test_one_job_more_than_the_limit_is_an_error():
    files = file("a", 100, {1: [1, 2]}), file("b", 100, {1: [3]}, locations=B)
    assert len(aware(*files, events_per_job=50, job_limit=3)) == 3
    with pytest.raises(JobLimitExceeded, match="job_limit: this work makes more than 2 jobs") as caught:
        aware(*files, events_per_job=50, job_limit=2)
    assert (caught.value.kind, caught.value.key, caught.value.value) == ("job-limit-exceeded", "job_limit", 2)
