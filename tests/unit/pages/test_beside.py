"""The files of a page are looked at once a second, and only what has changed in them changes the mark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jim.pages.beside import UNSEEN, Beside
from jim.reading.view import View, at_once
from jim.statusdb import open_store
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground


class Steps:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def hand() -> Steps:
    return Steps()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "stdout"
    path.write_text("line")
    return path


def mark(beside: Beside, log: Path, moment: str = "1") -> str:
    return beside.mark(lambda *_: [log], moment, 1, 0)


@pytest.fixture
def beside(ground: Ground, hand: Steps) -> Beside:
    return Beside(lambda: View(ground.site, open_store(ground.site.state, ground.clock)), at_once, hand)


def test_size_time_and_absence_give_another_mark_after_a_second(beside: Beside, hand: Steps, log: Path) -> None:
    before, found = mark(beside, log), set[str]()
    log.write_text("longer line")
    assert mark(beside, log) == before, "within the second"
    for change in (lambda: None, lambda: os.utime(log, (1, 1)), log.unlink):
        change()
        hand.now += 2
        found.add(mark(beside, log))
    assert len(found | {before}) == 4
    hand.now += 2
    assert mark(beside, log) in found, "nothing has changed"


def test_files_are_looked_for_anew_at_another_moment_of_the_store_only(beside: Beside, hand: Steps, log: Path) -> None:
    asked = []

    def find(_: View, number: int, n: int) -> list[Path]:
        asked.append((number, n))
        return [log]

    for moment in ("1", "1", "2"):
        hand.now += 2
        beside.mark(find, moment, 12, 7)
    assert asked == [(12, 7), (12, 7)]


def test_a_file_server_that_does_not_answer_is_a_mark_of_its_own(beside: Beside, hand: Steps, log: Path) -> None:
    def away(_: object) -> str:
        raise TimeoutError

    beside.disk = away  # type: ignore[assignment]
    assert mark(beside, log) == UNSEEN
    beside.disk = at_once
    hand.now += 2
    assert mark(beside, log) != UNSEEN


def test_a_poll_of_a_local_job_whose_log_stands_still_reads_no_attempts(
    running: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jim.pages.live.this_minute", lambda: 100)
    running.leave(1, 1, 1, "stdout", b"hello")
    person.get("/jobs/1/0")
    tag = person.get("/jobs/1/0").headers["ETag"]
    monkeypatch.setattr("jim.pages.routes.local_job.log_files", None)
    assert [person.get("/jobs/1/0", If_None_Match=tag).status_code for _ in range(3)] == [304, 304, 304]
