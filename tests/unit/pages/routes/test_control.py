"""What the pages do for whoever may control: nothing without a form of their own, and never more than was shown."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from jim.doors import inbox
from jim.doors.inbox import account
from jim.model import State, Step, Witness
from jim.pages.tokens import Role
from tests.support.stand_ins import World
from tests.unit.pages.browser import PORT, Page, Person
from tests.unit.pages.grounds import Ground, ended

CANCEL = "/jobs/1/control/cancel"
EVIL = {"Origin": "http://evil.example"}


@pytest.fixture
def grounded(ground: Ground) -> Ground:
    """A grid job: of 12 local jobs, 5 run and 7 wait."""
    ground.add(1, 12, 600)
    (ground.site.state / "answers" / "1").write_bytes(b"accepted")
    ground.send(1, 1, range(5), 500)
    ground.change(1, range(5), State.SUBMITTED, State.RUNNING, Witness.CLAIM)
    return ground


@pytest.fixture
def boss(grounded: Ground) -> Person:
    return Person(grounded, controls=True)


def wishes(ground: Ground) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((ground.site.state / "inbox").glob("wish-*"))]


def fields(page: Page) -> dict[str, str]:
    """Give the hidden fields of the form that does it."""
    at = page.html.index('<form method="post"')
    return {each["name"]: each.get("value", "") for each in Page(page.html[at:]).all("input", type="hidden")}


def test_a_wish_is_left_as_jim_leaves_it_with_who_and_the_keeper_is_called(grounded: Ground, boss: Person) -> None:
    page = boss.page(CANCEL)
    assert "Ends 12 local jobs: 5 run, 7 wait; waiting local jobs are not submitted" in page.text
    assert wishes(grounded) == [], "a page only shows"
    answer = boss.post(f"{CANCEL}/do", fields(page))
    assert (answer.status_code, answer.headers["Location"]) == (303, "/jobs/1")
    assert wishes(grounded) == [{"verb": "cancel", "target": "1", "by": f"{account()}, by the pages"}]
    assert boss.woken == [grounded.site.state]
    assert "cancel" in boss.page("/jobs/1").text


def test_39_a_form_without_its_token_or_from_elsewhere_does_nothing_and_is_logged(
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


def test_40_off_there_are_no_controls(person: Person, grounded: Ground) -> None:
    assert all("control" not in rule.rule for rule in person.app.url_map.iter_rules())
    for verb in ("cancel", "retry", "force", "suspend", "resume", "priority"):
        where = f"/jobs/1/control/{verb}"
        assert [person.get(each).status_code for each in (where, f"{where}.json", f"{where}/do")] == [404] * 3
        assert person.post(f"{where}/do", {}).status_code == 404
    assert "/control/" not in person.get("/jobs/1").text
    assert "these pages only read" in person.page("/jobs/1").text


def test_40_a_token_controls_only_where_controls_are_on(grounded: Ground, person: Person, boss: Person) -> None:
    _, secret = boss.pages.tokens.made("control", 1)
    stranger = Person(grounded, logged_in=False)
    assert stranger.get("/jobs/1", Authorization=f"Bearer {secret}").status_code == 200
    assert stranger.get(CANCEL, Authorization=f"Bearer {secret}").status_code == 404
    assert (
        Person(grounded, logged_in=False, controls=True).get(CANCEL, Authorization=f"Bearer {secret}").status_code
        == 200
    )


@pytest.mark.parametrize("role", [Role.SEE, Role.LOOK])
def test_38_for_other_roles_controls_do_not_exist(grounded: Ground, role: Role) -> None:
    boss = Person(grounded, logged_in=False, controls=True)
    _, secret = boss.pages.tokens.made(role, 1)
    asked = {"Authorization": f"Bearer {secret}"}
    assert boss.get(CANCEL, **asked).status_code == 404
    assert boss.post(f"{CANCEL}/do", {}, **asked).status_code == 404
    assert "/control/" not in boss.get("/jobs/1", **asked).text
    assert wishes(grounded) == []


def test_41_more_that_run_meanwhile_are_asked_about_again(grounded: Ground, boss: Person) -> None:
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


def test_41_fewer_are_not_asked_about_again(grounded: Ground, boss: Person) -> None:
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


@pytest.mark.parametrize(
    ("path", "words", "wish"),
    [
        ("cancel?n=3", "ends 1 local job: 1 runs", {"target": "1.3"}),
        ("cancel?n=3-6,9", "ends 5 local jobs: 2 run, 3 wait", {"target": "1.3-6,9"}),
        ("suspend", "suspends 12 local jobs: 5 run, 7 wait", {"target": "1"}),
        ("resume", "continues 12 local jobs: 5 run, 7 wait", {"target": "1"}),
        (
            "priority?priority=-3",
            "gives 7 waiting local jobs priority -3 instead of 0",
            {"target": "1", "priority": -3},
        ),
        (
            "retry?failed=yes&reason=exit+3&max=2",
            "2 local jobs get another set of attempts",
            {"target": "1", "failed": True, "reason": "exit 3", "most": 2},
        ),
        (
            "force?n=10&to=completed&reason=%3Cb%3E",
            "declares 1 local job completed: 1 failed",
            {"target": "1.10", "to": "completed", "reason": "<b>"},
        ),
    ],
)
def test_each_verb_leaves_the_wish_of_its_verb(grounded: Ground, boss: Person, path: str, words: str, wish) -> None:
    if path.startswith(("retry", "force")):
        for n in (10, 11, 9):
            grounded.store.set_local_job(1, n, state=State.FAILED, reason="exit 3: x")
    if path == "resume":
        grounded.store.set_grid_job(1, wish="suspend")
    page = boss.page(f"/jobs/1/control/{path}")
    assert words.lower() in page.text.lower()
    verb = path.partition("?")[0]
    answer = boss.post(f"/jobs/1/control/{verb}/do", fields(page))
    one = wish["target"].partition(".")[2]
    assert answer.headers["Location"] == f"/jobs/1{f'/{one}' if one.isdecimal() else ''}"
    (left,) = wishes(grounded)
    assert {**wish, "verb": verb, "by": f"{account()}, by the pages"} == left


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("cancel?n=x", 400),
        ("cancel?n=1.2", 400),
        ("cancel?to=failed", 400),
        ("cancel?n=99", 404),
        ("suspend?n=1", 400),
        ("priority?priority=9999999", 400),
        ("priority?priority=1e3", 400),
        ("force?n=1&to=running&reason=x", 400),
        ("retry?max=0", 400),
        ("retry?reason=" + "x" * 501, 400),
        ("force?n=10&to=completed&reason=a%0ab", 400),
        ("retry?reason=%1b%5B2J", 400),
        ("resplit", 404),
        ("edit", 404),
    ],
)
def test_nonsense_is_refused(boss: Person, path: str, status: int) -> None:
    assert boss.get(f"/jobs/1/control/{path}").status_code == status


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


def test_the_heading_says_what_is_about_to_be_changed(boss: Person) -> None:
    assert "<h1>Priority of grid job 1</h1>" in boss.page("/jobs/1/control/priority").html
    assert "<h1>Cancel grid job 1</h1>" in boss.page("/jobs/1/control/cancel").html


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
    assert offered("/jobs/2") == ["retry"]
    assert offered("/jobs/2/1") == ["force?n=1"]


def test_a_page_with_a_form_is_never_kept(boss: Person) -> None:
    for path in (CANCEL, f"{CANCEL}.json"):
        answer = boss.get(path)
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert "ETag" not in answer.headers


def test_42_cancelled_by_page_and_by_jim_at_once_one_effect_both_in_the_journal(tmp_path, monkeypatch) -> None:
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


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ("", "all local jobs that failed or are held (if there are none, those that were killed)."),
        ("?failed=yes&reason=exit+3&max=2", "all local jobs that failed and have “exit 3” in their reason; of these, "),
        ("?n=3", "the named local jobs that failed, were killed or are held."),
    ],
)
def test_a_retry_says_what_its_fields_choose(grounded: Ground, boss: Person, asked: str, chosen: str) -> None:
    assert f"Chosen are {chosen}" in boss.page(f"/jobs/1/control/retry{asked}").text
