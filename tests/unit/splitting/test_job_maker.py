"""The parts of a job that every splitter makes in the same way: its sites, its group, its parents."""

import pytest

from jim.splitting.errors import JobLimitExceeded
from tests.support.splitting_work import AB, COST, MC, A, B, file, jobs, names, work


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
