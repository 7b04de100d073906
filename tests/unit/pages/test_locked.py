"""A store that another program has locked holds up one request only; one that is gone is not taken for an empty one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from jim.statusdb import file_of, open_store
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground


@pytest.mark.parametrize("path", ["/jobs", "/jobs/1.json", "/healthz"])
def test_18_a_store_that_another_program_has_locked_is_told_and_the_next_ones_do_not_wait_for_it(
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


def test_a_store_that_was_restored_under_open_pages_is_shown(
    running: Ground, person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jim.pages.live.this_minute", lambda: 100)
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


def test_18_a_store_that_has_gone_is_told_and_is_back_when_it_is(running: Ground, person: Person) -> None:
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
