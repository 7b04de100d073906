"""The pages of tasks in a browser: layout, keyboard, live parts and accessibility, with all kinds of tasks."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from jim.pages.tokens import Role, Tokens
from jim.reading.tasks.graph import MARGIN, WIDE, Box, Graph, as_svg
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from tests.browser.conftest import Served, log_in
from tests.browser.looks import LOOKS, reach, violations
from tests.support.sampled import sampled
from tests.unit.tasks.ground import EVENTS, SH, Ground, a_list

TASKS = """\
[[task]]
name = "mc"
summary = "a task that goes on, and of which some pieces have failed"
request = {{ job_type = "executable", executable = "/bin/true", outputs = ["gen.dat"] }}
source = [ {{ events = 400, events_per_piece = 10, campaigns = 4 }} ]
release = {{ first = 5, at_once = 12, every_seconds = 1 }}
output = [ {{ name = "gen", files = "gen.dat" }} ]
[[task]]
name = "reco"
summary = "fed by mc"
{SH}
source = [ {{ task = "mc", output = "gen", promises = true }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = 5 }} }}
[[task]]
name = "bad"
summary = "a task that has paused by itself"
{EVENTS}
source = [ {{ events = 100, events_per_piece = 1 }} ]
release = {{ first = 5, probe_seconds = 1, every_seconds = 0 }}
[[task]]
name = "done"
{EVENTS}
source = [ {{ events = 40, events_per_piece = 10 }} ]
[[task]]
name = "files"
summary = "a task whose files wait for others"
{SH}
source = [ {{ list = "{names}", group = 'run(\\d+)' }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = 10 }} }}
"""
BROUGHT = f"file 4 {sha256(b'data').hexdigest()} gen.dat\n"
PAGES = {
    "list": "/tasks",
    "filtered list": "/tasks?state=paused&failed=yes",
    "empty list": "/tasks?q=nothing-like-that",
    "folded": "/jobs",
    "running": "/tasks/mc",
    "fed": "/tasks/reco",
    "paused by itself": "/tasks/bad",
    "finished": "/tasks/done",
    "waiting": "/tasks/files",
    "groups": "/tasks/mc/groups",
    "failed pieces": "/tasks/mc/pieces?state=failed",
    "failed piece": "/tasks/mc/2",
    "waiting piece": "/tasks/reco/7",
    "outputs": "/tasks/mc/outputs",
    "items": "/tasks/files/items",
    "item": "/tasks/bad/items/1",
}


@pytest.fixture(scope="module")
def tasked(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[tuple[Ground, Served]]:
    """Tasks that run, have paused, have finished, wait, and feed one another; a keeper driven by hand."""
    place = tmp_path_factory.mktemp("tasks")
    with pytest.MonkeyPatch.context() as patch:
        world = Ground(place, patch)
        names = a_list(place, *(f"run{n % 3}_{n:03d}{'x' * 190 * (n == 39)}.raw" for n in range(40)), closed=False)
        world.create(TASKS.format(EVENTS=EVENTS, SH=SH, names=names))
        world.ask(TaskVerb.START, "bad", untested=True)
        world.until_state(TaskState.PAUSED, "bad", code=3, seconds=60)
        for name in ("done", "files"):
            world.ask(TaskVerb.START, name, untested=True)
        world.until_state(TaskState.FINISHED, "done")
        for name in ("mc", "reco"):
            world.ask(TaskVerb.START, name, untested=True)
        world.until(lambda: len(world.begin()) > 4)
        for at, each in enumerate(list(world.batch.tasks)):
            bad = at % 3 == 0
            world.batch.finish(*each, code=3 if bad else 0, extra="" if bad else BROUGHT, files=[("gen.dat", b"data")])
        world.until(lambda: world.counts("pieces", "mc").get("failed"))
        made = Served(place / "state")
        made.ground.beat(ago=0)
        log_in(made, chromium)
        yield world, made
        made.stop()
        made.ground.store.close()


# Each page in one look beside the usual one; in all of them by `make browser ALL=1`.
EACH = {(name, how) for n, name in enumerate(PAGES) for how in ("light", ("dark", "phone")[n % 2])}


@pytest.mark.parametrize(
    ("name", "how"), sampled(sorted(product(PAGES, LOOKS), key=lambda each: each not in EACH), len(EACH))
)
def test_a_page_of_tasks_is_accessible_silent_and_fits(tasked, look, name, how) -> None:
    seen = look(tasked[1], **LOOKS[how])
    page = seen.go(PAGES[name])
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[how].get("width", 1280)
    assert seen.odd == []
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("how", sampled(LOOKS))
def test_controls_of_tasks_are_accessible(tasked, look, how) -> None:
    _, made = tasked
    made.again("[pages]\ncontrols = true\n")
    for path in ("/tasks/mc", "/tasks/mc/control/pause", "/tasks/mc/control/throttle", "/tasks/files/control/close"):
        seen = look(made, **LOOKS[how])
        page = seen.go(path)
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[how].get("width", 1280)


@pytest.mark.parametrize("how", LOOKS)
def test_the_state_of_an_item_is_seen_beside_a_long_name(tasked, look, how) -> None:
    page = look(tasked[1], **LOOKS[how]).go("/tasks/files/items?name=*xxx*")
    fit(page, "th", "[data-label=State]", "[data-label=Came]")
    page.locator(".lines tbody th a").click()
    page.wait_for_url("**/items/*")
    fit(page, "th", "[data-label=State]", "[data-label=Course]")


def fit(page, *cells: str) -> None:
    """See that the first cells of a table can be seen without scrolling to the side."""
    for cell in cells:
        box = page.locator(f".lines tbody {cell}").first.bounding_box()
        assert box["x"] + box["width"] <= page.viewport_size["width"], cell


def test_by_keyboard_from_the_list_to_a_piece_that_failed(tasked, look) -> None:
    page = look(tasked[1]).go("/tasks")
    reach(page, "mc")
    page.keyboard.press("Enter")
    page.wait_for_url(tasked[1].at("/tasks/mc"))
    reach(page, "exit 3")
    page.keyboard.press("Enter")
    page.wait_for_url("**/pieces?state=failed&reason=*")
    failed = tasked[0].store.pieces.failed(tasked[0].task("mc").id)[0].p
    reach(page, f"mc/{failed}")
    page.keyboard.press("Enter")
    page.wait_for_url(tasked[1].at(f"/tasks/mc/{failed}"))
    expect(page.locator("h1")).to_have_text(f"Piece mc/{failed}")


def test_without_javascript_a_task_shows_everything(tasked, look) -> None:
    page = look(tasked[1], java_script_enabled=False).go("/tasks/mc")
    for words in ("Groups", "Failures", "Timeline", "Sources", "Waves", "Journal", "Graph"):
        expect(page.locator("h2", has_text=words)).to_be_visible()


def test_a_box_of_the_graph_opens_its_task(tasked, look) -> None:
    page = look(tasked[1]).go("/tasks")
    page.locator(".across a", has_text="reco").click()
    expect(page.locator("h1")).to_have_text("Task reco")


def test_names_stay_in_the_boxes_of_a_drawing(chromium: Browser) -> None:
    names = (
        "m" * 48,
        "i" * 48,
        "0" * 48,
        "reconstruction-194341-p17",
        "a-very-long-name-of-a-task-of-forty-eight-charac",
    )
    page = chromium.new_page()
    page.set_content(as_svg(Graph([Box(name, "running", 12, 4_000, 3) for name in names], [])))
    lengths = page.evaluate("[...document.querySelectorAll('text')].map(each => each.getComputedTextLength())")
    assert max(lengths) <= WIDE - MARGIN
    page.close()


def test_what_changes_is_shown_without_a_reload(tasked, look) -> None:
    world, made = tasked
    page = look(made).go("/tasks/files")
    expect(page.locator(".status")).to_have_text("running")
    page.locator("summary", has_text="The last lines").focus()
    world.ask(TaskVerb.PAUSE, "files")
    world.until(lambda: world.task("files").state is TaskState.PAUSED)
    expect(page.locator(".status")).to_have_text("paused")
    expect(page.locator("summary", has_text="The last lines")).to_be_focused()


def test_print_leaves_out_what_only_a_screen_can_use(tasked, look) -> None:
    page = look(tasked[1]).go("/tasks/mc")
    page.emulate_media(media="print")
    assert page.locator("nav[aria-label=Pages]").is_hidden()
    shown = "getComputedStyle(document.querySelector('.graph a'), '::after').content"
    assert page.evaluate(shown) == "none"
    assert page.evaluate("getComputedStyle(document.querySelector('.wide')).overflowX") == "visible"
    assert page.pdf()[:4] == b"%PDF"


ONE = f"""\
[[task]]
name = "mc"
{EVENTS}
source = [ {{ events = 100, events_per_piece = 10 }} ]
release = {{ first = 4, at_once = 4 }}
"""


@pytest.fixture
def controlled(tmp_path: Path, chromium: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Ground, Served]]:
    """A task that is not started, with controls on; the keeper is driven by hand, and holds the lock of a keeper."""
    world = Ground(tmp_path, monkeypatch)
    world.create(ONE)
    made = Served(tmp_path / "state")
    made.ground.beat(ago=0)
    log_in(made, chromium)
    made.again("[pages]\ncontrols = true\n")
    with (made.state / "keeper.lock").open("a") as lock, closing(made.ground.store):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield world, made
        made.stop()


def verbs(page) -> list[str]:
    return page.locator("[data-part=head] .controls a").all_inner_texts()


def choose(page, name: str, value: str) -> None:
    """Fill in a field of a control."""
    field = page.locator(f"[name={name}]:not([type=hidden])")
    if field.get_attribute("type") == "checkbox":
        field.check()
    elif name == "how":
        field.select_option(value)
    else:
        field.fill(value)


def press(world: Ground, page, verb: str, words: str, becomes: str, **choices: str) -> None:
    """Go the way of a control: its page, its choices, what it says, and the button; the keeper takes the wish."""
    page.locator("[data-part=head] .controls a", has_text=f"{verb}…").click()
    for name, value in choices.items():
        choose(page, name, value)
    if choices:
        page.locator("button", has_text="Show what it does").click()
    expect(page.locator(".said")).to_contain_text(words)
    page.locator("button.sure").click()
    expect(page.locator("h1")).to_have_text("Task mc")
    world.go(3)
    page.reload()
    expect(page.locator("[data-part=head]")).to_contain_text(becomes)


def test_whoever_may_control_leads_a_task_from_its_start_to_its_end(controlled, look) -> None:
    world, made = controlled
    page = look(made).go("/tasks/mc")
    assert verbs(page) == ["Test…", "Start…", "Throttle…", "Priority…", "Cancel…"]
    page.locator("a.button", has_text="Start…").click()
    expect(page.locator(".said")).to_contain_text("Start would change nothing")
    assert page.locator("button.sure").count() == 0
    page.go_back()
    press(world, page, "Start", "mc: starts; at most 4 pieces", "running", untested="yes")
    assert verbs(page) == ["Test…", "Pause…", "Throttle…", "Priority…", "Cancel…"]
    press(world, page, "Test", "beside what runs, and changes nothing of it", "running", pieces="1")
    press(world, page, "Pause", "they are ended, and released again", "paused", how="kill")
    assert verbs(page) == ["Pause…", "Resume…", "Throttle…", "Priority…", "Cancel…"]
    press(world, page, "Throttle", "at_once 4 → 2", "of 2", at_once="2")
    press(world, page, "Resume", "goes on", "running")
    press(world, page, "Priority", "priority 0 → 7", "7", priority="7")
    press(world, page, "Cancel", "is cancelled, with", "cancel")
    world.until(lambda: world.task("mc").state is TaskState.CANCELLED)
    expect(page.locator(".status")).to_have_text("cancelled")
    expect(page.locator("[data-part=head] .controls")).to_have_count(0)


def test_whoever_may_only_read_is_shown_no_control_and_told_why_a_wish_is_refused(controlled, look) -> None:
    world, made = controlled
    seen = look(made)
    page = seen.go("/tasks/mc/control/cancel")
    form = {each: page.locator(f"[name={each}]").input_value() for each in ("shown", "form")}
    address, before = made.at("/tasks/mc/control/cancel/do"), world.task("mc")
    for role in (Role.SEE, Role.LOOK):
        _, secret = Tokens(made.state).made(role, 1)
        reader = look(made)
        reader.context.clear_cookies()
        page = reader.go(f"/tasks/mc?token={secret}")
        assert verbs(page) == []
        expect(page.locator("footer")).to_contain_text("these pages only read")
        reader.go("/tasks/mc/control/cancel", status=404)
        expect(page.locator("main")).to_contain_text(f"What the role {role.value} may not see or do is not there")
        answer = reader.context.request.post(address, form=form, headers={"Origin": made.at("")})
        assert (answer.status, f"<code>{role.value}</code>, which only reads" in answer.text()) == (404, True)
    reader.context.clear_cookies()
    answer = reader.context.request.post(address, form=form, headers={"Origin": made.at("")})
    assert (answer.status, "these pages need the address" in answer.text().lower()) == (401, True)
    world.go(3)
    assert (list(world.site.state.glob("inbox/wish-*")), world.task("mc")) == ([], before)
    assert seen.context.request.post(address, form=form, headers={"Origin": made.at("")}, max_redirects=0).status == 303
    world.go(3)
    assert world.task("mc").state is TaskState.CANCELLED, "the same form, from whoever may control"


def test_the_graph_fits_on_a_phone(tasked, look) -> None:
    page = look(tasked[1], width=320).go("/tasks/reco")
    assert page.locator(".across").is_hidden()
    box = page.locator(".down svg").bounding_box()
    assert box["x"] + box["width"] <= 320
    sizes = page.locator(".down text").evaluate_all("all => all.map((each) => each.getBoundingClientRect().right)")
    assert 0 < max(sizes) <= 320
    page.locator(".down a", has_text="mc").click()
    expect(page.locator("h1")).to_have_text("Task mc")
