"""EventBased: expected values were worked out by hand from its definition."""

import pytest

from jim.splitting.errors import SplitError
from jim.splitting.registry import split
from tests.support.splitting_work import COST, MC, events, file, jobs, names, work


@pytest.mark.parametrize(
    ("number", "per_job", "expected"),
    [
        (10, 4, [(0, 3), (4, 7), (8, 9)]),
        (8, 4, [(0, 3), (4, 7)]),  # an exact multiple leaves no empty job
        (3, 4, [(0, 2)]),
        (0, 4, [(0, None)]),  # one job, without an end
    ],
)
def test_event_based_cuts_a_file_into_ranges(number, per_job, expected):
    assert events(jobs("EventBased", work(file("f", number)), events_per_job=per_job)) == expected


def test_event_based_counts_from_the_first_event_and_never_joins_files():
    made = jobs("EventBased", work(file("f", 5, first_event=7), file("e", 2)), events_per_job=4)
    assert events(made) == [(7, 10), (11, 11), (0, 1)]
    assert names(made) == ["f", "f", "e"]  # as they are available


def test_event_based_estimates_by_the_events_of_each_job():
    made = jobs("EventBased", work(file("f", 5), file("g", 0)), events_per_job=4, performance=COST)
    assert [job.estimates for job in made] == [(8, 12, 500), (2, 3, 500), (0, 0, 500)]


def test_event_based_never_shares_a_lumi_between_jobs_of_a_generator_file():
    made = jobs("EventBased", work(file(MC, 25, {1: [3, 4]}, first_event=1)), events_per_job=10, events_per_lumi=4)
    assert [job.mask[:4] for job in made] == [(1, 10, 3, 5), (11, 20, 6, 8), (21, 25, 9, 10)]
    assert [job.baggage for job in made] == [{"lheInputFiles": False}] * 3


def test_event_based_makes_no_job_of_a_generator_file_without_events():
    assert jobs("EventBased", work(file(MC, 0, {1: [1]}))) == []


def test_event_based_wants_to_know_the_lumis_of_a_generator_file():
    with pytest.raises(SplitError, match="MCFakeFile-1: generator input without lumis"):
        jobs("EventBased", work(file(MC, 10)))


@pytest.mark.parametrize(
    ("first", "number", "expected"),
    [
        (2**32 - 10, 10, [(2**32 - 10, 2**32 - 1)]),  # the last number is a number
        (2**32 - 10, 15, [(2**32 - 10, 2**32 - 1), (1, 5)]),
        (2**32 - 5, 15, [(1, 10), (11, 15)]),  # a job is never numbered across the end
    ],
)
def test_event_based_numbers_generated_events_in_32_bits(first, number, expected):
    made = jobs("EventBased", work(file(MC, number, {1: [1]}, first_event=first)), events_per_job=10)
    assert events(made) == expected
    assert [job.mask.first_lumi for job in made] == [1, 2][: len(expected)]


def test_event_based_skips_the_pileup_of_all_jobs_before():
    made = jobs("EventBased", work(file("f", 5), jobs_before=3), events_per_job=2, deterministicPileup=True)
    assert [job.baggage for job in made] == [{"skipPileupEvents": n} for n in (6, 8, 10)]


def test_a_million_pieces_are_a_stream():
    first = next(split("EventBased", {"events_per_job": 1}, work(file("f", 10**12))))
    assert first.mask[:2] == (0, 0)
