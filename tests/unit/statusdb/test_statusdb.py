"""The store of a state directory."""

from __future__ import annotations

import pytest

from jim.clock import Clock
from jim.errors import UnknownJob
from jim.statusdb import empty_store, file_of, is_there, open_store


def test_only_a_keeper_makes_a_store(tmp_path):
    assert not is_there(tmp_path)
    with pytest.raises(UnknownJob, match="there are no grid jobs yet"):
        open_store(tmp_path, Clock())
    open_store(tmp_path, Clock(), write=True).close()
    assert is_there(tmp_path)
    assert file_of(tmp_path) == tmp_path / "status.db"
    open_store(tmp_path, Clock()).close()


def test_an_empty_store_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = empty_store(Clock())
    assert store.grid_jobs() == []
    store.close()
    assert list(tmp_path.iterdir()) == []
