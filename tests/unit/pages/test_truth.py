"""What the pages say when something is not there: the keeper, the batch system, the store, the work directory."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from xml.etree import ElementTree

import pytest

from jim.clock import age_seconds
from jim.jobs import Change
from jim.model import Reason, State, Witness
from jim.pages.routes import files as routes
from jim.reading.slow_disks import Patience
from jim.statusdb import file_of, open_store
from tests.unit.pages.browser import Page, Person, addresses
from tests.unit.pages.grounds import Ground, text


def health(page: Page) -> str:
    return page.text.partition("Find ")[2].partition(" Grid job ")[0]


def test_a_keeper_that_is_gone_is_told_on_every_page(running: Ground, person: Person) -> None:
    running.leave(1, 1, 1, "stdout", b"hello")
    running.store.set_local_job(1, 0, state=State.RUNNING, reason="said by nobody")
    paths = ("/", "/jobs", "/jobs/1", "/jobs/1/0", "/jobs?failed=yes", "/jobs/1/0/log/stdout", "/hosts", "/hosts/wn1")
    paths += ("/site", "/schema", "/query")
    for path in paths:
        assert "States may be out of date" not in person.page(path).text
    running.beat(ago=25)
    (running.site.state / "keeper.lock").write_text("")
    for path in paths:
        text_ = person.page(path).text
        told = r"States may be out of date\. No keeper is running: the last heartbeat was 2\d s ago\."
        assert re.search(told, text_), path
        assert "A poll, a wish or jim keeper starts one" in text_
        assert "keeper:" not in text_, "that stands there once"
    assert "as of" in person.page("/jobs/1/0").text.partition("Waits for")[0]
    answer = person.get("/healthz")
    assert (answer.status_code, answer.text) == (503, "no keeper is at work, and there is unfinished work\n")
    assert "JIM-Keeper-Seen" not in person.get("/jobs").headers


def test_a_keeper_is_shown_with_the_age_of_its_heartbeat_and_not_as_seen_just_now(
    running: Ground, person: Person
) -> None:
    running.beat(ago=3)
    answer = person.get("/jobs/1")
    page = Page(answer.text)
    assert re.search(r"keeper: at work, last heartbeat \d\d:\d\d:\d\d", page.text)
    assert "just now" not in health(page)
    assert page.all("time", **{"data-clock": "keeper"})
    assert 2 <= age_seconds(answer.headers["JIM-Keeper-Seen"], answer.headers["JIM-Now"]) <= 5


def test_a_keeper_that_is_silent_for_seconds_is_told_before_doors_take_it_for_dead(
    running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jim.reading.keeper_life.holder", lambda _: os.getpid())
    running.beat(ago=9)
    page = person.page("/jobs/1")
    assert re.search(r"keeper: silent, last heartbeat \d\d:\d\d:\d\d", page.text)
    assert re.search(r"States may be out of date\. The keeper \(pid \d+\) has not updated its heartbeat for", page.text)
    waits = page.text.partition("Waits for")[2]
    assert re.search(r"as of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d *: ", waits), "a time as everywhere on the pages"
    assert person.get("/healthz").status_code == 503


def test_a_keeper_at_rest_with_nothing_to_do_is_no_trouble(ground: Ground, person: Person) -> None:
    (ground.site.state / "heartbeat").write_text("boot idle\n")
    page = person.page("/jobs")
    assert "keeper: at rest, nothing is left to do" in page.text
    assert "out of date" not in page.text
    assert person.get("/healthz").text == "ok\n"


def test_a_silent_batch_system_is_told_with_its_last_words(running: Ground, person: Person) -> None:
    running.store.set_fact("seen", text(running.now - 600))
    running.site.summary.write_text(json.dumps({"trouble": "sinfo: <b>timed out</b>", "failures": 7}))
    page = person.page("/jobs/1")
    assert "The last good answer of the batch system (local) came " in page.text
    assert "last words: sinfo: <b>timed out</b>" in page.text
    assert "the batch system has not answered for 10 min" in page.text, "the sentence of explain"
    assert page.all("time", **{"data-clock": "batch"})
    assert [row[1].strip() for row in page.rows if row and row[0].strip() == "1.0"] == ["running"], "states stay"
    assert person.get("/jobs").headers["JIM-Batch-Seen"] == running.store.fact("seen")


def test_a_clock_that_was_set_back_makes_no_age_negative_and_nothing_fresh(running: Ground, person: Person) -> None:
    running.store.set_fact("seen", text(running.now + 3600))
    for path in ("/jobs", "/jobs/1", "/jobs/1/0", "/"):
        assert not re.search(r"-\d[\d.]* (s|min|h|d)\b", person.page(path).text), path  # a browser draws the others
    running.beat(ago=25)
    running.store.set_fact("seen", text(running.now + 3600))
    (running.site.state / "keeper.lock").write_text("")
    assert "out of date" in person.page("/jobs/1").text


def test_the_numbers_are_the_same_wherever_they_are_told(running: Ground, person: Person) -> None:
    running.change(1, [1], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    counts = {"failed": 1, "running": 1, "submitted": 1, "waiting": 1}
    assert person.json("/jobs/1.json")["counts"] == counts
    assert person.json("/jobs.json")["jobs"][0]["counts"] == counts
    assert person.json("/index.json")["counts"] == counts
    document = person.get("/jobs/1.xml").text
    assert re.search(r"<jim:counts[^>]*>", document)[0].count('="1"') == len(counts)  # type: ignore[index]
    legend = person.page("/jobs/1").text
    for state, count in counts.items():
        assert f"{state} {count}" in legend
        assert person.json(f"/jobs/1.json?state={state}")["shown_of"] == count
    assert document.count("<jim:local_job ") == 4


def test_json_is_what_the_command_line_prints(running: Ground, person: Person, capsys: pytest.CaptureFixture) -> None:  # type: ignore[type-arg]
    from jim import cli

    def printed(*words: str) -> object:
        assert cli.main([*words, "--json"]) == 0
        return without_ages(json.loads(capsys.readouterr().out))

    def without_ages(told: object) -> object:
        if isinstance(told, dict):
            return {name: without_ages(each) for name, each in told.items() if name != "age_s"}
        return [without_ages(each) for each in told] if isinstance(told, list) else told

    assert without_ages(person.json("/jobs/1.json")) == printed("show", "1")
    assert without_ages(person.json("/jobs/1/0.json")) == printed("show", "1.0")
    explained, told = without_ages(person.json("/jobs/1/explain.json")), printed("explain", "1")
    assert explained.keys() == told.keys()  # type: ignore[attr-defined]
    assert person.json("/jobs/1/0/explain.json")["waits_for"][0]["what"].startswith("runs, batch job 4701, on wn1")
    assert without_ages(person.json("/jobs.json")["jobs"]) == printed("status")


def test_a_page_shows_one_moment_while_local_jobs_change(running: Ground, person: Person) -> None:
    """What is written in the middle of a page's making is not on it."""
    asked = person.pages.open

    def look_and_write():  # type: ignore[no-untyped-def]
        view = asked()
        counts = view.store.counts

        def written_meanwhile(grid: int) -> dict[State, int]:
            found = counts(grid)
            if running.store.state(1, 3) is State.WAITING:
                running.store.set_local_job(1, 3, state=State.FAILED, witness=Witness.QUEUE)
            return found

        view.store.counts = written_meanwhile
        return view

    person.pages.open = look_and_write
    page = person.page("/jobs/1")
    assert "waiting 1" in page.text
    assert [row[1].strip() for row in page.rows if row and row[0].strip() == "1.3"] == ["waiting"]
    person.pages.open = asked
    assert [row[1].strip() for row in person.page("/jobs/1").rows if row and row[0].strip() == "1.3"] == ["failed"]


def test_the_sum_of_all_states_is_the_size_while_all_local_jobs_change(running: Ground, person: Person) -> None:
    """A keeper changes all, again and again; the test goes on until it has seen both states."""
    size, end = 600, threading.Event()
    running.add(2, size, 60)
    running.send(2, 1, range(size), 50)

    def move() -> None:
        with closing(open_store(running.site.state, running.clock, write=True)) as store:
            was, now = State.SUBMITTED, State.RUNNING
            while not end.is_set():
                with store.transaction():
                    for first in range(0, size, 150):
                        numbers = range(first, first + 150)
                        store.change([Change(2, 1, was, now, Witness.QUEUE, numbers, Reason())])
                was, now = now, was

    mover = threading.Thread(target=move)
    mover.start()
    seen = list[str]()
    try:
        while len(seen) < 6 or len(set(seen)) < 2:
            counts = person.json("/jobs/2.json")["counts"]
            assert sum(counts.values()) == size
            seen.append(str(counts))
            page = person.page("/jobs/2")
            legend = re.findall(r"<b>([\d,]+)</b>", page.html.partition('class="legend"')[2].partition("</ul>")[0])
            assert sum(int(each.replace(",", "")) for each in legend) == size
            assert sum(person.json("/index.json")["counts"].values()) == size + 4
            root = ElementTree.fromstring(person.get("/jobs/2.xml").data)
            told = {each.get("state") for each in root.iter("{urn:jim:status:1}local_job")}
            assert len(told) == 1, "all of one moment"
    finally:
        end.set()
        mover.join()


def test_a_state_directory_without_a_store_is_empty(ground: Ground, person: Person) -> None:
    ground.store.close()
    for path in ground.site.state.glob("status.db*"):
        path.unlink()
    assert "There are no grid jobs yet" in person.page("/jobs").text
    ground.store = person.pages  # type: ignore[assignment]
    ground.store.close = lambda: None  # type: ignore[method-assign]


def test_with_the_work_directory_away_pages_answer(running: Ground, person: Person) -> None:
    running.leave(1, 1, 1, "stdout", b"hello")
    assert "hello" in person.page("/jobs/1/0/log/stdout").text
    shutil.rmtree(running.site.work)
    running.site.work.write_text("no directory")
    assert person.get("/jobs/1/0").status_code == 200
    assert person.get("/jobs/1").status_code == 200
    assert person.get("/jobs/1/0/log/stdout").status_code in (410, 503)


@pytest.fixture
def hung(running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The file server of the work directory answers nobody, until this is set."""
    running.leave(1, 1, 1, "stdout", b"hello")
    running.collect(1, {"1.0/z": b"7 bytes"})
    event = threading.Event()

    def wait(*_: object) -> None:
        event.wait()
        raise OSError("stale file handle")

    for name in ("reading.documents.files.open_below", "reading.documents.files._sizes", "reading.job.claims._age"):
        monkeypatch.setattr(f"jim.{name}", wait)
    person.pages.disk = Patience(0.1)
    yield event
    event.set()


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs/1", "/jobs/1/0", "/jobs/1/0.json", "/jobs/1/explain.json"])
def test_a_file_server_that_hangs_holds_up_no_page(hung: threading.Event, person: Person, path: str) -> None:
    answer = person.get(path)
    assert answer.status_code == 200
    if path == "/jobs/1/0":
        assert "Its logs cannot be seen just now: the file server does not answer" in answer.text


@pytest.mark.parametrize("path", ["/jobs/1/0/log/stdout", "/jobs/1/result", "/jobs/1/result/tar"])
def test_what_lies_on_a_server_that_hangs_is_told_to_be_out_of_reach(
    hung: threading.Event, person: Person, path: str
) -> None:
    answer = person.get(path)
    assert answer.status_code == 503
    assert "cannot be read just now: the file server does not answer" in Page(answer.text).text


def test_a_download_ends_when_the_server_hangs(
    running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.collect(1, {"1.0/z": bytes(200_000)})
    event, read = threading.Event(), os.pread
    monkeypatch.setattr(routes.Sent, "disk", Patience(0.1))

    def hang_later(file: int, count: int, at: int) -> bytes:
        if at > 100_000:
            event.wait()
        return read(file, count, at)

    monkeypatch.setattr("os.pread", hang_later)
    answer = person.get("/jobs/1/result/tar")
    assert int(answer.headers["Content-Length"]) > 200_000
    with pytest.raises(TimeoutError):
        list(answer.iter_encoded())
    event.set()


CHANGING = {f"os.{verb}" for verb in ("rename", "remove", "mkdir", "rmdir", "link", "symlink", "truncate", "chmod")}
TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@pytest.fixture(scope="module")
def trace() -> Iterator[list[str]]:
    """What this process opens to write or changes, and the databases that it opens, while the list has a first line."""
    seen: list[str] = []

    def hear(event: str, told: tuple[Any, ...]) -> None:
        if not seen:
            return
        to_write = event == "open" and isinstance(told[0], str) and told[2] & TO_WRITE
        if event in CHANGING or to_write or event == "sqlite3.connect":
            seen.append(f"{event} {told[0]}")

    sys.addaudithook(hear)  # for ever
    yield seen
    seen.clear()


def test_no_route_writes_anything_and_the_store_is_opened_to_read(
    running: Ground, person: Person, trace: list[str]
) -> None:
    running.leave(1, 1, 1, "stdout", b"hello")
    running.change(1, [1], State.SUBMITTED, State.COMPLETED, Witness.EXIT_RECORD)
    running.collect(1, {"1.1/x": b"x"}, {"y.txt": b"y"})
    asked = [*addresses(person), "/query?xpath=//jim:local_job/@n", "/query.xml?whole=yes&xpath=//*", "/nothing"]
    before = listing(running)
    trace.append("from here on")
    statuses = [person.get(path).status_code for path in asked]
    trace[:], seen = [], trace[1:]
    assert statuses.count(200) > len(asked) / 2
    assert listing(running) == before
    place = f"sqlite3.connect file:{file_of(running.site.state)}?mode=ro"
    unnamed = {"open /dev/null", f"open {tempfile.gettempdir()}"}  # a file without a name is opened by its directory
    assert {*seen} - unnamed == {place}


def test_without_a_keeper_the_counts_are_those_of_the_last_one(running: Ground, person: Person) -> None:
    running.change(1, [1], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    running.store.close()  # as a keeper does that ends; the file beside the store goes with it
    assert not file_of(running.site.state).with_name("status.db-wal").exists()
    counts = {"failed": 1, "running": 1, "submitted": 1, "waiting": 1}
    assert person.json("/jobs/1.json")["counts"] == counts
    running.store = open_store(running.site.state, running.clock, write=True)
    running.change(1, [2], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    assert person.json("/jobs/1.json")["counts"] == {"failed": 2, "running": 1, "waiting": 1}


def listing(ground: Ground) -> dict[str, tuple[int, float]]:
    found = [path for path in ground.site.state.rglob("*") if not path.name.endswith(("-shm", "-wal"))]
    return {str(path): (path.stat().st_size, path.stat().st_mtime) for path in found if path.is_file()}
