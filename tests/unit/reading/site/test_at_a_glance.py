"""What one screen shows of a site."""

import json

import pytest

from jim.evidence.avoiding import FACT, Avoided, to_store
from jim.model import Kind, Reason, State, Step, Witness
from jim.reading.site.at_a_glance import ORDERS, glance
from jim.reading.view import View
from jim.statusdb.task_rows import TaskState
from jim.tasks.file import reading as task_file
from tests.unit.pages.grounds import Ground, large

NEWEST = next(iter(ORDERS))
TASK = (
    '[[task]]\nname = "{}"\nrequest = {{ job_type = "executable", executable = "/bin/true" }}\n'
    'source = [ {{ directory = "/tmp", closed_by = "END.*" }} ]\n'
)


@pytest.fixture
def view(home):
    return View(home.site, home.store)


def test_an_empty_site_is_told_too(view):
    seen = glance(view, NEWEST, 10)
    assert (seen.statuses, seen.counts, seen.last_hour, seen.all_hosts, seen.seen) == ({}, {}, {}, 0, None)
    assert [*seen.grid_jobs, *seen.failures, *seen.hosts, *seen.tasks, *seen.troubles] == []


def test_unfinished_grid_jobs_stand_in_the_order_that_is_asked_for(home, view):
    for number, size in ((1, 3), (2, 5), (3, 1), (4, 2)):
        home.add(number, size=size)
    home.move(0, State.FAILED)
    home.store.set_grid_job(4, step=Step.FINISHED, outcome="completed")

    def order(name, most=10):
        return [each.id for each in glance(view, name, most).grid_jobs]

    assert order("newest first") == [3, 2, 1]
    assert order("oldest first") == [1, 2, 3]
    assert order("most failed first") == [1, 3, 2]
    assert order("most left first", most=2) == [2, 1]
    seen = glance(view, NEWEST, 1)
    assert (seen.statuses, seen.counts) == ({"submitted": 3}, {State.WAITING: 8, State.FAILED: 1})


def test_a_grid_job_has_its_pace_and_what_is_left_at_that(tmp_path):
    ground = Ground(tmp_path / "state")
    large(ground, 12, 600)
    view = View(ground.site, ground.store)
    (one,) = glance(view, NEWEST, 10).grid_jobs
    assert 20 < one.last_hour == glance(view, NEWEST, 10).last_hour["completed"] < 200
    left = sum(count for state, count in ground.store.counts(12).items() if not state.final)
    assert one.left == pytest.approx(left * 3600 / one.last_hour, rel=0.1, abs=90)
    assert one.failed == ground.store.counts(12)[State.FAILED]
    ground.store.close()


def test_what_failed_in_the_last_hour_is_grouped_by_reason(home, view):
    home.add(size=3)
    home.send(0, 1, 2, state="confirmed")
    for n, words in enumerate(("cannot read /a/1", "cannot read /a/2", "exit 3")):
        home.store.set_attempt(1, 1, n + 1, host=f"wn{n}", verdict="failed", reason=Reason(Kind.EXIT, {}, words))
    seen = glance(view, NEWEST, 10)
    assert [(each.words, each.times) for each in seen.failures] == [("cannot read *", 2), ("exit 3", 1)]
    assert [(each.host, each.failed) for each in seen.hosts] == [("wn0", 1), ("wn1", 1), ("wn2", 1)]
    home.later("2026-01-31T13:30:00.000Z")
    assert glance(view, NEWEST, 10).failures == []


def test_hosts_without_failures_are_only_counted(home, view):
    home.add(size=2)
    home.send(0, 1, state="confirmed")
    home.move(0, State.RUNNING, Witness.CLAIM)
    home.store.set_attempt(1, 1, 1, host="wn1", started="2026-01-31T11:00:00.000Z")
    home.store.set_fact(FACT, to_store([Avoided("wn9", 1.0)]))
    seen = glance(view, NEWEST, 10)
    assert (seen.hosts, seen.all_hosts, seen.avoided) == ([], 1, ["wn9"])


def test_trouble_that_delays_everything_is_told(home, view):
    home.add()
    home.beat()
    home.site.summary.write_text(json.dumps({"trouble": "sinfo: timed out", "failures": 7}))
    home.store.set_fact("space", json.dumps([[False, "the disk is low"]]))
    (home.site.state / "inbox" / "request-1").write_text("{}")
    seen = glance(view, NEWEST, 10)
    assert seen.troubles == ["the batch system does not answer: sinfo: timed out", "the disk is low"]
    assert seen.handed_in == 1


def test_tasks_that_wait_for_a_person_stand_first_and_their_waves_not_among_grid_jobs(home, view):
    for name, state, reason in (
        ("b", TaskState.PAUSED, "too many failures"),
        ("c", TaskState.RUNNING, ""),
        ("d", TaskState.PAUSED, ""),
        ("e", TaskState.FINISHED, ""),
    ):
        file = home.site.state / f"{name}.toml"
        file.write_text(TASK.format(name))
        (spec,) = task_file.read(file, home.site)
        number = home.store.tasks.add(name, f"nonce-{name}", "mc", spec, "digest", {}, "")
        home.store.tasks.change(number, state=state, reason=reason)
    seen = glance(view, NEWEST, 10)
    assert [(each.name, each.waits_for_a_person) for each in seen.tasks] == [("b", True), ("c", False), ("d", False)]
