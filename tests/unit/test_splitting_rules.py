"""Splitters, rule by rule: what is expected was worked out by hand from their definitions."""

import pytest

from jim.splitting.catalogue import known, split
from jim.splitting.errors import InvalidParameter, JobLimitExceeded, SplitError, UnknownSplitter
from jim.splitting.subscription import Producer, Sibling, Subscription
from jim.splitting.units import File, Settled, SplitJob

A, B = frozenset({"SE_A"}), frozenset({"SE_B"})
AB = A | B
SITES = {"SE_A": ("a1", "a2"), "SE_B": ("b1",)}
COST = {"timePerEvent": 2, "sizePerEvent": 3, "memoryRequirement": 500}
MC = "MCFakeFile-1"


def file(lfn, events=100, runs=None, locations=A, **more):
    table = tuple((run, tuple(lumis)) for run, lumis in (runs or {}).items())
    return File(lfn, events=events, runs=table, locations=locations, **more)


def work(*files, **more):
    return Subscription(files, **{"open": False, "storage_to_sites": SITES} | more)


def jobs(splitter, subscription, **params):
    return [each for each in split(splitter, params, subscription) if isinstance(each, SplitJob)]


def names(made):
    return [" ".join(each.lfn for each in job.files) for job in made]


def events(made):
    return [(job.mask.first_event, job.mask.last_event) for job in made]


def lumis(made):
    """Show masks as texts: `1:2-4,6 2:1` are lumis 2 to 4 and 6 of run 1, and 1 of run 2."""
    ranges = [job.mask.run_lumis.items() for job in made]
    shown = [
        [(run, ",".join(str(a) if a == b else f"{a}-{b}" for a, b in those)) for run, those in runs] for runs in ranges
    ]
    return [" ".join(f"{run}:{those}" for run, those in runs) for runs in shown]


# EventBased


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
    with pytest.raises(JobLimitExceeded, match="job_limit: more than 2 jobs") as caught:
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


# Files


def test_file_based_cuts_by_name_at_each_place():
    files = [file(name, 10, locations=at) for name, at in (("c", A), ("a", A), ("b", A), ("d", AB))]
    made = jobs("FileBased", work(*files), files_per_job=2, performance=COST)
    assert names(made) == ["a b", "c", "d"]
    assert [job.estimates.time_s for job in made] == [40, 20, 20]
    assert [job.locations for job in made] == [A, A, AB]


def test_file_based_takes_the_first_by_name_of_all_places():
    files = [file(name, locations=at) for name, at in (("c", A), ("a", B), ("b", A))]
    assert names(jobs("FileBased", work(*files), total_files=2)) == ["b", "a"]


def test_file_based_may_put_so_many_jobs_into_a_group():
    made = jobs("FileBased", work(*map(file, "abcde")), files_per_job=1, jobs_per_group=2)
    assert [job.group for job in made] == [0, 0, 1, 1, 2]


def test_file_based_does_not_sort_by_run():
    files = file("a", runs={1: [1]}), file("b", runs={2: [1]}), file("c", runs={1: [2]}), file("d", runs={1: [3]})
    assert names(jobs("FileBased", work(*files), respect_run_boundaries=True)) == ["a", "b", "c d"]


def test_file_based_with_a_lumi_mask():
    files = file("a", 40, {1: [1, 2, 3, 4]}), file("b", 10, {1: [9]}), file("c", 20, {1: [5, 6], 2: [1, 2]})
    made = jobs("FileBased", work(*files), runs=[1, 2], lumis=["3,6", "2,2"], performance=COST)
    assert names(made) == ["a c"]
    assert lumis(made) == ["1:3-4,5-6 2:2"]
    assert made[0].estimates.time_s == 2 * (2 * 10 + 3 * 5)


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


def test_size_based_fills_in_the_order_of_availability():
    files = [file(name, size=size) for name, size in (("c", 6), ("a", 4), ("b", 11), ("d", 1), ("e", 9), ("f", 1))]
    assert names(jobs("SizeBased", work(*files), size_per_job=10)) == ["c a", "b", "d e", "f"]
    assert jobs("SizeBased", work(), trustSitelists=True, siteWhitelist=["a1"]) == []


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


@pytest.mark.parametrize(("now", "expected"), [(99, []), (101, ["b a"])])
def test_fixed_delay(now, expected):
    assert names(jobs("FixedDelay", work(file("b"), file("a", locations=B), now=now), trigger_time=100)) == expected
    assert jobs("FixedDelay", work(now=now)) == []


# Harvest


def harvested(**more):
    files = file("a", runs={1: [1, 2]}), file("b", runs={1: [3], 2: [5]}), file("c", runs={2: [1]}, locations=B)
    return work(*files, **more)


def test_harvest_makes_a_job_for_each_place_and_run_in_the_end():
    made = jobs("Harvest", harvested(), performance=COST)
    assert list(zip(names(made), lumis(made), strict=True)) == [("a b", "1:1-3"), ("b", "2:5"), ("c", "2:1")]
    assert all(job.baggage == {"runIsComplete": True} and job.estimates == (None, None, 500) for job in made)
    assert jobs("Harvest", harvested(open=True)) == []


def test_jobs_of_a_harvest_are_one_group_and_stay_at_their_places_whatever_is_trusted():
    made = jobs("Harvest", harvested(), dqmHarvestUnit="multiRun", trustSitelists=True, siteWhitelist=["z"])
    assert names(made) == ["a b", "c"]
    assert [(job.group, job.locations, job.sites) for job in made] == [(0, None, ("z",))] * 2


def test_harvest_may_make_one_job_of_all_runs():
    made = jobs("Harvest", harvested(), dqmHarvestUnit="multiRun")
    assert list(zip(names(made), lumis(made), strict=True)) == [("a b", "1:1-3 2:5"), ("c", "2:1")]
    assert [job.baggage["runLimits"] for job in made] == ["-1-2", "-2-2"]
    assert made[0].baggage == {"runIsComplete": True, "multiRun": True, "runLimits": "-1-2"}


@pytest.mark.parametrize(
    ("more", "number"),
    [
        ({}, 3),  # the first time at once
        ({"quiet_s": 61}, 3),
        ({"quiet_s": 60}, 0),
        ({"quiet_s": 61, "acquired": (file("z", runs={1: [9]}),)}, 0),
    ],
)
def test_harvest_again_and_again(more, number):
    made = jobs("Harvest", harvested(open=True, **more), periodic_harvest_interval=60)
    assert len(made) == number
    assert not any(job.baggage for job in made)


def test_a_later_harvest_reads_what_earlier_ones_have_read():
    made = jobs("Harvest", harvested(done=(file("z", runs={1: [9]}),)))
    assert (names(made)[0], lumis(made)[0]) == ("z a b", "1:1-3,9")
    assert jobs("Harvest", work(done=(file("z", runs={1: [9]}),))) == []  # nothing new


def test_the_last_harvest_may_wait_for_a_sibling():
    waiting, through = Sibling(frozenset("ab")), Sibling(frozenset("ab"), frozenset("c"))
    assert jobs("Harvest", harvested(siblings=(waiting,)), periodic_harvest_sibling=True) == []
    assert len(jobs("Harvest", harvested(siblings=(waiting,)))) == 3
    assert len(jobs("Harvest", harvested(siblings=(through,)), periodic_harvest_sibling=True)) == 3


# Merging

LIMITS = {"min_merge_size": 50, "max_merge_size": 100, "max_merge_events": 1000}


def sized(name, size, lumi=1, events=1, run=1, **more):
    return file(name, events, {run: [lumi]}, size=size, **more)


def parentless(*files, is_open=True, injected=True, **params):
    return names(jobs("ParentlessMergeBySize", work(*files, open=is_open, injected=injected), **LIMITS | params))


def test_merging_collects_in_order_up_to_the_maximum():
    files = sized("c", 40, 3), sized("a", 30, 1), sized("b", 30, 2), sized("d", 51, 4)
    assert parentless(*files) == ["a b c", "d"]


def test_merging_wants_more_than_the_minimum():
    assert parentless(sized("a", 50)) == []
    assert parentless(sized("a", 51)) == ["a"]


@pytest.mark.parametrize(
    ("is_open", "injected", "expected"),
    [(True, True, []), (False, True, ["a"]), (False, False, []), (True, False, [])],
)
def test_merging_is_forced_once_nothing_more_can_come(is_open, injected, expected):
    assert parentless(sized("a", 50), is_open=is_open, injected=injected) == expected


def test_what_is_too_large_is_merged_alone_and_leaves_the_others_be():
    files = sized("a", 30, 1), sized("b", 101, 2), sized("c", 30, 3), sized("d", 1, 4, events=1001)
    assert parentless(*files) == ["b", "d", "a c"]


def test_a_file_that_does_not_fit_is_passed_over_while_there_is_too_little():
    assert parentless(sized("a", 40, 1), sized("b", 70, 2), sized("c", 20, 3)) == ["a c"]
    forced = parentless(sized("a", 40, 1), sized("b", 70, 2), sized("c", 20, 3), is_open=False)
    assert forced == ["a", "b c"]


def test_a_file_that_has_waited_long_enough_sends_off_what_is_before_it_and_itself():
    files = sized("a", 40, 1), sized("b", 70, 2, age_s=11), sized("c", 40, 3)
    assert parentless(*files, max_wait_time=10) == ["a", "b", "c"]
    assert parentless(sized("a", 40, 1, age_s=10), max_wait_time=10) == []


def test_merging_within_runs_and_storages():
    files = sized("a", 60, 1), sized("b", 30, 2, run=2), sized("c", 30, 3, run=2), sized("d", 60, 1, locations=B)
    assert parentless(*files) == ["a b", "d"]
    assert parentless(*files, merge_across_runs=False) == ["a", "b c", "d"]


def test_a_file_at_two_storages_is_merged_once_where_the_others_are():
    subscription = work(sized("a", 30, locations=AB), sized("b", 30, locations=A))
    (job,) = jobs("ParentlessMergeBySize", subscription, **LIMITS)
    assert (names([job]), job.sites) == (["a b"], ("a1", "a2"))


@pytest.mark.parametrize("splitter", ["ParentlessMergeBySize", "WMBSMergeBySize", "SiblingProcessingBased"])
def test_files_of_two_storages_stay_apart_even_where_the_site_lists_are_trusted(splitter):
    files = [sized(name, 30, locations=at, parents=("p",)) for name, at in (("a", A), ("b", B))]
    subscription = work(*files, producers=(Producer("g", frozenset("p"), "success"),))
    made = jobs(splitter, subscription, trustSitelists=True, siteWhitelist=["z"])
    assert [(names([job]), job.sites) for job in made] == [(["a"], ("z",)), (["b"], ("z",))]


def test_what_merging_takes():
    (job,) = jobs("ParentlessMergeBySize", work(sized("a", 2048), sized("b", 3072)))
    assert job.estimates == (pytest.approx(300 + 4 * 5120 / 5e6), (5120 + 3072) / 1024, None)


def outputs(*names_and_parents, size=20, **more):
    return [sized(name, size, n + 1, parents=(parent,), **more) for n, (name, parent) in enumerate(names_and_parents)]


def merge_outputs(files, producers, **more):
    subscription = work(
        *files, producers=tuple(Producer(g, frozenset(p.split()), end) for g, p, end in producers), **more
    )
    stream = list(split("WMBSMergeBySize", LIMITS, subscription))
    settled = [(each.state, [one.lfn for one in each.files]) for each in stream if isinstance(each, Settled)]
    return names(each for each in stream if isinstance(each, SplitJob)), settled


def test_outputs_of_a_parent_are_merged_as_a_whole_or_not_at_all():
    files = outputs(("a", "p"), ("b", "p"), ("c", "q"), ("d", "q"), ("e", "r"))
    made, _ = merge_outputs(files, [("g", "p q r", "success")], open=True)
    assert made == ["a b c d e"]
    files = outputs(("a", "p"), ("b", "q"), ("c", "q"), ("d", "q"), ("e", "q"), ("f", "q"), ("g", "q"))
    made, _ = merge_outputs(files, [("g", "p q", "success")], open=False)
    assert made == ["b c d e f g", "a"]  # six are above the maximum: alone, and whole


@pytest.mark.parametrize(
    ("producers", "made", "failed"),
    [
        ([], [], []),
        ([("1", "p", "success")], ["a"], []),
        ([("1", "p", "success"), ("1", "p", "running")], [], []),
        ([("1", "p", "success"), ("2", "p", "running")], ["a"], []),  # one whole group is enough
        ([("1", "p", "success"), ("2", "p", "failure")], [], [("failed", ["a"])]),
    ],
)
@pytest.mark.parametrize("injected", [True, False])
def test_all_that_read_a_parent_must_have_succeeded(producers, made, failed, injected):
    expected = (made if injected else [], failed)
    assert merge_outputs(outputs(("a", "p")), producers, injected=injected) == expected
    assert merge_outputs(outputs(("a", "p")), producers, open=True) == ([], [])


@pytest.mark.parametrize(
    ("ends", "made"),
    [(("success", None), ["a"]), (("success", "running"), []), (("success", "success"), ["a"]), ((None, None), [])],
)
def test_of_several_parents_those_count_that_jobs_have_read(ends, made):
    producers = [(group, parent, end) for group, parent, end in zip("12", "pq", ends, strict=True) if end]
    assert merge_outputs([sized("a", 20, parents=("p", "q"))], producers) == (made, [])


def test_outputs_are_never_merged_across_runs_or_places():
    files = [*outputs(("a", "p")), *outputs(("b", "p"), run=2), *outputs(("c", "p"), locations=AB)]
    made, _ = merge_outputs(files, [("1", "p", "success")])
    assert made == ["a", "b", "c"]


def test_files_of_a_unit_are_in_the_order_of_their_events():
    files = [sized(name, 20, parents=("p",), first_event=n) for n, name in ((9, "a"), (5, "b"), (7, "c"))]
    made, _ = merge_outputs(files, [("1", "p", "success")])
    assert made == ["b c a"]


def test_the_file_found_first_says_where_its_unit_comes():
    late = sized("a", 20, lumi=9, parents=("p",), first_event=50), sized("b", 20, lumi=1, parents=("p",), first_event=0)
    made, _ = merge_outputs([*late, sized("c", 20, lumi=5, parents=("q",))], [("1", "p q", "success")])
    assert made == ["c b a"]


# Siblings


def siblings(is_open, *done, **params):
    told = tuple(Sibling(frozenset(complete), frozenset(failed)) for complete, failed in done)
    stream = list(split("SiblingProcessingBased", params, work(*map(file, "cabd"), open=is_open, siblings=told)))
    settled = [(each.state, [one.lfn for one in each.files]) for each in stream if isinstance(each, Settled)]
    return names(each for each in stream if isinstance(each, SplitJob)), settled


def test_a_file_is_ready_once_every_sibling_has_completed_it():
    assert siblings(True, ("ab", ""), ("bc", "a"), files_per_job=1) == (["b"], [])
    assert siblings(True, files_per_job=2) == (["a b", "c d"], [])
    assert siblings(True, ("abc", ""), files_per_job=2) == (["a b"], [])


def test_what_a_sibling_has_failed_is_completed_without_a_job_in_the_end():
    assert siblings(False, ("abc", "d"), ("ac", "b"), files_per_job=2) == (["a c"], [("completed", ["b", "d"])])
    assert siblings(False, ("abc", ""), files_per_job=2) == (["a b", "c"], [])


# What is alike for all


@pytest.mark.parametrize(
    ("lists", "sites"),
    [
        ({}, ("a1", "a2", "b1")),
        ({"siteWhitelist": ["a2", "b1", "z"]}, ("a2", "b1")),
        ({"siteBlacklist": ["a2"]}, ("a1", "b1")),
        ({"siteWhitelist": ["z"], "trustSitelists": True}, ("z",)),
        ({"siteWhitelist": ["y", "z"], "siteBlacklist": ["z"], "trustSitelists": True}, ("y",)),
    ],
)
def test_sites_of_a_job(lists, sites):
    (job,) = jobs("EventBased", work(file("f", 1, locations=AB)), **lists)
    assert job.sites == sites
    assert job.failure is None


@pytest.mark.parametrize("locations", [A, frozenset()])
def test_a_job_that_may_run_nowhere_fails_at_once(locations):
    (job,) = jobs("FileBased", work(file("f", locations=locations)), siteWhitelist=["b1"])
    assert (job.sites, job.failure.code) == ((), 71101)
    assert names([job]) == ["f"]


def test_that_a_job_may_run_nowhere_is_told_before_that_it_takes_too_long():
    limits = {"events_per_job": 100, "job_time_limit": 1, "performance": COST}
    for splitter in ("EventAwareLumiBased", "EventAwareLumiByWork"):
        (job,) = jobs(splitter, work(file("f", 100, {1: [1]}, frozenset())), **limits)
        assert job.failure.code == 71101


def test_locations_are_groups_unless_the_site_lists_are_trusted():
    files = file("a", 1, locations=AB), file("b", 1, locations=B), file("c", 1), file("d", 1, locations=frozenset())
    made = jobs("EventBased", work(*files))
    assert [(job.group, names([job])[0]) for job in made] == [(0, "d"), (1, "c"), (2, "a"), (3, "b")]
    made = jobs("EventBased", work(*files), trustSitelists=True, siteWhitelist=["a1"])
    assert [(job.group, job.locations) for job in made] == [(0, None)] * 4
    assert names(made) == ["a", "b", "c", "d"]


def test_groups_without_jobs_have_no_number():
    files = file("a", runs={1: [1]}), file("b", runs={1: [1, 2]}, locations=B)
    assert [job.group for job in jobs("LumiBased", work(*files, open=True), lumis_per_job=2)] == [0]


def test_all_jobs_of_one_file_are_of_a_production_and_counted():
    long = work(file("a", 100, {5: range(1, 11)}), production=True)
    made = jobs("LumiBased", long, lumis_per_job=3)
    assert [(job.mask.first_run, job.mask.last_run) for job in made] == [(1, 1)] * 4
    assert [job.mask.run_lumis for job in made] == [{5: [(1, 3)]}, {5: [(4, 6)]}, {5: [(7, 9)]}, {5: [(10, 10)]}]
    assert len(jobs("EventAwareLumiBased", long, events_per_job=30, job_limit=4)) == 4
    with pytest.raises(JobLimitExceeded):
        jobs("EventAwareLumiBased", long, events_per_job=30, job_limit=3)


def test_jobs_of_a_production_have_run_one():
    subscription = work(file(MC, 5, {1: [1]}, first_event=1), production=True)
    (job,) = jobs("EventBased", subscription)
    assert job.mask == (1, 5, 1, 1, 1, 1, None)


@pytest.mark.parametrize("splitter", ["EventBased", "LumiBased", "FileBased", "MinFileBased"])
def test_parents_are_named_where_asked_for(splitter):
    subscription = work(file("a", 1, {1: [1]}, parents=("p", "q")))
    assert jobs(splitter, subscription)[0].parents == {}
    assert jobs(splitter, subscription, include_parents=True)[0].parents == {"a": ("p", "q")}


def test_a_splitter_is_known_by_its_name():
    assert {"EventBased", "LumiBased", "EventAwareLumiBased", "WMBSMergeBySize", "Harvest"} <= set(known())
    with pytest.raises(UnknownSplitter, match="did you mean 'EventBased'") as caught:
        split("EventBase", {}, work())
    assert (caught.value.kind, caught.value.value) == ("unknown-splitter", "EventBase")
    for name in (None, 7, "", "../os", "__init__"):
        with pytest.raises(UnknownSplitter):
            split(name, {}, work())


FILE_SPLITTERS = [
    *("EventBased", "LumiBased", "EventAwareLumiBased", "EventAwareLumiByWork", "FileBased", "MinFileBased"),
    *("SizeBased", "RunBased", "FixedDelay", "Harvest"),
    *("ParentlessMergeBySize", "WMBSMergeBySize", "SiblingProcessingBased"),
]


@pytest.mark.parametrize("splitter", FILE_SPLITTERS)
@pytest.mark.parametrize("is_open", [True, False])
def test_nothing_comes_of_nothing(splitter, is_open):
    assert list(split(splitter, {}, work(open=is_open))) == []
