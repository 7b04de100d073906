"""JIM's own batch system: its verb `ping` counts."""

from __future__ import annotations

from collections.abc import Mapping

from jim.adapters.capacity import Capacity, Room

COMMANDS: dict[str, tuple[str, ...]] = {"nodes": ()}


def read(texts: Mapping[str, str]) -> Capacity:
    """Read words and numbers: slots 2 pending 5 running 1."""
    words = texts.get("nodes", "").split()
    told = {name: int(count) for name, count in zip(words[::2], words[1::2], strict=False) if count.isdecimal()}
    if "slots" not in told:
        return Capacity()
    free = max(0, told["slots"] - told.get("running", 0) - told.get("ending", 0))
    return Capacity(Room(told["slots"], free, told.get("pending", 0)))
