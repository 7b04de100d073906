from __future__ import annotations

import pytest

from tests.unit.tasks.ground import Ground


@pytest.fixture
def ground(tmp_path, monkeypatch):
    """A keeper driven by hand that has tasks."""
    return Ground(tmp_path, monkeypatch)
