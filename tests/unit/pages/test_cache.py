"""A page is made once for all its viewers, and sent again when it has changed; a slow answer is found out beside."""

from __future__ import annotations

import os
import re
import threading
import time
from itertools import count
from typing import Any

import pytest

from jim.errors import JimError
from jim.model import State, Step, Witness
from jim.pages.cache import MOST_BYTES, MOST_KEPT, MOST_NAMED, Cache
from jim.pages.made import HTML, Made
from jim.reading.view import View, look
from tests.unit.localbatch.place import until
from tests.unit.pages.browser import Page, Person
from tests.unit.pages.grounds import Ground


def test_what_has_not_changed_but_for_ages_is_not_sent_again(running: Ground, person: Person) -> None:
    person.within_a_minute()
    claim = running.leave(1, 1, 1, "../claim.1", b"")
    person.get("/jobs/1")  # what a thread finds out for it is found out
    for path in ("/jobs", "/jobs/1", "/jobs/1/0"):
        tag = person.get(path).headers["ETag"]
        running.beat(ago=1)  # and the batch system has answered
        again = person.get(path, If_None_Match=tag)
        assert (again.status_code, again.data) == (304, b""), path
        assert again.headers["JIM-Batch-Seen"] == running.store.fact("seen")
        assert again.headers["JIM-Keeper-Seen"]
    tag = person.get("/jobs/1/0").headers["ETag"]
    assert "claim touched at 20" in person.page("/jobs/1/0").text
    os.utime(claim, (running.now - 40, running.now - 40))
    assert person.get("/jobs/1/0", If_None_Match=tag).status_code == 304, "a claim is touched all the time"
    tag = person.get("/jobs/1").headers["ETag"]
    running.change(1, [1], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    assert person.get("/jobs/1", If_None_Match=tag).status_code == 200
    tag = person.get("/jobs/1").headers["ETag"]
    running.beat(ago=25)
    (running.site.state / "keeper.lock").write_text("")
    assert person.get("/jobs/1", If_None_Match=tag).status_code == 200, "a keeper that stops is a change"


def test_a_page_has_times_of_which_the_browser_makes_ages_by_the_clock_of_the_pages(
    running: Ground, person: Person
) -> None:
    person.within_a_minute()
    person.get("/jobs")
    for path in ("/jobs", "/jobs/1"):
        answer = person.get(path)
        made = Page(answer.text)
        assert not re.search(r"\d (s|min|h|d) ago", made.text), path
        since = [each for each in made.all("time") if "data-age" in each]
        assert all(each["datetime"].endswith("Z") for each in since), path
        assert len(since) >= 4, path
        name, _, milliseconds = answer.headers["Server-Timing"].partition(";dur=")
        assert (name, abs(time.time() - float(milliseconds) / 1000) < 60) == ("now", True)
        unchanged = person.get(path, If_None_Match=answer.headers["ETag"])
        assert (unchanged.status_code, unchanged.headers["JIM-Now"] >= answer.headers["JIM-Now"]) == (304, True)


def test_a_page_that_is_a_little_old_says_of_when_it_is(running: Ground, person: Person) -> None:
    person.within_a_minute()
    person.anew, person.pages.cache.clock = False, lambda: 5.0
    steps = count()
    person.pages.marks.clock = lambda: 10.0 * next(steps)
    before = person.get("/jobs")
    running.store.set_local_job(1, 0, state=State.FAILED, witness=Witness.QUEUE)
    after = person.get("/jobs")
    assert (after.data, after.headers["JIM-Now"]) == (before.data, page_now(before))
    assert person.get("/jobs", If_None_Match=before.headers["ETag"]).status_code == 304


def page_now(answer: Any) -> str:
    """Return the time as of which a page is."""
    return Page(answer.text).all("time")[0]["datetime"]


def test_a_page_is_sent_anew_every_minute(running: Ground, person: Person) -> None:
    found = []
    for minute in (100, 100, 101):
        person.pages.marks.time = lambda minute=minute: 60.0 * minute
        found.append(person.get("/jobs").headers["ETag"])
    assert found[0] == found[1] != found[2]


def opened(person: Person) -> list[int]:
    """Note how often the store is opened."""
    made, look_ = list[int](), person.pages.open
    person.pages.open = lambda: made.append(1) or look_()  # type: ignore[func-returns-value]
    return made


def test_viewers_of_one_page_share_a_rendering(running: Ground, person: Person) -> None:
    person.within_a_minute()
    person.anew, made = False, opened(person)
    person.pages.marks.clock = lambda: 5.0
    for _ in range(3):
        assert person.get("/jobs?limit=7").status_code == 200
    assert len(made) == 2, "a look whether anything has changed, and the page"
    person.get("/jobs?limit=8")
    assert len(made) == 3


def test_a_page_is_made_once_for_those_who_ask_at_the_same_time() -> None:
    made, begun, go_on = list[int](), threading.Event(), threading.Event()

    def make() -> Made:
        made.append(1)
        begun.set()
        assert go_on.wait(10)
        return page_of(b"x")

    cache, found = Cache(look), list[bytes]()
    threads = [
        threading.Thread(target=lambda: found.append(cache.page("x", "1", make)[0].body), daemon=True) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    other = cache.page("y", "1", lambda: page_of(b"y"))[0].body
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert (made, found, other) == ([1], [b"x"] * 5, b"y"), "another page has not waited"


def test_a_page_is_good_as_long_as_its_mark_is_and_a_while_longer() -> None:
    now, made = [100.0], list[str]()
    cache = Cache(look, lambda: now[0], cost=lambda: 0.0)

    def page(mark: str, seconds: float) -> None:
        now[0] += seconds
        cache.page("x", mark, lambda: made.append(mark) or page_of(mark.encode()))  # type: ignore[func-returns-value]

    page("1", 0.0)
    page("1", 50.0)
    assert made == ["1"], "nothing has changed"
    page("2", 0.0)
    page("3", 0.9)
    assert (made, cache.tag("x", "3")) == (["1", "2"], ""), "what always changes is made once a second"
    page("3", 0.2)
    assert made == ["1", "2", "3"]
    assert cache.tag("x", "3")
    cache.renew()
    page("3", 0.0)
    page("4", 0.0)
    assert made == ["1", "2", "3", "4"], "after an act, what has changed is made anew at once"


def test_what_was_begun_before_an_act_is_not_shown_for_a_while_after_it() -> None:
    cache, made = Cache(look, lambda: 100.0), list[int]()

    def make() -> Made:
        made.append(1)
        if len(made) == 1:
            cache.renew()
        return page_of(b"")

    for mark in "123":
        cache.page("x", mark, make)
    assert len(made) == 2


def test_contents_are_dropped_when_they_become_many_and_the_marks_stay() -> None:
    cache, made = Cache(look, lambda: 100.0), list[str]()
    for page in (page_of(b""), page_of(bytes(MOST_BYTES // 4))):
        for n in range(MOST_KEPT + 20):
            cache.page(f"{n}", "1", lambda page=page: page)
        assert all(cache.tag(f"{n}", "1") for n in range(MOST_KEPT + 20)), "who has a page is told that it is good"
        kept = [each.value for each in cache._pages.values() if each.value is not None]
        assert len(kept) <= MOST_KEPT
        assert sum(len(each.body) for each in kept) <= MOST_BYTES
        cache._pages.clear()
    cache.page("0", "1", lambda: page_of(b"0"))
    for n in range(MOST_NAMED):
        cache.page(f"other {n}", "1", lambda: page_of(b""))
    assert (cache.tag("0", "1"), len(cache._pages)) == ("", MOST_NAMED)
    assert cache.page("0", "1", lambda: made.append("again") or page_of(b"0"))[0].body == b"0"  # type: ignore[func-returns-value]
    assert made == ["again"]


def test_a_page_that_cannot_be_made_is_tried_again_by_the_next_one() -> None:
    cache = Cache(look)

    def fail() -> Made:
        raise JimError("no")

    with pytest.raises(JimError):
        cache.page("x", "1", fail)
    assert cache.page("x", "1", lambda: page_of(b"y"))[0].body == b"y"


def page_of(body: bytes) -> Made:
    return Made(body, HTML)


def test_a_page_that_took_long_is_shared_for_longer() -> None:
    now, used, made = [100.0], [0.0], []

    def make() -> Made:
        used[0] += 0.05
        made.append(now[0])
        return page_of(b"")

    cache = Cache(look, lambda: now[0], cost=lambda: used[0])
    for seconds in (0.0, 1.1, 1.3, 0.2, 3.0):  # 0.05 s of a processor are good for 2.5 s
        now[0] += seconds
        cache.page("x", "", make)
    assert [round(each - 100, 1) for each in made] == [0.0, 2.6, 5.6]


def test_a_page_is_not_good_any_more_when_an_answer_comes_that_it_shows(ground: Ground) -> None:
    go_on, now = threading.Event(), [100.0]
    cache, answers = Cache(look, lambda: now[0]), iter("ab")

    def find(_: View) -> str:
        assert go_on.wait(10)
        return next(answers)

    def make() -> Made:
        return page_of(str(cache.answer("x", find, 0.0)[1]).encode())

    body, before = cache.page("p", "1", make)
    assert (body.body, cache.tag("p", "1")) == (b"None", before), "it is being found out"
    cache.page("q", "1", lambda: page_of(b""))
    go_on.set()
    until(lambda: cache._answers["x"].made.is_set())
    assert cache.tag("p", "1") == ""
    assert cache.tag("q", "1"), "a page without this answer"
    now[0] += 2
    body, after = cache.page("p", "1", make)
    assert body.body == b"a"
    assert before != after == cache.tag("p", "1")


def test_an_act_makes_the_next_page_new(running: Ground) -> None:
    (running.site.state / "answers" / "1").write_bytes(b"accepted")
    person = Person(running, controls=True)
    person.within_a_minute()
    person.anew, person.pages.marks.clock = False, lambda: 5.0
    person.pages.cache.clock = lambda: 5.0  # all in one second
    tag = person.get("/jobs/1").headers["ETag"]
    fields = person.json("/jobs/1/control/cancel.json")["form"]
    assert "cancel" not in person.page("/jobs/1").text.partition("Waits for")[2].partition("Local jobs")[0]
    assert person.post("/jobs/1/control/cancel/do", fields).status_code == 303
    answer = person.get("/jobs/1", If_None_Match=tag)
    assert (answer.status_code, "cancel of 1 was requested" in answer.text) == (200, True)


PATHS = ("/jobs", "/jobs/1", "/jobs/1/0", "/jobs/2", "/jobs/2/0")


@pytest.fixture
def tags(running: Ground, person: Person) -> dict[str, str]:
    """The ETags of pages, once slow answers for them are found out."""
    person.within_a_minute()
    running.beat()
    running.add(2, 4, 600)
    for path in PATHS:
        person.get(path)
    return {path: person.get(path).headers["ETag"] for path in PATHS}


def test_a_poll_of_what_has_not_changed_renders_nothing(
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
    running.store.publications.publish(1, 0, "phase-sim", '<phase name="sim" done="1" total="2" unit="events"/>')
    answers = {path: person.get(path, If_None_Match=tag).status_code for path, tag in tags.items()}
    assert answers == {"/jobs": 200, "/jobs/1": 200, "/jobs/1/0": 200, "/jobs/2": 304, "/jobs/2/0": 304}


def test_what_was_found_is_told_until_it_is_old(ground: Ground) -> None:
    now, found, ended = [100.0], [], threading.Event()
    cache = Cache(look, lambda: now[0])

    def find(view):  # type: ignore[no-untyped-def]
        found.append(view.now())
        now[0] += 2.0  # it takes as long
        ended.set()
        return len(found)

    assert cache.answer("x", find)[1] == 1
    at, what = cache.answer("x", find)
    assert (at <= cache.open().now(), what) == (True, 1)
    now[0] += 35.0  # twenty times as long as it took have not gone yet
    assert cache.answer("x", find)[1] == 1
    now[0] += 10.0
    ground.add(2, 1, 0)
    ended.clear()
    cache.answer("x", find)
    assert ended.wait(10)
    assert len(found) == 2
    assert cache.answer("y", find, 10.0)[1] == 3, "another question"


def test_what_was_found_holds_for_a_minute_while_the_store_does_not_change(ground: Ground) -> None:
    now, found, ended = [100.0], [], threading.Event()
    cache = Cache(look, lambda: now[0])

    def find(view):  # type: ignore[no-untyped-def]
        found.append(view.now())
        return len(found)

    def after(seconds: float, *, of_files: bool = False) -> int:
        now[0] += seconds
        ended.clear()
        cache.answer("x", find, of_files=of_files)
        assert ended.wait(10)
        until(lambda: not cache._answers["x"].busy)
        return len(found)

    cache.open = lambda: _telling(look(), ended)
    assert after(0) == 1
    assert after(11) == 1
    assert after(11, of_files=True) == 2
    ground.add(2, 1, 0)
    assert after(11) == 3
    assert after(50) == 3
    assert after(11) == 4, "a minute"


def _telling(view, ended):  # type: ignore[no-untyped-def]
    """Tell when the store is closed, which is the last that a search does."""
    close = view.store.close
    view.store.close = lambda: (close(), ended.set())
    return view


def test_what_fails_is_tried_again_and_told_as_unknown(ground: Ground, caplog: pytest.LogCaptureFixture) -> None:
    def find(view):  # type: ignore[no-untyped-def]
        raise JimError("no")

    cache = Cache(look)
    assert cache.answer("x", find, 0.3) == ("", None)
    assert "x cannot be computed: no" in caplog.text


def test_a_grid_job_of_very_many_is_shown_at_once_and_the_rest_with_its_age(
    ground: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("jim.reading.job.history.MOST", "jim.pages.app.MOST"):
        monkeypatch.setattr(place, 10)
    ground.add(1, 30, 60)
    ground.store.set_local_job(1, 7, state=State.FAILED, witness=Witness.QUEUE, reason="exit 3")
    page = person.page("/jobs/1")
    assert "This, phases, failures and the map were found out" in page.text
    assert "exit 3" in page.text
    assert page.ids()[:2] == ["1.0", "1.1"]
    assert "29 local jobs wait to be submitted" in page.text
    assert "29 local jobs wait to be submitted" in person.page("/jobs/1/3").text
    assert person.page("/jobs").ids() == ["1"]
    person.pages.cache.answer = lambda *_, **__: ("", None)  # type: ignore[method-assign]
    page = person.page("/jobs/1")
    assert "this is being found out" in page.text
    assert page.ids()[:2] == ["1.0", "1.1"]
    assert "this is being found out" in person.page("/jobs/1/3").text
