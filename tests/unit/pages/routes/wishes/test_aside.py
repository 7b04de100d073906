"""What has failed is laid aside by whoever may act: out of the overview, and nowhere else."""

from __future__ import annotations

import pytest

from jim.pages.laid_aside import FILE, LaidAside
from jim.pages.tokens import Role
from jim.statusdb.task_rows import TaskState
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground, add_task, ended
from tests.unit.pages.routes.leaving import fields, wishes

ASIDE, BACK = "/jobs/1/control/aside", "/jobs/1/control/back"


@pytest.fixture
def trials(ground: Ground) -> Ground:
    """Two grid jobs that have failed, one that has completed, one that goes on."""
    ended(ground, 1, 3, 600, bad=3)
    ended(ground, 2, 3, 500, bad=1)
    ended(ground, 3, 3, 400)
    ground.add(4, 3, 60)
    return ground


@pytest.fixture
def master(trials: Ground) -> Person:
    return Person(trials, controls=True)


def trouble(person: Person) -> list[int]:
    return [each["id"] for each in person.json("/index.json")["in_trouble"]]


def test_a_failed_trial_is_put_out_of_the_overview_and_brought_back(trials: Ground, master: Person) -> None:
    assert trouble(master) == [2, 1]
    assert ASIDE in master.page("/").links()
    page = master.page(ASIDE)
    assert "nothing of it is changed or removed" in page.text
    assert trouble(master) == [2, 1], "the page alone does nothing"
    assert master.post(f"{ASIDE}/do", fields(page)).headers["Location"] == "/"
    assert trouble(master) == [2]
    overview = master.page("/")
    assert "1 grid job in trouble" in overview.text
    assert "1 failure that this page leaves out" in overview.text
    assert [name for name in overview.names if name == "job-1"] == []
    assert "job-1" in master.page("/jobs").names, "lists have it as before"
    assert "Laid aside" in master.page("/jobs/1").text
    assert master.post(f"{BACK}/do", fields(master.page(BACK))).status_code == 303
    assert trouble(master) == [2, 1]
    assert (wishes(trials), master.woken) == ([], []), "the keeper has nothing to do with it"


def test_what_is_tried_again_is_back_by_itself(trials: Ground, master: Person) -> None:
    master.post(f"{ASIDE}/do", fields(master.page(ASIDE)))
    trials.store.set_grid_job(1, reason="it has failed again")
    assert trouble(master) == [1, 2]
    assert "is not laid aside" in master.page(BACK).text


def test_only_what_has_ended_badly_is_laid_aside(trials: Ground, master: Person) -> None:
    for number, why in ((3, "3 has completed; only what has failed is laid aside"), (4, "4 has not ended")):
        page = master.page(f"/jobs/{number}/control/aside")
        assert why in page.text
        assert page.all("button", **{"class": "sure"}) == []
        assert f"/jobs/{number}/control/aside" not in master.page("/").links()
    form = fields(master.page(ASIDE))
    assert master.post("/jobs/4/control/aside/do", form).status_code == 409
    assert LaidAside(trials.site.state).all() == {}
    assert master.get("/jobs/77/control/aside").status_code == 404


def test_whoever_may_not_act_lays_nothing_aside_and_sees_what_is(trials: Ground, master: Person) -> None:
    form = fields(master.page(ASIDE))
    reader = Person(trials)
    assert "jim pages aside 1 lays one aside" in reader.page("/").text
    assert (reader.get(ASIDE).status_code, ASIDE in reader.page("/").links()) == (404, False)
    for role in (Role.SEE, Role.LOOK):
        _, secret = master.pages.tokens.made(role, 1)
        seer = Person(trials, logged_in=False, controls=True)
        bearer = {"Authorization": f"Bearer {secret}"}
        assert seer.get(ASIDE, **bearer).status_code == 404
        assert seer.post(f"{ASIDE}/do", form, **bearer).status_code == 404
        assert ASIDE not in seer.get("/", **bearer).text
    assert master.post(f"{ASIDE}/do", {**form, "form": "1.x"}).status_code == 403
    assert master.post(f"{ASIDE}/do", form, Origin="http://evil.example").status_code == 403
    assert LaidAside(trials.site.state).all() == {}


def test_others_see_it_within_a_moment_and_a_damaged_list_lays_nothing_aside(trials: Ground, master: Person) -> None:
    reader = Person(trials)
    reader.within_a_minute()
    reader.anew = False
    assert trouble(reader) == [2, 1]
    LaidAside(trials.site.state).lay(trials.store.grid_job(1), "alice, by the command line", trials.clock.utc())
    reader.pages.marks.forget()
    assert "job-1" not in reader.page("/").names
    (trials.site.state / FILE).write_text("[nonsense")
    assert trouble(master) == [2, 1]


def test_a_task_that_has_ended_with_failures_is_laid_aside(ground: Ground) -> None:
    add_task(ground, "words")
    number = ground.store.tasks.named("mc").id
    ground.store.tasks.change(number, state=TaskState.FINISHED, outcome="with failures")
    boss = Person(ground, controls=True)
    path = "/tasks/mc/control/aside"
    assert path in boss.page("/").links()
    assert boss.post(f"{path}/do", fields(boss.page(path))).headers["Location"] == "/"
    assert boss.json("/index.json")["tasks"]["wanting"] == []
    assert boss.json("/index.json")["laid_aside"] == ["mc"]
    assert "/tasks/mc/control/back" in boss.page("/tasks/mc").links()
