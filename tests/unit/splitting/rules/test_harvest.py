"""Harvest: expected values were worked out by hand from its definition."""

import pytest

from jim.splitting.subscription import Sibling
from tests.support.splitting_work import COST, B, file, jobs, lumis, names, work

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
