"""The file of an SQLite store: transactions and snapshots."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jim.clock import Clock
from jim.database import transaction
from jim.model import State
from jim.statusdb.store import Store
from tests.unit.statusdb.by_hand import add, move

REQUEST = {"job_type": "parametric", "argument_sets": [["1"], ["2"]]}


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    add(store, 1, 1)

    def half() -> None:
        with store.transaction():
            store.set_grid_job(1, wish="cancel")
            with transaction(store.db):  # a part of the larger one
                store.set_grid_job(1, reason="half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert (store.grid_job(1).wish, store.grid_job(1).reason) == ("", "")
    assert not store.db.in_transaction


def test_what_was_undone_is_not_remembered(store: Store) -> None:
    add(store, 1, 1)
    before = store.grid_job(1).request

    def half() -> None:
        with store.transaction():
            store.set_grid_job(1, request='{"job_type": "changed"}')
            assert store.grid_job(1).request == {"job_type": "changed"}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert store.grid_job(1).request == before


def test_a_snapshot_shows_one_moment(store: Store) -> None:
    add(store, 1, 1)
    reader = store.reader()
    with reader.snapshot():
        assert reader.state(1, 0) is State.WAITING
        move(store, 1, State.WAITING, State.RUNNING, 0)
        assert reader.state(1, 0) is State.WAITING
    assert reader.state(1, 0) is State.RUNNING
    reader.close()


def test_what_lies_on_a_disk_that_can_only_be_read_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Store(tmp_path / "status.db", Clock(), write=True)
    add(written, 1, 3)
    written.close()
    really = os.statvfs

    def read_only(path: Path) -> os.statvfs_result:
        found = list(really(path))
        found[8] |= os.ST_RDONLY
        return os.statvfs_result(found)

    monkeypatch.setattr(os, "statvfs", read_only)
    store = Store(tmp_path / "status.db", Clock())
    assert store.grid_job(1).size == 3
    assert [path.name for path in tmp_path.iterdir()] == ["status.db"], "a reader leaves its file beside the others"
    store.close()
