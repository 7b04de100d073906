"""How much room a batch system has at this moment: one module for each batch system that can tell.

A module holds `COMMANDS`, the words after the first words of each command, and `read`, from the output of these
commands. The output of a command that failed is missing. What a reader does not find stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Room(NamedTuple):
    """The room in a batch system, or in one of its queues; None: nobody knows."""

    slots: int | None = None  # processors that serve jobs
    free_slots: int | None = None
    pending: int | None = None  # jobs of all users that wait for a slot; members of an array count one by one
    load: float | None = None  # for each slot
    wall_seconds: int | None = None  # the longest time limit


class Capacity(NamedTuple):
    """The room in the whole batch system, and in each queue."""

    room: Room = Room()
    queues: Mapping[str, Room] = {}


def total(numbers: Iterable[int | None]) -> int | None:
    """Add up the numbers that are known; None if none is."""
    known = [each for each in numbers if each is not None]
    return sum(known) if known else None


def seconds(text: str) -> int | None:
    """Read [[days-]hours:]minutes:seconds; None for a word such as `infinite`."""
    days, _, rest = text.rpartition("-")
    parts = [days or "0", *(["0", "0", *rest.split(":")])[-3:]]
    if not all(part.isdecimal() for part in parts):
        return None
    return sum(int(part) * unit for part, unit in zip(parts, (86_400, 3_600, 60, 1), strict=True))
