"""What this JIM opens: the state directories that released versions have left, and one that it leaves itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.upgrade.captured import HERE, made_by_this_version


@pytest.fixture(
    scope="session",
    params=[*sorted(HERE.glob("format-*.json")), None],
    ids=lambda each: each.stem if each else "of this version",
)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A captured state directory."""
    return request.param or made_by_this_version(tmp_path_factory.mktemp("left") / "today.json")
