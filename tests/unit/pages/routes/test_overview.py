"""The first page shows the site at a glance: counts, grid jobs in trouble, and what waits."""

from __future__ import annotations

import re

from jim.model import State, Witness
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground, ended


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
    first, other = wait["grid_jobs"]
    assert re.search(f"Grid job {first} *; with other numbers also {other}", person.page("/").text)


def test_grid_jobs_that_wait_for_the_same_to_the_last_number_are_named_side_by_side(
    ground: Ground, person: Person
) -> None:
    for number in (1, 2):
        ground.add(number, 4, 60)
    assert re.search("Grid jobs (1 *, 2|2 *, 1)", person.page("/").text)


def test_a_site_with_local_jobs_that_are_held_is_not_well(ground: Ground, person: Person) -> None:
    ground.add(1, 3, 60)
    ground.send(1, 1, range(3), 50)
    assert "All is well" in person.page("/").text
    ground.change(1, [0], State.SUBMITTED, State.HELD, Witness.QUEUE)
    assert "1 local job is held" in person.page("/").text


def test_an_empty_site_has_nothing_in_trouble(person: Person) -> None:
    told = person.json("/index.json")
    assert (told["counts"], told["in_trouble"], told["black_holes"], told["waits"]) == ({}, [], [], [])


def test_nothing_stands_twice(ground: Ground, person: Person) -> None:
    for number in range(1, 13):
        ended(ground, number, 2, 1000.0 - number, bad=number % 3 == 0)
    ground.add(13, 4, 60)
    ground.send(13, 1, range(4), 50)
    ground.change(13, [0], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    page = person.page("/")
    shown = [name for name in page.names if name.startswith("job-")]
    assert len(shown) == len(set(shown))
    assert shown[:5] == ["job-13", "job-12", "job-9", "job-6", "job-3"]
    assert shown[5:] == [f"job-{number}" for number in (11, 10, 8, 7, 5, 4, 2, 1)]
    assert "local job has failed" not in page.text, "what waits says nothing of what has failed: that stands above"
    assert ["local jobs wait in" in each["what"] for each in person.json("/index.json")["waits"]] == [True]


def test_a_band_and_the_signs_below_it_do_not_say_the_same(ground: Ground, person: Person) -> None:
    ground.add(1, 3, 60)
    assert "keeper: at work" in person.page("/").text
    ground.beat(ago=400)
    (ground.site.state / "keeper.lock").write_text("")
    page = person.page("/")
    assert "States may be out of date." in page.text
    assert "keeper:" not in page.text
