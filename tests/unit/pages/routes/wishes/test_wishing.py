"""What the pages do for whoever may control: nothing without a form of their own, and never more than was shown."""

from __future__ import annotations

import json
import logging

import pytest

from jim.doors import inbox
from jim.doors.inbox import account
from jim.model import State, Step, Witness
from jim.pages.tokens import Role
from tests.support.stand_ins import World
from tests.unit.pages.browser import PORT, Page, Person
from tests.unit.pages.grounds import Ground, ended
from tests.unit.pages.routes.leaving import fields, wishes

CANCEL = "/jobs/1/control/cancel"
EVIL = {"Origin": "http://evil.example"}


def test_a_wish_is_left_as_jim_leaves_it_with_who_and_the_keeper_is_called(grounded: Ground, boss: Person) -> None:
    page = boss.page(CANCEL)
    assert "Ends 12 local jobs: 5 run, 7 wait; waiting local jobs are not submitted" in page.text
    assert wishes(grounded) == [], "a page only shows"
    answer = boss.post(f"{CANCEL}/do", fields(page))
    assert (answer.status_code, answer.headers["Location"]) == (303, "/jobs/1")
    assert wishes(grounded) == [{"verb": "cancel", "target": "1", "by": f"{account()}, by the pages"}]
    assert boss.woken == [grounded.site.state]
    assert "cancel" in boss.page("/jobs/1").text


def test_a_form_without_its_token_or_from_elsewhere_does_nothing_and_is_logged(
    grounded: Ground, boss: Person, caplog: pytest.LogCaptureFixture
) -> None:
    good = fields(boss.page(CANCEL))
    forms = boss.pages.forms
    forms._clock = lambda: 1_000_000.0
    stale = forms.made(boss.access.session(boss.client.get_cookie(boss.access.cookie, domain="127.0.0.1").value))
    forms._clock = lambda: 1_003_700.0
    other = forms.made("another session")
    for form, headers, words in (
        ({**good, "form": ""}, {}, "does not come from a page of this session"),
        ({**good, "form": other}, {}, "does not come from a page of this session"),
        ({**good, "form": stale}, {}, "opened more than an hour ago"),
        (good, EVIL, "sent from http://evil.example"),
        (good, {"Origin": "null"}, "sent from null"),
        (good, {"Origin": ""}, "sent from an unknown place"),
        (good, {"Origin": f"https://127.0.0.1:{PORT}"}, "sent from https"),
    ):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            answer = boss.post(f"{CANCEL}/do", form, **headers)
        assert answer.status_code == 403
        assert words in answer.text
        assert f"POST {CANCEL}/do 403" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        answer = boss.get(f"{CANCEL}/do?{'&'.join(f'{name}={value}' for name, value in good.items())}")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert f"GET {CANCEL}/do 405" in caplog.text
    assert wishes(grounded) == []


def test_off_there_are_no_controls(person: Person, grounded: Ground) -> None:
    assert all("control" not in rule.rule for rule in person.app.url_map.iter_rules())
    for verb in ("cancel", "retry", "force", "suspend", "resume", "priority"):
        where = f"/jobs/1/control/{verb}"
        assert [person.get(each).status_code for each in (where, f"{where}.json", f"{where}/do")] == [404] * 3
        assert person.post(f"{where}/do", {}).status_code == 404
    assert "/control/" not in person.get("/jobs/1").text
    assert "these pages only read" in person.page("/jobs/1").text


def test_a_token_controls_only_where_controls_are_on(grounded: Ground, person: Person, boss: Person) -> None:
    _, secret = boss.pages.tokens.made("control", 1)
    stranger = Person(grounded, logged_in=False)
    assert stranger.get("/jobs/1", Authorization=f"Bearer {secret}").status_code == 200
    assert stranger.get(CANCEL, Authorization=f"Bearer {secret}").status_code == 404
    assert (
        Person(grounded, logged_in=False, controls=True).get(CANCEL, Authorization=f"Bearer {secret}").status_code
        == 200
    )


@pytest.mark.parametrize("role", [Role.SEE, Role.LOOK])
def test_for_other_roles_controls_do_not_exist(grounded: Ground, role: Role) -> None:
    boss = Person(grounded, logged_in=False, controls=True)
    _, secret = boss.pages.tokens.made(role, 1)
    asked = {"Authorization": f"Bearer {secret}"}
    assert boss.get(CANCEL, **asked).status_code == 404
    assert boss.post(f"{CANCEL}/do", {}, **asked).status_code == 404
    assert "/control/" not in boss.get("/jobs/1", **asked).text
    assert wishes(grounded) == []


def test_more_that_run_meanwhile_are_asked_about_again(grounded: Ground, boss: Person) -> None:
    shown = fields(boss.page(CANCEL))
    grounded.send(1, 2, [5, 6], 60)
    grounded.change(1, [5, 6], State.SUBMITTED, State.RUNNING, Witness.CLAIM)
    answer = boss.post(f"{CANCEL}/do", shown)
    assert answer.status_code == 409
    page = Page(answer.text)
    assert "the numbers have grown, so nothing was done" in page.text
    assert "Ends 12 local jobs: 7 run, 5 wait" in page.text
    assert wishes(grounded) == []
    assert boss.post(f"{CANCEL}/do", fields(page)).status_code == 303
    assert len(wishes(grounded)) == 1


def test_fewer_are_not_asked_about_again(grounded: Ground, boss: Person) -> None:
    shown = fields(boss.page(CANCEL))
    grounded.change(1, [0, 1], State.RUNNING, State.COMPLETED, Witness.EXIT_RECORD)
    assert boss.post(f"{CANCEL}/do", shown).status_code == 303


def test_a_wish_that_concerns_nothing_just_now_says_so(grounded: Ground, boss: Person) -> None:
    text = boss.page("/jobs/1/control/resume").text
    assert "None of its local jobs is suspended or held, so it goes on as before. Resume" in text
    assert "JIM releases held jobs" not in text


def test_a_wish_that_comes_too_late_is_not_left(grounded: Ground, boss: Person) -> None:
    shown = fields(boss.page(CANCEL))
    grounded.store.set_grid_job(1, step=Step.FINISHED, outcome="completed")
    answer = boss.post(f"{CANCEL}/do", shown)
    assert answer.status_code == 409
    assert "The grid job has already finished as completed. Cancel would change nothing." in Page(answer.text).text
    assert wishes(grounded) == []
    assert "<form method" not in boss.get(CANCEL).text


def test_a_form_without_numbers_or_fields_is_refused(grounded: Ground, boss: Person) -> None:
    shown = fields(boss.page(CANCEL))
    for wrong in ("", "x", "[]", '{"run": "x"}', '{"run": Infinity}', '{"run": NaN}', "[" * 20_000):
        assert boss.post(f"{CANCEL}/do", {**shown, "shown": wrong}).status_code == 400
    assert boss.post("/jobs/1/control/force/do", shown).status_code == 400
    assert wishes(grounded) == []


def test_fields_that_a_verb_needs_are_asked_for_first(boss: Person) -> None:
    for path in ("force?n=3", "priority"):
        page = boss.page(f"/jobs/1/control/{path}")
        assert '<form method="post"' not in page.html
        assert "Show what it does" in page.text


def test_an_old_session_can_only_read_until_the_address_is_opened_again(grounded: Ground, boss: Person) -> None:
    now = boss.access.clock()
    boss.access.clock = lambda: now + 12 * 3600 + 1
    answer = boss.get(CANCEL)
    assert answer.status_code == 403
    assert "began more than 12 hours ago" in answer.text
    assert boss.get("/jobs/1").status_code == 200
    boss.access.token, boss.access._used = "beef", False
    assert boss.get(f"{CANCEL}?token=beef").headers["Location"] == CANCEL
    assert boss.get(CANCEL).status_code == 200


def test_a_program_controls_by_a_token_made_for_that(grounded: Ground) -> None:
    boss = Person(grounded, logged_in=False, controls=True)
    token, secret = boss.pages.tokens.made("control", 1)
    asked = {"Authorization": f"Bearer {secret}"}
    told = json.loads(boss.get(f"{CANCEL}.json?n=0-3", **asked).text)
    form = told.pop("form")
    words = "ends 4 local jobs: 4 run"
    assert told == {"target": "1.0-3", "late": "", "words": words, "hit": {"run": 4}}
    assert boss.post(f"{CANCEL}/do", form, **asked, **EVIL).status_code == 403
    assert boss.post(f"{CANCEL}/do", form, **asked, Origin="").status_code == 303
    assert wishes(grounded)[0]["by"] == f"token {token.name}, by the pages"


def test_the_pages_offer_what_is_possible(grounded: Ground, boss: Person) -> None:
    def offered(path: str) -> list[str]:
        return [each.partition("/control/")[2] for each in boss.page(path).links() if "/control/" in each]

    assert offered("/jobs/1") == ["cancel", "suspend", "priority"]
    assert offered("/jobs/1/3") == ["cancel?n=3"]
    grounded.store.set_local_job(1, 3, state=State.FAILED)
    assert offered("/jobs/1") == ["cancel", "suspend", "priority", "retry"]
    assert offered("/jobs/1/3") == ["retry?n=3", "force?n=3"]
    grounded.store.set_grid_job(1, wish="suspend")
    assert offered("/jobs/1") == ["cancel", "resume", "priority", "retry"]
    ended(grounded, 2, 2, 60, bad=1)
    assert offered("/jobs/2") == ["retry", "aside"]
    assert offered("/jobs/2/1") == ["force?n=1"]


def test_a_page_with_a_form_is_never_kept(boss: Person) -> None:
    for path in (CANCEL, f"{CANCEL}.json"):
        answer = boss.get(path)
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert "ETag" not in answer.headers


def test_cancelled_by_page_and_by_jim_at_once_one_effect_both_in_the_journal(tmp_path, monkeypatch) -> None:
    world = World(tmp_path, monkeypatch)
    grid = world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    boss = Person(world, controls=True)
    shown = fields(boss.page(f"/jobs/{grid}/control/cancel"))
    assert boss.post(f"/jobs/{grid}/control/cancel/do", shown).status_code == 303
    inbox.wish(world.site.state, "cancel", str(grid), by="alice")
    world.until(lambda: world.finished(grid))
    journal = world.store.journals.of_itself(grid)
    assert [each.reason for each in journal if each.now == "cancel requested"] == [
        f"{account()}, by the pages",
        "alice",
    ]
    assert world.store.counts(grid) == {State.KILLED: 2}
    assert world.batch.calls.count("cancel") == 1
