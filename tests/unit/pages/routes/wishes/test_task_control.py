"""What the pages do with tasks for whoever may control: the wishes of `jim task`, after the same words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from jim.doors.inbox import account
from jim.model import State
from jim.pages.routes.wishes.task_control import FIELDS
from jim.pages.tokens import Role
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from tests.unit.pages.browser import Page, Person
from tests.unit.pages.routes.conftest import FILES, MC
from tests.unit.tasks.ground import SH, Ground, a_list

CONTROL = "/tasks/mc/control"


@pytest.fixture
def running(world: Ground) -> Ground:
    """A task of which four pieces are on the way."""
    world.create(MC)
    world.ask(TaskVerb.START, "mc", untested=True)
    world.until(lambda: len(world.batch.tasks) == 4)
    return world


@pytest.fixture
def boss(world: Ground) -> Person:
    return Person(world, controls=True)  # type: ignore[arg-type]


def wishes(world: Ground) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((world.site.state / "inbox").glob("wish-*"))]


def fields(page: Page) -> dict[str, str]:
    at = page.html.index('<form method="post"')
    return {each["name"]: each.get("value", "") for each in Page(page.html[at:]).all("input", type="hidden")}


@pytest.mark.parametrize(
    ("query", "words", "content"),
    [
        ("pause", "pauses; 4 pieces on the way: what the batch system has goes on", {}),
        ("pause?how=kill", "pauses; 4 pieces on the way: they are ended, and released again after", {"kill": True}),
        ("pause?how=suspend", "pauses; 4 pieces on the way: they are suspended", {"suspend": True}),
        ("throttle?at_once=0&queued=7", "at_once 2,000 → 0, queued 500 → 7", {"at_once": 0, "queued": 7}),
        ("priority?priority=-3", "priority 0 → -3", {"priority": -3}),
        ("cancel", "is cancelled, with 4 pieces on the way", {}),
        ("test?pieces=1", "test 1 begins beside what runs, and changes nothing of it", {"pieces": 1}),
    ],
)
def test_a_wish_is_left_as_jim_task_leaves_it(
    running: Ground, boss: Person, query: str, words: str, content: dict[str, Any]
) -> None:
    verb = query.partition("?")[0]
    page = boss.page(f"{CONTROL}/{query}")
    assert f"mc: {words}" in page.text
    assert wishes(running) == [], "a page only shows"
    answer = boss.post(f"{CONTROL}/{verb}/do", fields(page))
    assert (answer.status_code, answer.headers["Location"]) == (303, "/tasks/mc")
    assert wishes(running) == [{"verb": verb, "target": "task:mc", "by": f"{account()}, by the pages", **content}]
    assert boss.woken == [running.site.state]
    running.go(2)
    assert wishes(running) == [], "the keeper takes it"
    assert f"{verb} requested" in boss.page("/tasks/mc").text
    told = boss.page("/tasks/mc").text
    assert "by the pages" in told
    assert " True" not in told, "a choice is told by its name alone"


def test_files_wait_until_somebody_closes_their_pool(world: Ground, boss: Person, tmp_path) -> None:
    names = a_list(tmp_path, "run1_a", "run1_b", "run1_c", closed=False)
    world.start(FILES.format(list=names, SH=SH), "files")
    world.until(lambda: world.counts("items", "files").get("available") == 1)
    verbs = [link.rsplit("/", 1)[1] for link in boss.page("/tasks/files").links() if "/control/" in link]
    assert verbs == ["test", "pause", "throttle", "priority", "flush", "close", "cancel"]
    page = boss.page("/tasks/files/control/close")
    assert "files: is closed; 1 item waited, and is planned." in page.text
    assert boss.post("/tasks/files/control/close/do", fields(page)).status_code == 303
    world.until(lambda: len(world.batch.tasks) == 2)
    again = boss.page("/tasks/files/control/close")
    assert re.search(r"files is closed since 20\d\d-\d\d-\d\d \d\d:\d\d UTC", again.text)
    assert "Close would change nothing." in again.text


def test_if_more_would_be_hit_meanwhile_the_page_asks_again(running: Ground, boss: Person) -> None:
    running.begin()
    for each, code in zip(list(running.batch.tasks), (3, 0, 0, 3), strict=True):
        running.batch.finish(*each, code=code)
    running.until(lambda: running.counts("pieces", "mc").get("failed") == 2)
    good = fields(boss.page(f"{CONTROL}/retry"))
    assert json.loads(good["shown"]) == {"tried again": 2}
    answer = boss.post(f"{CONTROL}/retry/do", {**good, "shown": json.dumps({"tried again": 1})})
    assert answer.status_code == 409
    assert "Meanwhile the numbers have grown, so nothing was done." in Page(answer.text).text
    assert wishes(running) == []
    assert boss.post(f"{CONTROL}/retry/do", good).status_code == 303
    running.until(lambda: any(each.state is State.SUBMITTED for each in running.batch.tasks.values()))


def test_a_wish_may_follow_one_that_still_waits(running: Ground, boss: Person) -> None:
    assert "mc is running" in boss.page(f"{CONTROL}/resume").text
    assert boss.post(f"{CONTROL}/pause/do", fields(boss.page(f"{CONTROL}/pause"))).status_code == 303
    assert f"{CONTROL}/resume" in boss.page("/tasks/mc").html
    page = boss.page(f"{CONTROL}/resume")
    assert "fulfilled after the wishes for it that still wait" in page.text
    assert boss.post(f"{CONTROL}/resume/do", fields(page)).status_code == 303
    assert [each["verb"] for each in wishes(running)] == ["pause", "resume"]
    running.go(2)
    assert running.task("mc").state is TaskState.RUNNING


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("pause?how=x", "how cannot be 'x'"),
        ("throttle?at_once=-1", "at_once cannot be '-1'"),
        ("throttle?first=0", "first cannot be '0'"),
        ("priority?priority=1001", "priority cannot be '1001'"),
        ("cancel?group=1", "unknown field 'group'"),
    ],
)
def test_what_makes_no_sense_is_refused(running: Ground, boss: Person, path: str, words: str) -> None:
    answer = boss.get(f"{CONTROL}/{path}")
    assert answer.status_code == 400
    assert words in Page(answer.text).text.lower()


def test_a_form_without_its_token_or_from_elsewhere_does_nothing(running: Ground, boss: Person) -> None:
    good = fields(boss.page(f"{CONTROL}/cancel"))
    for form, headers in (
        ({**good, "form": ""}, {}),
        (good, {"Origin": "http://evil.example"}),
        (good, {"Origin": ""}),
    ):
        assert boss.post(f"{CONTROL}/cancel/do", form, **headers).status_code == 403
    assert boss.get(f"{CONTROL}/cancel/do").status_code == 405
    assert wishes(running) == []
    assert running.task("mc").state is TaskState.RUNNING


def test_off_and_for_other_roles_there_are_no_controls(running: Ground, boss: Person, reader: Person) -> None:
    for verb in ("pause", "cancel", "throttle"):
        for where in (f"{CONTROL}/{verb}", f"{CONTROL}/{verb}.json", f"{CONTROL}/{verb}/do"):
            assert reader.get(where).status_code == 404
    assert "/control/" not in reader.get("/tasks/mc").text
    stranger = Person(running, logged_in=False, controls=True)  # type: ignore[arg-type]
    for role in (Role.SEE, Role.LOOK):
        _, secret = boss.pages.tokens.made(role, 1)
        asked = {"Authorization": f"Bearer {secret}"}
        assert stranger.get(f"{CONTROL}/cancel", **asked).status_code == 404
        assert stranger.post(f"{CONTROL}/cancel/do", {}, **asked).status_code == 404
        assert "/control/" not in stranger.get("/tasks/mc", **asked).text
    assert wishes(running) == []


@pytest.mark.parametrize("verb", ["fix", "recover", "remove", "add", "drop"])
def test_what_only_jim_task_does_is_no_page_and_says_so(running: Ground, boss: Person, verb: str) -> None:
    good = fields(boss.page(f"{CONTROL}/cancel"))
    answer = boss.post(f"{CONTROL}/{verb}/do", {**good, "memory_mb": "4000"})
    assert answer.status_code == 404
    assert "Nothing was done. The page of a grid job, local job or task shows its controls" in Page(answer.text).text
    assert (wishes(running), running.task("mc").state) == ([], TaskState.RUNNING)


def refused(running: Ground, person: Person, status: int, words: str, **headers: str) -> None:
    """Send each wish by hand: none is left, and the answer says why."""
    before = running.task("mc")
    for verb in FIELDS:
        answer = person.post(f"{CONTROL}/{verb}/do", {"form": "x", "shown": "{}"}, **headers)
        assert (answer.status_code, words in Page(answer.text).text.lower()) == (status, True), (verb, answer.text)
    running.go(2)
    assert (wishes(running), running.task("mc")) == ([], before)
    assert not [line for line in running.journal("mc") if "requested" in line and "start" not in line]


def test_whoever_may_only_read_sees_no_control_and_each_wish_by_hand_is_refused(running: Ground, boss: Person) -> None:
    stranger = Person(running, logged_in=False, controls=True)  # type: ignore[arg-type]
    for role in (Role.SEE, Role.LOOK):
        _, secret = boss.pages.tokens.made(role, 1)
        asked = {"Authorization": f"Bearer {secret}", "Origin": ""}
        refused(running, stranger, 404, f"nothing was done. whoever asks has the role {role.value} , which", **asked)
        gone = stranger.get(f"{CONTROL}/pause", **asked)
        nothing = stranger.get("/nothing", **asked)
        assert (gone.status_code, gone.text) == (404, nothing.text), "as for an address of nothing"


def test_a_wish_that_no_longer_fits_is_refused_with_the_state_of_the_task(running: Ground, boss: Person) -> None:
    good = fields(boss.page(f"{CONTROL}/cancel"))
    for verb, more in (("resume", {}), ("start", {"untested": "yes"}), ("retry", {}), ("close", {})):
        answer = boss.post(f"{CONTROL}/{verb}/do", {**good, "shown": "{}", **more})
        words = {"retry": "mc: no piece has failed", "close": "mc makes events"}.get(verb, "mc is running")
        assert (answer.status_code, words in Page(answer.text).text) == (409, True), verb
        assert f"{verb.capitalize()} would change nothing" in Page(answer.text).text
    assert (wishes(running), running.task("mc").state) == ([], TaskState.RUNNING)


def test_with_controls_off_and_for_nobody_each_wish_by_hand_is_refused(running: Ground, reader: Person) -> None:
    refused(running, reader, 404, "controls need the role control , and controls = true in [pages]")
    stranger = Person(running, logged_in=False, controls=True)  # type: ignore[arg-type]
    refused(running, stranger, 401, "these pages need the address that jim pages prints")
    stranger.access.peer = lambda *_: 1001  # another account of the machine
    refused(running, stranger, 403, "these pages answer only the account that has started them")


def test_after_twelve_hours_a_session_sees_why_it_can_only_read(running: Ground, boss: Person) -> None:
    boss.access.is_fresh = lambda _: False  # type: ignore[method-assign]
    refused(running, boss, 403, "this session began more than 12 hours ago, so it can only read")


def test_a_program_may_ask_first_and_then_do(running: Ground, boss: Person) -> None:
    _, secret = boss.pages.tokens.made("control", 1)
    program = Person(running, logged_in=False, controls=True)  # type: ignore[arg-type]
    asked = {"Authorization": f"Bearer {secret}", "Origin": ""}
    told = json.loads(program.get(f"{CONTROL}/pause.json", **asked).text)
    assert (told["target"], told["hit"]) == ("task:mc", {"on the way": 4})
    assert program.post(f"{CONTROL}/pause/do", told["form"], **asked).status_code == 303
    assert [each["verb"] for each in wishes(running)] == ["pause"]
