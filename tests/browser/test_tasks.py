"""The pages of tasks in a browser: layout, keyboard, live parts and accessibility, with all kinds of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import pytest
from playwright.sync_api import Browser, expect

from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from tests.browser.conftest import Served, log_in
from tests.browser.looks import LOOKS, reach, violations
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
        names = a_list(place, *(f"run{n % 3}_{n:03d}.raw" for n in range(40)), closed=False)
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


@pytest.mark.parametrize("how", LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_tasks_is_accessible_silent_and_fits(tasked, look, name, how) -> None:
    seen = look(tasked[1], **LOOKS[how])
    page = seen.go(PAGES[name])
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[how].get("width", 1280)
    assert seen.odd == []
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("how", LOOKS)
def test_controls_of_tasks_are_accessible(tasked, look, how) -> None:
    _, made = tasked
    made.again("[pages]\ncontrols = true\n")
    for path in ("/tasks/mc", "/tasks/mc/control/pause", "/tasks/mc/control/throttle", "/tasks/files/control/close"):
        seen = look(made, **LOOKS[how])
        page = seen.go(path)
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[how].get("width", 1280)


def test_by_keyboard_from_the_list_to_a_piece_that_failed(tasked, look) -> None:
    page = look(tasked[1]).go("/tasks")
    reach(page, "mc")
    page.keyboard.press("Enter")
    page.wait_for_url(tasked[1].at("/tasks/mc"))
    reach(page, "exit 3")
    page.keyboard.press("Enter")
    page.wait_for_url("**/pieces?state=failed&reason=*")
    failed = tasked[0].store.failed_pieces(tasked[0].task("mc").id)[0].p
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
    page.locator(".graph a", has_text="reco").click()
    expect(page.locator("h1")).to_have_text("Task reco")


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
