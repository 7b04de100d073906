"""What a setting of the site file may be, and what it means."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import BadRequest, nearest
from jim.model import BATCH_NAME

# The questions to a batch system. Some systems have one command for each change, others one for all.
# `jim advertise` asks for room, and can do without.
CHANGES, ROOM = ("change", "hold", "release", "suspend", "resume"), ("nodes", "queues", "pending")
COMMANDS = ("submit", "query", "history", "find", "cancel", "ping", *CHANGES, *ROOM)
STEP = r"[A-Za-z_]\w*(\.\w+)+"  # a dotted name
SPLIT = "split"  # in `site.steps`: the place of the split; without it, that is the end
NONE = "none"  # instead of a number: the batch system's own


class Setting(NamedTuple):
    """The meaning of a setting and its possible values; its kind and default stand in the section."""

    help: str
    least: float | None = None
    most: float | None = None
    words: str = ""  # pattern that the whole text must match
    wrong: Callable[[Any], str] | None = None  # returns what else is wrong with a value
    may_be_none: bool = False  # "none" is another possible value, and is stored as 0


def wrong_list(value: list[Any]) -> str:
    """Refuse what is no list of words."""
    plain = all(isinstance(word, str) and not re.search(r"[\0\n]", word) for word in value)
    return "" if plain else "expected a list of words without line breaks"


def wrong_steps(value: list[Any]) -> str:
    """Refuse what is neither a dotted name nor, once, the place of the split."""
    if value.count(SPLIT) > 1:
        return f"names {SPLIT!r} more than once"
    odd = [
        each for each in value if each != SPLIT and not (isinstance(each, str) and re.fullmatch(STEP, each, re.ASCII))
    ]
    return f"expected dotted names, and perhaps {SPLIT!r}; found {odd[0]!r}" if odd else ""


def wrong_names(value: list[Any]) -> str:
    """Refuse names that no request could use."""
    odd = [name for name in value if not isinstance(name, str) or not re.fullmatch(BATCH_NAME, name, re.ASCII)]
    return f"no request can name {odd[0]!r}: a name must match {BATCH_NAME}" if odd else ""


def wrong_locations(value: list[Any]) -> str:
    """Refuse locations without a name."""
    return wrong_list(value) or ("" if all(word.strip() for word in value) else "a location must have a name")


def wrong_command(value: list[Any]) -> str:
    """Refuse words that do not begin with a program."""
    return wrong_list(value) or ("" if value and value[0] else "must begin with a program")


def wrong_commands(value: dict[str, Any]) -> str:
    """Refuse commands that JIM does not run, and words that are none."""
    for name, words in value.items():
        if name not in COMMANDS:
            return f"unknown command {name!r}{nearest(name, COMMANDS)}"
        if not isinstance(words, list) or wrong_command(words):
            return "expected lists of words without line breaks; each list begins with a program"
    return ""


def wrong_retry(value: list[Any]) -> str:
    """Refuse rules for further attempts that JIM cannot follow."""
    if not all(isinstance(each, dict) for each in value):
        return "expected a list of tables"
    return _refused("read", value)


def wrong_delay(value: str) -> str:
    """Refuse what is no list of pauses."""
    return _refused("delays", value)


def _refused(reads: str, value: Any) -> str:
    from jim.attempts import rules as retry_rules  # few site files have any

    try:
        getattr(retry_rules, reads)(value)
    except BadRequest as error:
        return error.words
    return ""


def _is_directory(place: Path) -> bool:
    with suppress(OSError):  # this file belongs to the site; JIM does not check it
        return place.is_dir()
    return False


def wrong_file(value: str) -> str:
    """Refuse text that is not a path. The file itself may lie on a disk that is away for a while."""
    return "must be an absolute path" if value and (not value.startswith("/") or "\0" in value) else ""


def wrong_directories(value: list[Any]) -> str:
    """Refuse words that are no paths. A directory may lie on a disk that is away for a while."""
    odd = [each for each in value if not isinstance(each, str) or not each or wrong_file(each)]
    return f"expected absolute paths of directories; found {odd[0]!r}" if odd else ""


def wrong_place(value: str) -> str:
    """Refuse a path at which nobody can make a directory."""
    if wrong_file(value):
        return wrong_file(value)
    place = Path(value or "/")
    while not os.path.lexists(place):
        place = place.parent
    return "" if _is_directory(place) else f"must be a directory, but {place} is not one"


def wrong_directory(value: str) -> str:
    """Refuse a directory that is not there."""
    return wrong_place(value) or ("must be an existing directory" if value and not _is_directory(Path(value)) else "")


def wrong_variables(value: list[Any]) -> str:
    """Refuse what cannot be the name of a variable, or a pattern of names."""
    fit = not wrong_list(value) and all(re.fullmatch(r"[A-Za-z_*][\w*]*", each, re.ASCII) for each in value)
    return "" if fit else "expected names of variables; * stands for any letters"
