"""A page is made once for all its viewers, and sent again when it has changed."""

from __future__ import annotations

import os

import pytest

from jim.model import State, Step, Witness
from jim.pages.live import Made, Renderings
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground


def test_84_what_has_not_changed_but_for_ages_is_not_sent_again(
    running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jim.pages.live.this_minute", lambda: 100)
    person.get("/jobs/1")  # what a thread finds out for it is found out
    for path in ("/jobs", "/jobs/1", "/jobs/1/0"):
        tag = person.get(path).headers["ETag"]
        running.beat(ago=1)  # and the batch system has answered
        again = person.get(path, If_None_Match=tag)
        assert (again.status_code, again.data) == (304, b""), path
        assert again.headers["JIM-Batch-Seen"] == running.store.fact("seen")
        assert again.headers["JIM-Keeper-Seen"]
    claim = running.leave(1, 1, 1, "../claim.1", b"")
    tag = person.get("/jobs/1/0").headers["ETag"]
    assert "claim touched" in person.page("/jobs/1/0").text
    os.utime(claim, (running.now - 40, running.now - 40))
    assert person.get("/jobs/1/0", If_None_Match=tag).status_code == 304, "ages in sentences are ages, too"
    tag = person.get("/jobs/1").headers["ETag"]
    running.change(1, [1], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    assert person.get("/jobs/1", If_None_Match=tag).status_code == 200
    tag = person.get("/jobs/1").headers["ETag"]
    running.beat(ago=25)
    (running.site.state / "keeper.lock").write_text("")
    assert person.get("/jobs/1", If_None_Match=tag).status_code == 200, "a keeper that stops is a change"


def test_a_page_is_sent_anew_every_minute(running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for minute in (100, 100, 101):
        monkeypatch.setattr("jim.pages.live.this_minute", lambda minute=minute: minute)
        found.append(person.get("/jobs").headers["ETag"])
    assert found[0] == found[1] != found[2]


def test_viewers_of_one_page_share_a_rendering(running: Ground, person: Person) -> None:
    made, person.pages.renderings.clock = [], lambda: 5.0
    asked = person.pages.open
    person.pages.open = lambda: made.append(1) or asked()  # type: ignore[func-returns-value]
    for _ in range(3):
        assert person.get("/jobs?limit=7").status_code == 200
    assert len(made) == 2, "a look whether anything has changed, and the page"
    person.get("/jobs?limit=8")
    assert len(made) == 3


def test_a_rendering_that_took_long_is_shared_for_longer() -> None:
    now, used, made = [100.0], [0.0], []

    def make() -> Made:
        used[0] += 0.05
        made.append(now[0])
        return Made(b"", "text/html")

    renderings = Renderings(lambda: now[0], cost=lambda: used[0])
    for seconds in (0.0, 1.1, 1.3, 0.2, 3.0):  # 0.05 s of a processor are good for 2.5 s
        now[0] += seconds
        renderings.get("x", make)
    assert [round(each - 100, 1) for each in made] == [0.0, 2.6, 5.6]


PATHS = ("/jobs", "/jobs/1", "/jobs/1/0", "/jobs/2", "/jobs/2/0")


@pytest.fixture
def tags(running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The ETags of pages, once slow answers for them are found out."""
    monkeypatch.setattr("jim.pages.live.this_minute", lambda: 100)
    running.beat()
    running.add(2, 4, 600)
    for path in PATHS:
        person.get(path)
    return {path: person.get(path).headers["ETag"] for path in PATHS}


def test_84_a_poll_of_what_has_not_changed_renders_nothing(
    tags: dict[str, str], person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(person.pages), "html", None)
    assert {person.get(path, If_None_Match=tags[path]).status_code for path in PATHS} == {304}


def test_a_log_that_grows_changes_the_page_of_its_local_job(
    tags: dict[str, str], running: Ground, person: Person
) -> None:
    assert person.get("/jobs/1/0", If_None_Match=tags["/jobs/1/0"]).status_code == 304
    running.leave(1, 1, 1, "stdout", b"12 more bytes")
    answer = person.get("/jobs/1/0", If_None_Match=tags["/jobs/1/0"])
    assert (answer.status_code, "13 bytes" in answer.text) == (200, True)


def test_the_end_of_the_last_work_changes_the_signs_on_each_page(
    tags: dict[str, str], running: Ground, person: Person
) -> None:
    running.store.set_grid_job(2, step=Step.FINISHED, outcome="failed")
    tag = person.get("/jobs/2").headers["ETag"]
    running.store.set_grid_job(1, step=Step.FINISHED, outcome="failed")
    answer = person.get("/jobs/2", If_None_Match=tag)
    assert (answer.status_code, '<li class="idle">local' in answer.text) == (200, True)


def test_a_publication_changes_the_pages_of_its_own_grid_job_alone(
    tags: dict[str, str], running: Ground, person: Person
) -> None:
    running.store.publish(1, 0, "phase-sim", '<phase name="sim" done="1" total="2" unit="events"/>')
    answers = {path: person.get(path, If_None_Match=tag).status_code for path, tag in tags.items()}
    assert answers == {"/jobs": 200, "/jobs/1": 200, "/jobs/1/0": 200, "/jobs/2": 304, "/jobs/2/0": 304}
