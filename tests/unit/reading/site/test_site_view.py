"""The site at a glance: whether states are up to date, what is in trouble, and what waits."""

import pytest

from jim.model import State, Step
from jim.reading.site.site_view import Health, health, in_trouble, unfinished_counts, what_waits
from jim.reading.view import View


@pytest.fixture
def view(home):
    return View(home.site, home.store)


@pytest.mark.parametrize(
    ("beats", "unfinished", "late", "stale"),
    [(True, True, False, False), (False, True, False, True), (True, True, True, True), (False, False, True, False)],
)
def test_states_may_have_changed_only_while_there_is_work_that_nobody_asks_about(view, beats, unfinished, late, stale):
    seen = health(view)
    told = Health(seen.heart._replace(beats=beats), "", seen.trouble, "slurm", unfinished, late)
    assert told.stale is stale


def test_local_jobs_of_all_unfinished_grid_jobs_are_counted_together(home, view):
    for number in (1, 2):
        home.add(number, size=3)
    home.move(0, State.COMPLETED)
    assert unfinished_counts(view) == {State.WAITING: 5, State.COMPLETED: 1}


def test_a_grid_job_with_a_failed_local_job_is_in_trouble(home, view):
    for number in (1, 2):
        home.add(number, size=2)
    assert in_trouble(view, "2000-01-01") == []
    home.move(1, State.FAILED)
    assert [job.id for job in in_trouble(view, "2000-01-01")] == [1]


def test_grid_jobs_that_wait_for_the_same_are_told_together(home, view):
    home.add(1, size=2)
    home.add(2, size=3)  # another number in the same sentence
    home.beat()
    assert [sorted(each.grid_jobs) for each in what_waits(view)] == [[1, 2]]


def test_counting_reads_no_grid_job_one_by_one_and_leaves_out_finished_ones(home, view, monkeypatch):
    """There may be more than a list has: the counts were short of those that it left out."""
    for number in (1, 2, 3):
        home.add(number, size=number)
    home.store.set_grid_job(3, step=Step.FINISHED, outcome="completed")
    monkeypatch.delattr("jim.statusdb.seen.list_pages.Browsed.grid_jobs_page")
    assert unfinished_counts(view) == {State.WAITING: 3}
