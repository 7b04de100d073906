"""A batch system that cannot tell how much room there is."""

from __future__ import annotations

from collections.abc import Mapping

from jim.adapters.capacity import Capacity

COMMANDS: dict[str, tuple[str, ...]] = {}


def read(texts: Mapping[str, str]) -> Capacity:
    """Tell nothing."""
    return Capacity()
