"""Random histories of lies and kills keep the promise; `make torture` runs many more."""

from __future__ import annotations

import pytest

from tests.schedules import Schedule


@pytest.mark.parametrize("block", range(3))
def test_schedules(block, tmp_path, monkeypatch):
    for seed in range(block * 8, block * 8 + 8):
        with monkeypatch.context() as patch:
            Schedule(seed, tmp_path / str(seed), patch).run()


@pytest.mark.torture
@pytest.mark.parametrize("block", range(100))
def test_many_schedules(block, tmp_path, monkeypatch):
    for seed in range(1000 + block * 20, 1000 + block * 20 + 20):
        with monkeypatch.context() as patch:
            Schedule(seed, tmp_path / str(seed), patch).run()
