"""Lets the keeper take again what a door has accepted, after the status DB was put back from an older copy."""

from __future__ import annotations

import os
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

from jim.doors.contract import door_of
from jim.doors.inbox import answer, content_of
from jim.errors import UnknownJob
from jim.files import sync_directory


def hand_in_again(state: Path, known: Container[int], own: str) -> list[int]:
    """Let the keeper take again a grid job that a door has accepted, but that the store does not know.

    Grid jobs whose answer says that they have ended stay out. The door may be in `own`, the site's directory.
    """
    again = []
    for path in sorted((state / "keys").glob("request-*")):
        kept = content_of(path)
        number = int(kept.get("id", 0))
        if number and number not in known and not _has_ended(state, number, kept.get("door", ""), own):
            with suppress(FileExistsError):
                os.link(path, state / "inbox" / path.name)
            again.append(number)
    sync_directory(state / "inbox")
    return again


def _has_ended(state: Path, number: int, door: str, own: str) -> bool:
    try:
        return door_of(door, own).is_final(answer(state, number))
    except UnknownJob:
        return False
