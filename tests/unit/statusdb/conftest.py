"""A store for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jim.clock import Clock
from jim.statusdb.store import Store
from tests.support.new_store import make_new


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(make_new(tmp_path / "status.db"), Clock(), write=True)
    yield made
    made.close()
