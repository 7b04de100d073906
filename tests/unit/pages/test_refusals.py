"""Errors are pages: what failed, what is known nevertheless, and what the reader can do."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from itertools import chain

import pytest

from jim.errors import TooLong
from jim.statusdb import file_of
from jim.statusdb.list_filters import LocalJobsAsked
from tests.unit.pages.browser import Page, Person
from tests.unit.pages.grounds import Ground


def test_a_store_that_is_damaged_is_told_with_what_is_known_nevertheless(running: Ground, person: Person) -> None:
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


def test_a_store_of_a_newer_jim_is_told(running: Ground, person: Person) -> None:
    with closing(sqlite3.connect(file_of(running.site.state), isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 1000")
    answer = person.get("/jobs")
    assert answer.status_code == 503
    assert "was written by a newer JIM" in answer.text


def test_what_takes_too_long_says_what_to_narrow(running: Ground, person: Person) -> None:
    with pytest.raises(TooLong, match="narrow it with a filter"), running.store.seen.at_most(0):
        list(chain.from_iterable(running.store.seen.states(1, LocalJobsAsked()) for _ in range(1000)))
    person.pages.viewing = lambda *_: _raises()  # type: ignore[method-assign]
    answer = person.get("/jobs/1")
    assert answer.status_code == 503
    assert "Give a state or a range of numbers" in answer.text


def _raises():  # type: ignore[no-untyped-def]
    raise TooLong("the query takes more than 2 s; narrow it with a filter")
