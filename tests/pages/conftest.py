"""For the tests of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jim.reading.view import View
from jim.statusdb import open_store
from tests.pages.browser import Person
from tests.pages.grounds import Ground


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    """A state directory in which a keeper is at work."""
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("JIM_SITE", raising=False)
    made = Ground(tmp_path / "state")
    made.beat()
    with closing(made.store):
        yield made


@pytest.fixture
def view(ground: Ground) -> Iterator[View]:
    """What people read of it."""
    with closing(open_store(ground.site.state, ground.clock)) as store:
        yield View(ground.site, store)


@pytest.fixture
def person(ground: Ground) -> Person:
    """Somebody who is logged in."""
    return Person(ground)
