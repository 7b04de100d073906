"""What the pages say when something is not there: the keeper, the batch system, the store, the work directory."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import chain

import pytest

from jim.errors import TooLong
from jim.model import State, Witness
from jim.pages.live import Made, Renderings
from jim.pages.routes import files as routes
from jim.reading.patience import Patience
from jim.statusdb import file_of
from jim.statusdb.asked import LocalJobsAsked
from tests.formats import TO_FORMAT_5
from tests.pages.browser import Page, Person
from tests.pages.grounds import Ground, text


def health(page: Page) -> str:
    return page.text.partition("Find ")[2].partition(" Grid job ")[0]


@pytest.fixture
def running(ground: Ground) -> Ground:
    """One of four local jobs runs, one has completed."""
    ground.add(1, 4, 600)
    ground.send(1, 1, range(3), 500)
    ground.clock.at = ground.now - 300
    ground.change(1, [0], State.SUBMITTED, State.RUNNING, Witness.CLAIM)
    ground.clock.at = None
    ground.store.set_attempt(1, 1, 1, host="wn1", started=text(ground.now - 300)[:19] + "Z")
    return ground


def test_11_a_keeper_that_is_gone_is_told_on_every_page(running: Ground, person: Person) -> None:
    paths = ("/", "/jobs", "/jobs/1", "/jobs/1/0", "/jobs?failed=yes")
    for path in paths:
        assert "States may be out of date" not in person.page(path).text
    running.beat(ago=25)
    (running.site.state / "keeper.lock").write_text("")
    for path in paths:
        text_ = person.page(path).text
        told = r"States may be out of date\. No keeper is running: the last heartbeat was 2\d s ago\."
        assert re.search(told, text_), path
        assert "A poll, a wish or jim keeper starts one" in text_
        assert "keeper: not at work" in text_
    assert "as of" in person.page("/jobs/1/0").text.partition("Waits for")[0]
    answer = person.get("/healthz")
    assert (answer.status_code, answer.text) == (503, "no keeper is at work, and there is unfinished work\n")
    assert "JIM-Keeper-Seen" not in person.get("/jobs").headers


def test_a_keeper_at_rest_with_nothing_to_do_is_no_trouble(ground: Ground, person: Person) -> None:
    (ground.site.state / "heartbeat").write_text("boot idle\n")
    page = person.page("/jobs")
    assert "keeper: at rest, nothing is left to do" in page.text
    assert "out of date" not in page.text
    assert person.get("/healthz").text == "ok\n"


def test_13_a_silent_batch_system_is_told_with_its_last_words(running: Ground, person: Person) -> None:
    running.store.set_fact("seen", text(running.now - 600))
    running.site.summary.write_text(json.dumps({"trouble": "sinfo: <b>timed out</b>", "failures": 7}))
    page = person.page("/jobs/1")
    assert "The batch system (local) has given no good answer since 10 min" in page.text
    assert "last words: sinfo: <b>timed out</b>" in page.text
    assert "the batch system has not answered for 10 min" in page.text, "the sentence of explain"
    assert page.all("time", **{"data-clock": "batch"})
    assert [row[1].strip() for row in page.rows if row and row[0].strip() == "1.0"] == ["running"], "states stay"
    assert person.get("/jobs").headers["JIM-Batch-Seen"] == running.store.fact("seen")


def test_15_a_clock_that_was_set_back_makes_no_age_negative_and_nothing_fresh(running: Ground, person: Person) -> None:
    running.store.set_fact("seen", text(running.now + 3600))
    for path in ("/jobs", "/jobs/1", "/jobs/1/0", "/"):
        page = person.page(path)
        assert "-" not in "".join(each["data-age"] for each in page.all("time") if "data-age" in each), path
    running.beat(ago=25)
    running.store.set_fact("seen", text(running.now + 3600))
    (running.site.state / "keeper.lock").write_text("")
    assert "out of date" in person.page("/jobs/1").text


def test_16_the_numbers_are_the_same_wherever_they_are_told(running: Ground, person: Person) -> None:
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


def test_16_json_is_what_the_command_line_prints(
    running: Ground, person: Person, capsys: pytest.CaptureFixture
) -> None:  # type: ignore[type-arg]
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


def test_17_a_page_shows_one_moment_while_local_jobs_change(running: Ground, person: Person) -> None:
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


def test_18_a_store_that_is_damaged_is_told_with_what_is_known_nevertheless(running: Ground, person: Person) -> None:
    record = {"id": 1, "type": "<b>x</b>", "status": "running", "counts": {"running": 4}}
    running.site.summary.write_text(json.dumps({"at": "2026-01-31T12:00:00.000Z", "jobs": [record]}))
    running.store.close()
    file_of(running.site.state).write_bytes(b"nonsense" * 1000)
    for suffix in ("-wal", "-shm"):
        file_of(running.site.state).with_name(f"status.db{suffix}").unlink(missing_ok=True)
    answer = person.get("/jobs")
    page = Page(answer.text)
    assert answer.status_code == 503
    assert "status.db is damaged" in page.text
    assert "What the keeper last published, at 2026-01-31T12:00:00.000Z" in page.text
    assert [cell.strip() for cell in page.rows[1]] == ["1", "<b>x</b>", "running", "4 running"]
    assert json.loads(person.get("/jobs.json").text)["status"] == 503
    assert person.get("/healthz").status_code == 503
    running.store = person.pages  # type: ignore[assignment]
    running.store.close = lambda: None  # type: ignore[method-assign]


def test_18_a_store_of_a_newer_jim_is_told(running: Ground, person: Person) -> None:
    with closing(sqlite3.connect(file_of(running.site.state), isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 1000")
    answer = person.get("/jobs")
    assert answer.status_code == 503
    assert "was written by a newer JIM" in answer.text


def test_18_a_store_of_an_older_jim_is_shown_and_told(running: Ground, person: Person) -> None:
    running.change(1, [1], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    with closing(sqlite3.connect(file_of(running.site.state), isolation_level=None)) as db:
        db.executescript(TO_FORMAT_5)
    for path in ("/", "/jobs", "/jobs/1", "/jobs/1/1"):
        assert "the next keeper of this JIM will upgrade it" in person.page(path).text, path
    assert person.page("/jobs/1?state=failed").ids() == ["1.1"]


def test_18_a_state_directory_without_a_store_is_empty(ground: Ground, person: Person) -> None:
    ground.store.close()
    for path in ground.site.state.glob("status.db*"):
        path.unlink()
    assert "There are no grid jobs yet" in person.page("/jobs").text
    ground.store = person.pages  # type: ignore[assignment]
    ground.store.close = lambda: None  # type: ignore[method-assign]


def test_what_takes_too_long_says_what_to_narrow(running: Ground, person: Person) -> None:
    with pytest.raises(TooLong, match="narrow it with a filter"), running.store.at_most(0):
        list(chain.from_iterable(running.store.states(1, LocalJobsAsked()) for _ in range(1000)))
    person.pages.viewing = lambda *_: _raises()  # type: ignore[method-assign]
    answer = person.get("/jobs/1")
    assert answer.status_code == 503
    assert "Give a state or a range of numbers" in answer.text


def _raises():  # type: ignore[no-untyped-def]
    raise TooLong("the query takes more than 2 s; narrow it with a filter")


def test_19_with_the_work_directory_away_pages_answer(running: Ground, person: Person) -> None:
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

    for name in ("reading.files.open_below", "reading.files._sizes", "reading.claims._age"):
        monkeypatch.setattr(f"jim.{name}", wait)
    person.pages.disk = Patience(0.1)
    yield event
    event.set()


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs/1", "/jobs/1/0", "/jobs/1/0.json", "/jobs/1/explain.json"])
def test_19_a_file_server_that_hangs_holds_up_no_page(hung: threading.Event, person: Person, path: str) -> None:
    answer = person.get(path)
    assert answer.status_code == 200
    if path == "/jobs/1/0":
        assert "Its logs cannot be seen just now: the file server does not answer" in answer.text


@pytest.mark.parametrize("path", ["/jobs/1/0/log/stdout", "/jobs/1/result", "/jobs/1/result/tar"])
def test_19_what_lies_on_a_server_that_hangs_is_told_to_be_out_of_reach(
    hung: threading.Event, person: Person, path: str
) -> None:
    answer = person.get(path)
    assert answer.status_code == 503
    assert "cannot be read just now: the file server does not answer" in Page(answer.text).text


def test_19_a_download_ends_when_the_server_hangs(
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


def test_82_pages_write_nothing(running: Ground, person: Person) -> None:
    running.leave(1, 1, 1, "stdout", b"hello")
    before = listing(running)
    for path in ("/", "/jobs", "/jobs/1", "/jobs/1/0", "/jobs/1/0/log/stdout", "/jobs.csv", "/jobs/1.xml", "/healthz"):
        assert person.get(path).status_code == 200, path
    assert listing(running) == before


def listing(ground: Ground) -> dict[str, tuple[int, float]]:
    found = [path for path in ground.site.state.rglob("*") if not path.name.endswith(("-shm", "-wal"))]
    return {str(path): (path.stat().st_size, path.stat().st_mtime) for path in found if path.is_file()}


# Live


def test_84_what_has_not_changed_but_for_ages_is_not_sent_again(
    running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jim.pages.live.half_minute", lambda: 100)
    for path in ("/jobs", "/jobs/1", "/jobs/1/0"):
        tag = person.get(path).headers["ETag"]
        running.beat(ago=1)  # and the batch system has answered
        again = person.get(path, If_None_Match=tag)
        assert (again.status_code, again.data) == (304, b""), path
        assert again.headers["JIM-Batch-Seen"] == running.store.fact("seen")
        assert again.headers["JIM-Keeper-Seen"]
    claim = running.leave(1, 1, 1, "../claim.1", b"")
    tag = person.get("/jobs/1/0").headers["ETag"]
    assert "claim touched" in person.page("/jobs/1/0").text
    os.utime(claim, (running.now - 40, running.now - 40))
    assert person.get("/jobs/1/0", If_None_Match=tag).status_code == 304, "ages in sentences are ages, too"
    tag = person.get("/jobs/1").headers["ETag"]
    running.change(1, [1], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    assert person.get("/jobs/1", If_None_Match=tag).status_code == 200
    tag = person.get("/jobs/1").headers["ETag"]
    running.beat(ago=25)
    (running.site.state / "keeper.lock").write_text("")
    assert person.get("/jobs/1", If_None_Match=tag).status_code == 200, "a keeper that stops is a change"


def test_a_page_is_sent_anew_every_half_minute(
    running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = []
    for half_minute in (100, 100, 101):
        monkeypatch.setattr("jim.pages.live.half_minute", lambda half_minute=half_minute: half_minute)
        tags.append(person.get("/jobs").headers["ETag"])
    assert tags[0] == tags[1] != tags[2]


def test_viewers_of_one_page_share_a_rendering(running: Ground, person: Person) -> None:
    made, person.pages.renderings.clock = [], lambda: 5.0
    asked = person.pages.open
    person.pages.open = lambda: made.append(1) or asked()  # type: ignore[func-returns-value]
    for _ in range(3):
        assert person.get("/jobs?limit=7").status_code == 200
    assert len(made) == 1
    person.get("/jobs?limit=8")
    assert len(made) == 2


def test_a_rendering_that_took_long_is_shared_for_longer() -> None:
    now, used, made = [100.0], [0.0], []

    def make() -> Made:
        used[0] += 0.05
        made.append(now[0])
        return Made(b"", "text/html")

    renderings = Renderings(lambda: now[0], cost=lambda: used[0])
    for seconds in (0.0, 1.1, 1.3, 0.2, 3.0):  # 0.05 s of a processor are good for 2.5 s
        now[0] += seconds
        renderings.get("x", make)
    assert [round(each - 100, 1) for each in made] == [0.0, 2.6, 5.6]


def test_no_log_tells_a_query(running: Ground, person: Person, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "jim.pages"):
        person.get("/jobs?token=f00d&q=secret")
        person.get("/healthz")
    lines = [line.getMessage() for line in caplog.records]
    assert lines[0].startswith("GET /jobs 303 ")
    assert "f00d" not in "".join(lines)
    assert "secret" not in "".join(lines)


def test_healthz_tells_no_names(running: Ground, person: Person) -> None:
    assert person.get("/healthz").text == "ok\n"
    assert str(running.site.state) not in person.get("/healthz").text
