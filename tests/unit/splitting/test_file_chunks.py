"""The splitters by files: what is expected was worked out by hand from their definitions."""

import pytest

from jim.splitting.errors import InvalidParameter, SplitError
from jim.splitting.files_and_jobs import Settled, SplitJob
from jim.splitting.registry import split
from jim.splitting.subscription import Sibling
from tests.splitting_work import AB, COST, A, B, file, jobs, lumis, names, work

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
