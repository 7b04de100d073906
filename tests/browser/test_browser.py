"""What only a browser shows: layout, keyboard, live parts, accessibility, and that nothing runs which should not."""

from __future__ import annotations

import fcntl
import json
import re
import time
from collections import Counter
from datetime import datetime
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from jim.model import Reason, State, Step, Witness
from tests.browser.looks import LOOKS, reach, violations
from tests.support.sampled import sampled
from tests.unit.pages.grounds import png, text
from tests.unit.pages.many import add_local_jobs

HOME = Path(__file__).parents[2]
PAGES = {
    "overview": "/",
    "list": "/jobs",
    "filtered list": "/jobs?failed=yes&q=scratch",
    "empty list": "/jobs?q=nothing-like-that",
    "10,000 local jobs": "/jobs/12",
    "failed ones": "/jobs/12?state=failed&limit=200",
    "failed grid job": "/jobs/16",
    "not split": "/jobs/18",
    "local job": "/jobs/12/1",
    "waiting local job": "/jobs/12/9999",
    "log": "/jobs/12/1/log/stdout",
    "result": "/jobs/13/result",
    "hosts": "/hosts",
    "black hole": "/hosts/wn099",
    "host with failures": "/hosts/wn013",
    "query": "/query",
    "results of a query": "/query?xpath=" + quote("//jim:local_job[@state='failed']/@reason"),
    "elements of a query": "/query?grid=12&xpath=" + quote("//jim:attempt[@host='wn013']"),
    "query over whole documents": "/query?xpath=" + quote("//local_job[@updated > '2026']/jim:exit"),
    "site": "/site",
    "schema": "/schema",
}
ERRORS = {
    "/jobs?status=faild": 400,
    "/jobs/99": 404,
    "/nothing": 404,
    "/jobs/12/9999/log/stdout": 404,
    "/query?xpath=//[": 400,
}


LINES = """each => {
    const text = document.createRange();
    text.selectNodeContents(each);
    return text.getClientRects().length;
}"""


# Each page in one look beside the usual one; in all of them by `make browser ALL=1`.
EACH = {(name, how) for n, name in enumerate(PAGES) for how in ("light", ("dark", "phone")[n % 2])}


@pytest.mark.parametrize(
    ("name", "how"), sampled(sorted(product(PAGES, LOOKS), key=lambda each: each not in EACH), len(EACH))
)
def test_a_page_is_accessible_silent_and_fits(served, look, name, how) -> None:
    seen = look(served, **LOOKS[how])
    page = seen.go(PAGES[name])
    assert violations(page) == []
    width = LOOKS[how].get("width", 1280)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.odd == []
    assert {url.partition("/")[2].split("/")[1] for url in seen.asked} == {f"127.0.0.1:{served.port}"}
    assert page.locator("h1").count() == 1


def test_in_half_a_window_the_head_is_one_line_and_lists_are_whole(served, look) -> None:
    page = look(served, width=1000).go("/jobs")
    expect(page.locator("#live button")).to_be_visible()
    assert page.evaluate("document.querySelector('.top').offsetHeight") <= 60
    assert page.evaluate("(each => each.scrollWidth - each.clientWidth)(document.querySelector('.wide'))") == 0


@pytest.mark.parametrize("width", [1000, 1280])
def test_a_short_name_stands_in_one_line(alone, look, width) -> None:
    request = {"job_type": "parametric", "executable": "/opt/reconstruct", "key": "large"}
    alone.ground.store.add_grid_job(1, "large", "mc", alone.ground.clock.utc(), request)
    reason = "48 of 1,500 local jobs failed: exit 3 (41), signal 11 (7)"
    alone.ground.store.set_grid_job(1, step=Step.FINISHED, outcome="failed", reason=reason)
    for path in ("/", "/jobs"):
        name = look(alone, width=width).go(path).locator("td.called")
        assert (name.inner_text(), name.evaluate(LINES)) == ("reconstruct", 1)


@pytest.mark.parametrize("how", LOOKS)
def test_errors_are_accessible(served, look, how) -> None:
    seen = look(served, **LOOKS[how])
    for path, status in ERRORS.items():
        page = seen.go(path, status)
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[how].get("width", 1280)


@pytest.mark.parametrize("how", sampled(LOOKS))
def test_stale_and_empty_pages_are_accessible(alone, look, how) -> None:
    seen = look(alone, **LOOKS[how])
    for path in ("/", "/jobs"):
        assert violations(seen.go(path)) == [], path
    alone.ground.add(1, 12, 600)
    alone.ground.beat(ago=40)
    (alone.state / "keeper.lock").write_text("")
    alone.ground.site.summary.write_text(json.dumps({"trouble": "squeue: timed out " * 20}))
    for path in ("/", "/jobs", "/jobs/1", "/jobs/1/0"):
        page = seen.go(path)
        expect(page.get_by_text("States may be out of date")).to_be_visible()
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[how].get("width", 1280)


def test_hostile_strings_do_nothing_in_a_browser(alone, look) -> None:
    evil = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>{{7*7}}\u202e'javascript:alert(3)"
    ground = alone.ground
    ground.store.add_grid_job(1, evil, evil, ground.clock.utc(), {"job_type": "executable", "key": evil, evil: evil})
    ground.store.add_grid_job(2, "two", evil, ground.clock.utc(), {"job_type": evil, "key": "two"})
    ground.add(3, 3, 60, owner=evil)
    ground.send(3, 1, [0, 1], 50, evil)
    ground.store.set_attempt(3, 1, 1, host=evil, reason=evil, started="2026-01-31T11:00:00Z")
    ground.store.set_local_job(3, 0, state=State.FAILED, reason=evil, witness=Witness.QUEUE)
    ground.store.publications.publish(3, 0, "x", "<x:y xmlns:x='urn:x'>&lt;script&gt;alert(4)&lt;/script&gt;</x:y>")
    ground.leave(3, 1, 1, "stdout", evil.encode() * 100)
    seen = look(alone)
    host = "/hosts/" + quote(evil, safe="")
    for path in ("/", "/jobs", "/jobs/1", "/jobs/2", "/jobs/3", "/jobs/3/0", "/jobs/3/0/log/stdout", "/hosts", host):
        page = seen.go(path)
        page.wait_for_load_state("networkidle")
        assert page.locator("main img, main script").count() == 0, path
    assert seen.odd == []
    page = seen.go("/jobs/3")
    page.get_by_role("link", name="<script>alert(1)</script>").first.click()
    page.wait_for_load_state()
    assert seen.odd == []
    assert page.url.startswith(alone.at("/jobs/3?"))


def test_the_map_of_10_000_is_small_and_a_click_opens_the_right_one(served, look) -> None:
    seen = look(served)
    page = seen.go("/jobs/12")
    assert page.evaluate("document.querySelectorAll('*').length") <= 2500
    assert page.locator("#map svg *").count() <= 30
    assert len(page.request.get(served.at("/jobs/12")).body()) <= 250_000
    for n in (0, 199, 200, 4711, 9999):
        page = seen.go("/jobs/12")
        page.locator("#where").scroll_into_view_if_needed()
        box = page.locator("#map svg").bounding_box()
        x, y = n % 200 + 0.4, n // 200 + 0.4
        page.mouse.click(box["x"] + x * box["width"] / 200, box["y"] + y * box["height"] / 50)
        page.wait_for_url(served.at(f"/jobs/12/{n}"))


def test_the_map_says_by_keys_which_local_job_a_cell_is(served, look) -> None:
    page = look(served).go("/jobs/12")
    page.locator("#map").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "PageDown", "PageUp"):
        page.keyboard.press(key)
    expect(page.locator("#where")).to_have_text("12.201: completed on wn038")
    page.keyboard.press("End")
    expect(page.locator("#where")).to_contain_text("12.9999: waiting")
    page.keyboard.press("Enter")
    page.wait_for_url(served.at("/jobs/12/9999"))


def test_a_cell_of_a_million_opens_its_range_and_the_last_one_is_few_keys_away(alone, look) -> None:
    add_local_jobs(alone.ground.store, 12, 1_000_000)
    page = look(alone).go("/jobs/12")
    map_ = page.locator("#map")
    for _ in range(10):  # a thread finds it out
        if map_.count():
            break
        page.wait_for_timeout(1000)
        page.reload()
    expect(page.locator("#where")).to_contain_text("A cell is 500 local jobs")
    assert page.locator("#map svg *").count() <= 100
    assert page.evaluate("document.querySelectorAll('*').length") <= 2500
    map_.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.wait_for_url(alone.at("/jobs/12?n=999500-999999#map"))
    assert page.locator("tbody tr[id^=n-]").count() == 50
    expect(map_).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.wait_for_url(alone.at("/jobs/12/999999"))
    expect(page.locator("h1")).to_contain_text("Local job 12.999999")


def test_a_filter_reloaded_from_its_link_shows_the_same_rows(served, look) -> None:
    page = look(served).go("/jobs/12")
    page.locator("[data-part=failures]").get_by_role("link", name="node failure on *").click()
    page.wait_for_url("**/jobs/12?reason=*")
    page.get_by_label("Host", exact=True).fill("wn014")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**host=wn014*")
    rows = page.locator("tbody tr[id^=n-]").evaluate_all("rows => rows.map((each) => each.id)")
    again = look(served).go(page.url.removeprefix(served.at("")))
    assert again.locator("tbody tr[id^=n-]").evaluate_all("rows => rows.map((each) => each.id)") == rows
    assert len(rows) > 5
    assert {each.strip() for each in again.locator("tr[id^=n-] td[data-label=Reason]").all_inner_texts()} == {
        "node failure on wn014"
    }


def test_by_keyboard_from_the_overview_to_the_log_of_a_failed_local_job(served, look) -> None:
    page = look(served).go("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
    page.keyboard.press("Enter")
    reach(page, "16")
    page.keyboard.press("Enter")
    page.wait_for_url(served.at("/jobs/16"))
    reach(page, "live")
    page.keyboard.press("Space")
    assert page.locator("#live button").get_attribute("aria-pressed") == "false"
    reach(page, "show 41 failed")
    page.keyboard.press("Enter")
    page.wait_for_url(served.at("/jobs/16?state=failed"))
    reach(page, "16.0")
    page.keyboard.press("Enter")
    page.wait_for_url(served.at("/jobs/16/0"))
    reach(page, "stderr")
    page.keyboard.press("Enter")
    expect(page.locator("pre")).to_have_text("write: no space left on /scratch\n")
    assert page.locator("#live button").get_attribute("aria-pressed") == "false", "the switch is remembered"


CONTROLS = "[pages]\ncontrols = true\n"


def test_a_grid_job_is_cancelled_by_keyboard(alone, look) -> None:
    alone.again(CONTROLS)
    alone.ground.add(1, 12, 600)
    (alone.state / "answers" / "1").write_bytes(b"accepted")
    seen = look(alone)
    page = seen.go("/jobs/1")
    reach(page, "Cancel…")
    page.keyboard.press("Enter")
    page.wait_for_url(alone.at("/jobs/1/control/cancel"))
    expect(page.locator(".said")).to_contain_text("Ends 12 local jobs: 12 wait;")
    with (alone.state / "keeper.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a keeper does: none is started
        reach(page, "Cancel")
        page.keyboard.press("Enter")
        page.wait_for_url(alone.at("/jobs/1"))
    expect(page.locator("[data-part=waits]")).to_contain_text("cancel")
    (wish,) = (alone.state / "inbox").glob("wish-*")
    assert json.loads(wish.read_text())["by"].endswith(", by the pages")
    assert seen.odd == []


@pytest.mark.parametrize("how", sampled(LOOKS))
def test_controls_are_accessible(alone, look, how) -> None:
    alone.again(CONTROLS)
    alone.ground.add(1, 12, 600)
    alone.ground.store.set_local_job(1, 3, state=State.FAILED, reason="exit 3")
    seen = look(alone, **LOOKS[how])
    for path in ("", "/3", "/control/cancel", "/control/retry", "/control/force?n=3", "/control/priority?priority=7"):
        page = seen.go(f"/jobs/1{path}")
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[how].get("width", 1280), path
    assert seen.odd == []


@pytest.mark.parametrize("how", sampled(LOOKS))
def test_the_page_over_all_accounts_is_accessible(alone, look, how) -> None:
    jobs = [{"status": "running", "counts": {"running": 40, "completed": 7_301, "failed": 12, "waiting": 2_647}}]
    told = {"at": alone.ground.clock.utc(), "trouble": "squeue: timed out " * 9, "jobs": jobs}
    alone.ground.site.summary.write_text(json.dumps(told))
    alone.again('[pages]\naccount_url = "https://jim.example.org/{account}/"\n', "--site")
    seen = look(alone, **LOOKS[how])
    page = seen.go("/")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= LOOKS[how].get("width", 1280)
    assert page.get_by_role("table", name="1 account, by name").get_by_role("row").count() == 2
    assert seen.odd == []


def test_without_javascript_everything_is_shown(served, look) -> None:
    seen = look(served, java_script_enabled=False)
    page = seen.go("/jobs/12")
    assert page.locator("#live").is_hidden()
    assert page.locator("[data-part]").count() >= 8
    page.locator("#ranges summary").click()
    page.get_by_role("link", name="9,800–9,999").click()
    assert page.url == served.at("/jobs/12?n=9800-9999")
    assert page.locator("tbody tr[id^=n-]").count() == 50
    page.get_by_role("link", name="next »").click()
    page.get_by_role("link", name="12.9850", exact=True).click()
    expect(page.locator("h1")).to_contain_text("Local job 12.9850")
    assert seen.odd == []


def test_parts_that_change_are_replaced_and_the_rest_stays(alone, look) -> None:
    ground = alone.ground
    ground.add(1, 40, 600)
    ground.send(1, 1, range(40), 500)
    seen = look(alone)
    page = seen.go("/jobs/1")
    page.locator("#journal summary").click()
    page.locator("#request summary").click()
    page.get_by_role("link", name="1.20", exact=True).focus()
    page.evaluate("window.scrollTo(0, 300)")
    ground.beat(ago=0)
    ground.change(1, [7], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    expect(page.locator("#n-7 td[data-label=State]")).to_have_text("failed", timeout=20_000)
    expect(page.locator(".sum")).to_contain_text("1 failed")
    assert page.evaluate("document.activeElement.innerText") == "1.20"
    assert page.evaluate("scrollY") == 300
    assert page.locator("#journal").get_attribute("open") is not None
    assert page.locator("#request").get_attribute("open") is not None
    assert page.title().startswith("1 ")
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {value: true});document.dispatchEvent(new Event('visibilitychange'))"
    )
    before = len(seen.asked)
    page.wait_for_timeout(7000)
    assert len(seen.asked) == before, "a hidden tab asks for nothing"
    assert seen.odd == []


def later(page, shown, seconds: float = 20) -> None:
    """Let the time of a page whose clock the test has go on until something is shown."""
    for _ in range(int(10 * seconds)):
        page.clock.fast_forward(6000)
        page.wait_for_timeout(100)
        if shown():
            return
    raise AssertionError("it is not shown")


def test_focus_selection_scroll_and_open_parts_survive_20_updates(alone, look) -> None:
    ground = alone.ground
    ground.add(1, 40, 600)
    ground.send(1, 1, range(40), 500)
    ground.change(1, [39], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    seen = look(alone)
    seen.page.clock.install()
    page = seen.go("/jobs/1")
    page.locator("#journal summary").click()
    page.get_by_role("link", name="1.30", exact=True).focus()
    page.evaluate("window.scrollTo(0, 300)")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#size summary'))")
    for n in range(20):
        ground.beat(ago=0)
        ground.change(1, [n], State.SUBMITTED, State.FAILED, Witness.QUEUE)
        row = page.locator(f"#n-{n} td[data-label=State]")
        later(page, lambda row=row: row.inner_text() == "failed")
        expect(page.locator(".legend")).to_contain_text(f"failed {n + 2}")
        told = page.evaluate(
            "[document.activeElement.innerText, scrollY, getSelection().toString(), "
            "document.getElementById('journal').open]"
        )
        assert told == ["1.30", 300, "Size and why", True]
    page.evaluate("getSelection().removeAllRanges()")
    ground.store.note(1, "noted", Witness.USER, "by hand")
    later(page, lambda: "by hand" in page.locator("#journal").inner_text())
    assert page.locator("#journal").get_attribute("open") is not None
    assert seen.odd == []


def test_what_comes_and_goes_comes_and_goes_also_while_a_text_is_selected(alone, look) -> None:
    ground = alone.ground
    ground.add(1, 4, 600)
    ground.send(1, 1, range(4), 500)
    seen = look(alone)
    seen.page.clock.install()
    page = seen.go("/jobs/1")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))")
    ground.store.set_attempt(1, 1, 1, host="wn7", started="2026-01-31T11:00:00Z", verdict="failed", reason="exit 3")
    ground.change(1, [0], State.SUBMITTED, State.FAILED, Witness.QUEUE, Reason(words="exit 3"))
    ground.beat(ago=0)
    later(page, page.locator("section[data-part=failures]").is_visible)
    titles = page.locator("main > section > h2").all_inner_texts()
    assert titles == ["Waits for", "Map", "Failures", "Hosts", "Timeline", "More", "Local jobs"]
    assert page.evaluate("getSelection().toString()") == "Grid job 1 dzero_monte_carlo"
    expect(page.locator("#n-0 td[data-label=State]")).to_have_text("failed")
    ground.store.set_local_job(1, 0, state=State.WAITING, reason="again")
    later(page, lambda: page.locator("section[data-part=failures]").count() == 0)
    page = seen.go("/")
    expect(page.locator("h1")).to_have_text("All is well")
    ground.store.set_local_job(1, 1, state=State.FAILED, reason="exit 3")
    later(page, lambda: page.locator("h1").inner_text() == "1 grid job in trouble")
    assert seen.odd == []


def test_a_grid_job_that_is_removed_while_its_page_is_open_is_told(alone, look) -> None:
    alone.ground.add(1, 4, 600)
    alone.ground.store.set_grid_job(1, step=Step.FINISHED, outcome="failed")
    seen = look(alone)
    seen.page.clock.install()
    page = seen.go("/jobs/1")
    alone.ground.store.removals.remove(alone.ground.store.grid_job(1))
    band = page.get_by_text("the pages answer “410 Gone”. Reload to see why.")
    later(page, band.is_visible)


def test_an_open_part_is_in_the_address(served, look) -> None:
    page = look(served).go("/jobs/16?state=failed")
    page.locator("#journal summary").click()
    page.wait_for_url(served.at("/jobs/16?state=failed#journal"))
    again = look(served).go("/jobs/16?state=failed#journal")
    expect(again.locator("#journal table")).to_be_visible()
    again.locator("#journal summary").click()
    again.wait_for_url(served.at("/jobs/16?state=failed"))


def test_a_time_is_an_age_by_the_clock_of_the_pages_and_a_time_without_scripts(served, look) -> None:
    ages, times = ".facts time[data-age]", r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d"
    page = look(served, java_script_enabled=False).go("/jobs/16")
    assert re.fullmatch(times, page.locator(ages).first.inner_text())
    assert re.search(f"last heartbeat {times}", page.locator(".health").inner_text())
    page = look(served).go("/jobs/16")
    expect(page.locator(ages).first).to_have_text(re.compile(" ago$"))
    page = look(served, timezone_id="Asia/Kolkata").go("/jobs/16")
    beat, words = page.locator("time[data-clock=keeper]").evaluate("(each) => [each.dateTime, each.textContent]")
    age = time.time() - datetime.fromisoformat(beat).timestamp()
    assert re.fullmatch(r"\d+ s ago", words)
    assert abs(int(words.split()[0]) - age) <= 3


def test_no_age_is_negative_after_the_clock_was_set_back(alone, look) -> None:
    alone.ground.store.set_fact("seen", text(alone.ground.now + 3600))
    page = look(alone).go("/jobs")
    expect(page.locator("time[data-clock=batch]").first).to_have_text("0 s ago")


def test_ages_go_on_without_an_answer_that_is_new(served, look) -> None:
    page = look(served).go("/jobs/16")
    age = page.locator(".facts time[data-age]").first
    first = age.inner_text()
    expect(age).not_to_have_text(first, timeout=5000)


def test_pages_that_are_killed_are_told_and_come_back(alone, look) -> None:
    alone.ground.add(1, 4, 60)
    page = look(alone).go("/jobs/1")
    page.wait_for_timeout(300)
    alone.stop()
    band = page.get_by_text("the pages do not answer")
    age = page.locator(".facts time[data-age]").first
    before = age.inner_text()
    expect(band).to_be_visible(timeout=17_000)
    assert age.inner_text() != before, "ages go on"
    alone.start()
    expect(band).to_be_hidden(timeout=40_000)
    assert "Grid job 1" in page.locator("h1").inner_text(), "and nobody has to log in again"


def test_print_shows_the_map_in_patterns_and_where_links_lead(served, look) -> None:
    page = look(served).go("/jobs/12")
    page.emulate_media(media="print")
    assert page.locator("nav[aria-label=Pages]").is_hidden()
    assert page.locator(".filters").is_hidden()
    shown = "getComputedStyle(document.querySelector('.trail a'), '::after').content"
    assert page.evaluate(shown) == '" (" attr(href) ")"' or "/jobs" in page.evaluate(shown)
    strokes = page.locator("#map path").evaluate_all("all => all.map((each) => each.getAttribute('stroke'))")
    assert len(set(strokes)) == len(strokes) >= 5
    marks = page.locator("pattern").evaluate_all(
        "all => all.map((each) => each.innerHTML.replace(/class=.{1,9}/g, ''))"
    )
    assert max(Counter(marks).values()) <= 3
    assert page.pdf()[:4] == b"%PDF"


def test_forced_colours_large_text_and_no_motion(served, look) -> None:
    seen = look(served, forced_colors="active", reduced_motion="reduce", width=640)
    for path in ("/", "/jobs", "/jobs/12", "/jobs/12/1"):
        page = seen.go(path)
        page.evaluate("document.documentElement.style.fontSize = '28px'")
        assert page.evaluate("document.documentElement.scrollWidth") <= 640, path
        assert page.evaluate("document.getAnimations().length") == 0
        assert page.locator("h1").is_visible()
    assert "content security policy" not in " ".join(seen.odd).lower()


def test_the_tree_that_assistive_programs_read(served, look) -> None:
    page = look(served).go("/jobs/12")
    for role, name in (
        ("banner", None),
        ("navigation", "Pages"),
        ("search", None),
        ("main", None),
        ("contentinfo", None),
        ("link", "Skip to the content"),
        ("heading", "Grid job 12 dzero_monte_carlo"),
        ("list", "Steps"),
        ("heading", "Waits for"),
        ("heading", "Failures"),
        ("table", "Reasons for which local jobs did not complete"),
        ("table", "Phases, summed over the local jobs that have begun them"),
        ("button", "live"),
        ("combobox", "State"),
    ):
        found = page.get_by_role(role, name=name) if name else page.get_by_role(role)  # type: ignore[arg-type]
        assert found.count() >= 1, (role, name)
    assert page.get_by_role("group", name="Map of 10,000 local jobs").count() == 1
    assert page.get_by_role("table", name="10,000 local jobs, 50 of them here").get_by_role("row").count() == 51


def test_a_picture_is_shown(alone, look) -> None:
    alone.ground.add(1, 1, 60)
    alone.ground.collect(1, {"x": b"x"}, {"mass.png": png(64, 48)})
    alone.ground.store.set_grid_job(1, step=Step.FINISHED, outcome="completed")
    page = look(alone).go("/jobs/1/result")
    assert page.locator("img").evaluate("each => [each.complete, each.naturalWidth]") == [True, 64]


def test_times_are_those_of_the_readers_zone_if_they_want_that(served, look) -> None:
    seen = look(served, timezone_id="Asia/Kolkata")
    page = seen.go("/jobs/12/1")
    created, asof = page.locator(".attempt time").first, page.locator(".asof time")
    utc = created.inner_text()
    zone = page.get_by_role("button", name="my zone")
    expect(zone).to_have_attribute("aria-pressed", "false")
    zone.click()
    shift = datetime.fromisoformat(created.inner_text()) - datetime.fromisoformat(utc)
    assert shift.total_seconds() == 5.5 * 3600
    assert asof.inner_text().endswith("GMT+5:30")
    expect(page.locator("footer")).to_contain_text("times are GMT+5:30")
    page = seen.go("/jobs/12")
    expect(zone).to_have_attribute("aria-pressed", "true")
    hour = page.locator("[data-part=timeline] .hour").first.evaluate("(each) => [each.dataset.at, each.textContent]")
    minutes = [60 * int(text[:2]) + int(text[3:5]) for text in (hour[0][11:16], hour[1])]
    assert (minutes[1] - minutes[0]) % 1440 == 330
    page = seen.go("/query?state=failed&grid=12")
    assert datetime.fromisoformat(page.locator("td[data-label=Since] time").first.inner_text())
    zone.click()
    expect(page.locator("footer")).to_contain_text("times are UTC")
    assert look(served, timezone_id="Etc/UTC").go("/jobs").locator("#zone").is_hidden()
    assert seen.odd == []


def test_a_zone_stays_while_parts_are_replaced(alone, look) -> None:
    ground = alone.ground
    ground.add(1, 4, 600)
    ground.send(1, 1, range(4), 500)
    seen = look(alone, timezone_id="Asia/Kolkata")
    seen.page.clock.install()
    page = seen.go("/jobs/1")
    page.get_by_role("button", name="my zone").click()
    created = page.locator(".facts time").first
    before = created.inner_text()
    ground.change(1, [0], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    ground.beat(ago=0)
    later(page, lambda: page.locator("#n-0 td[data-label=State]").inner_text() == "failed")
    assert created.inner_text() == before
    expect(page.locator(".asof time")).to_contain_text("GMT+5:30")
    assert seen.odd == []


def test_a_long_page_folds_on_a_phone(served, look) -> None:
    seen = look(served, width=390)
    page = seen.go("/jobs/12")
    assert page.evaluate("document.documentElement.scrollHeight") <= 4200
    assert page.locator("tbody tr[id^=n-]:visible").count() == 10
    page.get_by_role("button", name="Show 40 more rows").click()
    assert page.locator("tbody tr[id^=n-]:visible").count() == 50
    shut = page.locator("h2 .fold").first
    expect(shut).to_have_attribute("aria-expanded", "false")
    part = shut.locator("xpath=ancestor::section").locator("> div")
    assert part.is_hidden()
    shut.press("Enter")
    assert part.is_visible()
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".fold")).to_have_count(0)
    assert page.locator("tbody tr[id^=n-]:visible").count() == 50
    assert seen.odd == []
