"""/healthz says in one line whether the store can be read, and names nothing."""

from __future__ import annotations

import pytest

from jim.statusdb import file_of
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground


def test_healthz_tells_no_names(running: Ground, person: Person) -> None:
    assert person.get("/healthz").text == "ok\n"
    assert str(running.site.state) not in person.get("/healthz").text


@pytest.mark.parametrize("trouble", ["damaged", "newer"])
def test_healthz_says_that_the_store_cannot_be_read_and_names_nothing(
    ground: Ground, person: Person, trouble: str
) -> None:
    ground.add(1, 1, 60)
    if trouble == "newer":
        ground.store.db.execute("PRAGMA user_version = 99")  # type: ignore[attr-defined]
    else:
        ground.store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]
        file_of(ground.site.state).write_bytes(b"\x55" * 100_000)
    answer = person.get("/healthz")
    assert (answer.status_code, answer.text) == (503, "the status DB cannot be read\n")
