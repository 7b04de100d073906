"""Counts and ages for Prometheus, and the one line for monitoring."""

from __future__ import annotations

import json

from prometheus_client.parser import text_string_to_metric_families

from jim.model import State, Witness
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground, large, text


def scraped(person: Person) -> dict[tuple[str, ...], float]:
    """Return each sample by its name and the values of its labels."""
    answer = person.get("/metrics")
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain; version=")
    families = text_string_to_metric_families(answer.text)
    return {(each.name, *sorted(each.labels.values())): each.value for family in families for each in family.samples}


def test_states_steps_and_ages_are_those_of_the_store(ground: Ground, person: Person) -> None:
    large(ground, 1, 200)
    ground.add(2, 3, 60)
    ground.beat(ago=3)
    ground.store.set_fact("seen", text(ground.now - 90))
    found = scraped(person)
    counts = {state: ground.store.counts(1).get(state, 0) for state in State}
    counts[State.WAITING] += 3
    for state in (State.WAITING, State.RUNNING, State.COMPLETED, State.FAILED, State.HELD):
        assert found["jim_local_jobs", state.value] == counts[state], state
    assert (found["jim_grid_jobs", "active"], found["jim_grid_jobs", "split"]) == (1, 1)
    assert (found["jim_keeper_at_work",], found["jim_unfinished",]) == (1, 1)
    assert 2 <= found["jim_keeper_heartbeat_age_seconds",] < 30
    assert 90 <= found["jim_batch_answer_age_seconds",] < 120


def test_failures_of_batch_commands_are_those_that_the_keeper_published(ground: Ground, person: Person) -> None:
    name = "jim_batch_failures_in_a_row"
    found = scraped(person)
    assert (found[name, "batch system"], found[name, "history"]) == (0, 0)
    ground.site.summary.write_text(
        json.dumps({"trouble": "alice: timed out", "failures": 7, "history": {"failures": 2}})
    )
    found = scraped(person)
    assert (found[name, "batch system"], found[name, "history"]) == (7, 2)


def test_a_keeper_at_rest_has_no_heartbeat(ground: Ground, person: Person) -> None:
    (ground.site.state / "heartbeat").write_text("boot idle\n")
    found = scraped(person)
    assert (found["jim_keeper_at_work",], found["jim_unfinished",]) == (0, 0)
    assert ("jim_keeper_heartbeat_age_seconds",) not in found


def test_metrics_name_nobody(ground: Ground, person: Person) -> None:
    ground.add(1, 1, 60, "secret_type", owner="alice", key="grid-key-17")
    person.get("/jobs?owner=alice")
    told = person.get("/metrics").text
    assert not [word for word in ("alice", "secret", "grid-key", str(ground.site.state)) if word in told]


def test_changes_are_counted_from_the_start_of_the_pages_on(ground: Ground, person: Person) -> None:
    ground.add(1, 5, 60)
    ground.send(1, 1, range(5), 50)
    assert scraped(person)["jim_local_job_changes_total", "running"] == 0
    ground.change(1, [0, 1, 2], State.SUBMITTED, State.RUNNING, Witness.CLAIM)
    ground.change(1, [0], State.RUNNING, State.COMPLETED, Witness.EXIT_RECORD)
    ground.change(1, [1], State.RUNNING, State.FAILED, Witness.EXIT_RECORD)
    for _ in range(2):
        found = scraped(person)
        counted = [found["jim_local_job_changes_total", state] for state in ("running", "completed", "failed")]
        assert counted == [3, 1, 1]


def test_requests_are_counted_by_page_and_time(ground: Ground, person: Person) -> None:
    for path in ("/jobs", "/jobs", "/jobs/1", "/nothing"):
        person.get(path)
    found = scraped(person)
    assert found["jim_pages_request_seconds_count", "2xx", "grid_jobs"] == 2
    assert found["jim_pages_request_seconds_count", "4xx", "grid_job"] == 1
    assert found["jim_pages_request_seconds_bucket", "+Inf", "2xx", "grid_jobs"] == 2
    assert found["jim_pages_request_seconds_count", "4xx", "none"] == 1
    assert found["jim_pages_request_seconds_sum", "2xx", "grid_jobs"] > 0
