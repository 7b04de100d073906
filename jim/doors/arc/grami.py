"""Reads a `grami` file, in which A-REX describes a job: assignments as a shell writes them, which are never sourced."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from jim.errors import BadRequest, JimError
from jim.files import read_regular

LONGEST = 4 * 1024 * 1024
LINE = re.compile(r"joboption_(\w+)=(.*)", re.ASCII)
# A-REX quotes what it was given, and puts a quote in as '\''. A name of a variable stands before the quotes.
PIECE = re.compile(r"'([^']*)'|\\'|([^'\\]+)")
OF_A_LIST = re.compile(r"(.+)_(\d+)", re.ASCII)
Grami = Mapping[str, str]


def read(file: Path) -> dict[str, str]:
    """Return the options by their names, without `joboption_`; of several with one name the first, as A-REX does."""
    text = read_regular(file, LONGEST).decode(errors="surrogateescape")
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if matched := LINE.fullmatch(line.rstrip()):
            found.setdefault(matched[1], _value(matched[2]))
    for name in ("gridid", "directory"):  # the key, and the place of outputs
        if not found.get(name):
            raise BadRequest(f"{file} has no joboption_{name}, so JIM does not take this job: is the file whole?")
    if not text.endswith("\n") and "jobid" not in found:  # after a restart A-REX writes it anew, beside its reader
        raise JimError(f"{file} is not whole yet: its last line has no end")
    return found


def _value(text: str) -> str:
    return "".join(piece[1] if piece[1] is not None else piece[2] or "'" for piece in PIECE.finditer(text))


def listed(grami: Grami, name: str) -> Iterator[tuple[str, str]]:
    """Yield the items of a list, such as arg_0, arg_1 …, in their order, each with its own name."""
    items = ((matched, key) for key in grami if (matched := OF_A_LIST.fullmatch(key)) and matched[1] == name)
    for matched, key in sorted(items, key=lambda each: int(each[0][2])):
        yield matched[0], grami[key]


def values(grami: Grami, name: str) -> list[str]:
    """Return the items of a list, in their order."""
    return [value for _, value in listed(grami, name)]


def variables(grami: Grami) -> dict[str, str]:
    """Return the variables of the job."""
    return {name: value for name, _, value in (text.partition("=") for text in values(grami, "env"))}
