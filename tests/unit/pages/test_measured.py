"""Requests and changes are counted from the start of the pages on."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from jim.model import State, Witness
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground


def scraped(person: Person) -> dict[tuple[str, ...], float]:
    """Return each sample by its name and the values of its labels."""
    answer = person.get("/metrics")
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain; version=")
    families = text_string_to_metric_families(answer.text)
    return {(each.name, *sorted(each.labels.values())): each.value for family in families for each in family.samples}


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
