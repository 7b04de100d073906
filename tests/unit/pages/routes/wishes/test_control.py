"""What wishes for grid jobs say, and leave."""

from __future__ import annotations

import pytest

from jim.doors.inbox import account
from jim.model import State
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground
from tests.unit.pages.routes.leaving import fields, wishes

CANCEL = "/jobs/1/control/cancel"


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


def test_the_heading_says_what_is_about_to_be_changed(boss: Person) -> None:
    assert "<h1>Priority of grid job 1</h1>" in boss.page("/jobs/1/control/priority").html
    assert "<h1>Cancel grid job 1</h1>" in boss.page("/jobs/1/control/cancel").html


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
