"""A mark stays the same as long as nothing changes that pages show, at the cost of one look a second.

A store that another program has locked holds up one request only; one that is gone is not taken for an empty one.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from jim.model import State, Witness
from jim.pages.marks import UNSEEN, Marks, Moment
from jim.reading.view import View, at_once
from jim.statusdb import file_of, open_store
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground
from tests.unit.statusdb.grounds import add


class Hand:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def opened() -> list[int]:
    return []


@pytest.fixture
def marks(ground: Ground, hand: Hand, opened: list[int]) -> Marks:
    def view() -> View:
        opened.append(1)
        return View(ground.site, open_store(ground.site.state, ground.clock))

    return Marks(view, at_once, hand, lambda: 6000.0)


def mark(marks: Marks, grid: int | None = None) -> str:
    moment = marks.of(grid)
    assert moment
    return moment.mark


def test_many_requests_of_one_second_take_one_look(marks, opened):
    assert len({mark(marks) for _ in range(20)}) == 1
    assert len(opened) == 1


def test_a_change_gives_its_grid_job_and_the_site_another_mark(marks, ground, hand):
    for grid in (1, 2):
        add(ground.store, grid)
    before = mark(marks, 1), mark(marks, 2), mark(marks)
    ground.store.set_local_job(1, 0, state=State.KILLED, witness=Witness.USER)
    assert (mark(marks, 1), mark(marks, 2), mark(marks)) == before  # within the second
    hand.now += 60
    after = mark(marks, 1), mark(marks, 2), mark(marks)
    assert [one != other for one, other in zip(before, after, strict=True)] == [True, False, True]


def test_of_an_unknown_grid_job_only_the_whole_page_tells(marks):
    assert marks.of(4711) is None


def test_a_mark_is_of_one_minute_or_of_a_shorter_part_of_time(marks, hand):
    minute, often = mark(marks), marks.of(None, 10).mark
    marks.time = lambda: 6011.0
    assert (mark(marks) == minute, marks.of(None, 10).mark == often) == (True, False)
    marks.time = lambda: 6061.0
    assert mark(marks) != minute


def test_whoever_has_done_something_is_shown_the_next_look(marks, ground, opened):
    add(ground.store, 1)
    before = mark(marks), mark(marks, 1)
    ground.store.set_local_job(1, 0, state=State.KILLED, witness=Witness.USER)
    marks.forget()
    assert not {*before} & {mark(marks), mark(marks, 1)}


# Files that a page shows beside the store


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "stdout"
    path.write_text("line")
    return path


def with_log(marks: Marks, log: Path, moment: str = "1") -> str:
    return marks.with_files(Moment(moment, "", "", ""), "/page", lambda _: [log]).mark.removeprefix(f"{moment} ")


def test_size_time_and_absence_give_another_mark_after_a_second(marks: Marks, hand: Hand, log: Path) -> None:
    before, found = with_log(marks, log), set[str]()
    log.write_text("longer line")
    assert with_log(marks, log) == before, "within the second"
    for change in (lambda: None, lambda: os.utime(log, (1, 1)), log.unlink):
        change()
        hand.now += 2
        found.add(with_log(marks, log))
    assert len(found | {before}) == 4
    hand.now += 2
    assert with_log(marks, log) in found, "nothing has changed"


def test_files_are_looked_for_anew_at_another_moment_of_the_store_only(marks: Marks, hand: Hand, log: Path) -> None:
    asked = []

    def find(_: View) -> list[Path]:
        asked.append(1)
        return [log]

    for moment in ("1", "1", "2"):
        hand.now += 2
        marks.with_files(Moment(moment, "", "", ""), "/page", find)
    assert len(asked) == 2


def test_a_file_server_that_does_not_answer_is_a_mark_of_its_own(marks: Marks, hand: Hand, log: Path) -> None:
    def away(_: object) -> str:
        raise TimeoutError

    marks.disk = away  # type: ignore[assignment]
    assert with_log(marks, log) == UNSEEN
    marks.disk = at_once
    hand.now += 2
    assert with_log(marks, log) != UNSEEN


def test_a_poll_of_a_local_job_whose_log_stands_still_reads_no_attempts(
    running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.within_a_minute()
    running.leave(1, 1, 1, "stdout", b"hello")
    person.get("/jobs/1/0")
    tag = person.get("/jobs/1/0").headers["ETag"]
    monkeypatch.setattr("jim.pages.routes.local_job.log_files", None)
    assert [person.get("/jobs/1/0", If_None_Match=tag).status_code for _ in range(3)] == [304, 304, 304]


# A store that is locked, away, or restored


@pytest.mark.parametrize("path", ["/jobs", "/jobs/1.json", "/healthz"])
def test_a_store_that_another_program_has_locked_is_told_and_the_next_ones_do_not_wait_for_it(
    running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("jim.database.READER_SECONDS", 0.1)
    now, opened = [100.0], []
    person.pages.opening.clock = lambda: now[0]
    look = person.pages.open
    person.pages.open = lambda: opened.append(path) or look()  # type: ignore[func-returns-value]
    running.store.close()
    with closing(sqlite3.connect(file_of(running.site.state), isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        for _ in range(3):
            answer = person.get(path)
            assert answer.status_code == 503
            assert ("is locked by another program" in answer.text) == (path != "/healthz")
        assert len(opened) == 1, "only the first one waited"
    assert person.get(path).status_code == 503
    now[0] += 5.0
    assert person.get(path).status_code == 200
    running.store = open_store(running.site.state, running.clock, write=True)


def test_a_store_that_was_restored_under_open_pages_is_shown(running: Ground, person: Person, tmp_path: Path) -> None:
    person.within_a_minute()
    before = person.get("/jobs").headers["ETag"]
    file = file_of(running.site.state)
    with closing(sqlite3.connect(tmp_path / "saved")) as saved, closing(sqlite3.connect(file)) as now:
        now.backup(saved)
    running.add(2, 3, 60)
    later = person.get("/jobs", If_None_Match=before)
    assert (later.status_code, 'id="job-2"' in later.text) == (200, True)
    running.store.close()
    (tmp_path / "saved").replace(file)
    restored = person.get("/jobs", If_None_Match=later.headers["ETag"])
    assert (restored.status_code, 'id="job-2"' in restored.text) == (200, False)
    assert person.get("/jobs/2").status_code == 404
    running.store = open_store(running.site.state, running.clock, write=True)


def test_a_store_that_has_gone_is_told_and_is_back_when_it_is(running: Ground, person: Person) -> None:
    assert person.page("/jobs").ids() == ["1"]
    running.store.close()
    away = running.site.state.with_name("away")
    running.site.state.rename(away)
    for path in ("/jobs", "/", "/jobs/1", "/jobs/1.json"):
        answer = person.get(path)
        assert answer.status_code == 503, path
        assert "status.db is not there any more" in answer.text, path
    assert person.get("/healthz").status_code == 503
    away.rename(running.site.state)
    assert person.page("/jobs").ids() == ["1"]
    running.store = open_store(running.site.state, running.clock, write=True)
