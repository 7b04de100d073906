"""Follows a call through the rooms of the house: which room is entered from which, by which function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

HOME = Path(__file__).resolve().parents[2]
# What every room stands on is no room on the way.
GROUND = {
    *("attempts", "clock", "command", "database", "errand", "errors"),
    *("files", "guide", "jobs", "log_lines", "model", "trust"),
}


class Entry(NamedTuple):
    """A room is entered: from where, and by which of its functions."""

    before: str
    room: str
    function: str


def walked(call: Callable[[], Any]) -> list[Entry]:
    """Make a call, and return the rooms that were entered on its way, in order."""
    entries: list[Entry] = []

    def follow(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not (room := room_of(frame.f_code)):
            return
        above = frame.f_back
        while above is not None and not room_of(above.f_code):
            above = above.f_back
        before = room_of(above.f_code) if above else ""
        if before != room:
            entries.append(Entry(before, room, frame.f_code.co_qualname))

    sys.setprofile(follow)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entries


def way(entries: list[Entry]) -> list[str]:
    """Return the rooms of a way in the order in which they were entered, each once as long as nobody leaves it."""
    rooms = [each.room for each in entries]
    return [room for at, room in enumerate(rooms) if not at or room != rooms[at - 1]]


@cache
def room_of(code: CodeType) -> str:
    """Name the room that a function lies in; empty for the ground, and for what is not JIM's."""
    file = Path(code.co_filename)
    if not file.is_relative_to(HOME):
        return ""
    first, *rest = file.relative_to(HOME).parts
    room = rest[0] if first == "jim" and rest else first
    room = room.removesuffix(".py")
    return "" if room in GROUND or first not in ("jim", "adapters", "handlers") else room


def hidden(entries: list[Entry]) -> set[tuple[str, str]]:
    """Return the arrows of a walk that no import shows."""
    return {(each.before, each.room) for each in entries if each.before} - _arrows()


@cache
def _arrows() -> frozenset[tuple[str, str]]:
    """Return which room imports which, as the files say."""
    from tests.unit import test_house as house

    return frozenset(
        (name.split(".")[1], each.module.split(".")[1])
        for name, file in house.NAMES.items()
        for each in house.imports(file)
        if name.count(".") and each.module.startswith("jim.")
    )
