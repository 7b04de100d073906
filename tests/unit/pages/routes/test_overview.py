"""The first page shows the site at a glance: counts, grid jobs in trouble, and what waits."""

from __future__ import annotations

from jim.model import State, Witness
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground


def test_the_overview_counts_what_is_unfinished_and_names_what_is_in_trouble(ground: Ground, person: Person) -> None:
    ground.add(1, 3, 60)
    ground.add(2, 2, 60)
    ground.send(2, 1, range(2), 50)
    ground.change(2, [0], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    told = person.json("/index.json")
    assert told["counts"] == {"submitted": 1, "waiting": 3, "failed": 1}
    assert [each["id"] for each in told["in_trouble"]] == [2]
    assert 'href="/jobs/2"' in person.get("/").text


def test_what_waits_is_told_with_its_grid_jobs_and_the_next_step(ground: Ground, person: Person) -> None:
    ground.add(1, 3, 60)
    ground.add(2, 4, 60)
    (wait,) = person.json("/index.json")["waits"]
    assert (sorted(wait["grid_jobs"]), bool(wait["what"]), bool(wait["next"])) == ([1, 2], True, True)


def test_an_empty_site_has_nothing_in_trouble(person: Person) -> None:
    told = person.json("/index.json")
    assert (told["counts"], told["in_trouble"], told["black_holes"], told["waits"]) == ({}, [], [], [])
