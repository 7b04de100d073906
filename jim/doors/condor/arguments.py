"""Reads what blahpd gives to a submit script: options of one letter, lists in quotes, and lists in files.

Everything is data: no value is ever a part of a command line, and the file of -C, which is written as shell, is read
and not sourced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from getopt import GetoptError, getopt
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import BadRequest, JimError
from jim.files import read_regular, read_whole

OPTIONS = "a:i:o:e:c:s:v:V:dw:q:n:N:z:h:g:G:M:P:S:r:p:l:x:u:j:T:I:O:R:C:D:m:A:t:"
STDIN = Path("/dev/stdin")
LONGEST = 4 * 1024 * 1024
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)', re.DOTALL)
# blahpd puts a backslash before these, also where they stand in quotes; before others, a backslash is one.
ESCAPED = re.compile(r'\\(["&()])')
ASSIGNED = re.compile(r"^([A-Za-z_]\w*+)='((?>(?:[^']|'\\'')*))'", re.ASCII | re.MULTILINE)
SANDBOX = "home_bl_"  # begins the name of the directory that -D names; the rest is the key
Asked = Mapping[str, Any]


class Called(NamedTuple):
    """What a submit script was called with."""

    options: Mapping[str, str]  # by their letters
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]  # the name where the program runs, and the path or name where it belongs
    requirements: Mapping[str, str]  # and other attributes of the job that the site passes on
    spool: str = ""  # the directory of the schedd's spool, as `jim ce register` has found it

    def __getattr__(self, letter: str) -> str:
        """Return the value of an option; empty if it was not given."""
        return self.options.get(letter, "")


def _call(file: Path) -> tuple[str, list[str]]:
    """Read the spool and the words of a call, after their number; each ends with a zero byte."""
    content = read_whole(os.dup(0), LONGEST, "the call") if file == STDIN else read_regular(file, LONGEST)
    number, *parts = content.decode(errors="surrogateescape").split("\0")[:-1] or [""]
    if not parts or number != str(len(parts) - 1):
        raise JimError("the call of jim_submit.sh arrived in part: it is made again")  # its writer was killed
    return parts[0], parts[1:]


def read(file: Path) -> Called:
    """Read what a submit script hands on, and the lists that it names."""
    spool, words = _call(file)
    try:
        pairs, rest = getopt(words, OPTIONS)
    except GetoptError as error:
        raise BadRequest(f"the options of blahpd cannot be read: {error}") from error
    options = {name.removeprefix("-"): value for name, value in pairs}
    return Called(
        options,
        tuple(quoted(" ".join(rest))),
        environment(options.get("v", ""), options.get("V", "")),
        tuple(_lines(options.get("I", ""))),
        tuple(_outputs(options)),
        assignments(options.get("C", "")),
        spool,
    )


def quoted(text: str) -> list[str]:
    """Return the words of a list, most of which HTCondor puts in double quotes."""
    return [ESCAPED.sub(r"\1", found[1]) if found[2] is None else found[2] for found in WORD.finditer(text)]


def environment(old: str, new: str) -> dict[str, str]:
    """Return variables: of `-v A=1;B=2`, which is HTCondor's old syntax, or of `-V "A=1" "B=2"`."""
    texts = [*(each for each in old.split(";") if each), *quoted(new)]
    for text in texts:
        if "=" not in text:
            raise BadRequest(f"{text[:80]!r}: expected NAME=VALUE", "environment")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def assignments(file: str) -> dict[str, str]:
    """Return the assignments of a file: `NAME='value'`, a new line each; a text of CERequirements keeps its quotes."""
    found = ASSIGNED.findall(_text(file))
    return {name: _unquoted(value.replace("'\\''", "'")) for name, value in found}


def _unquoted(text: str) -> str:
    return ESCAPED.sub(r"\1", text[1:-1]) if len(text) > 1 and text[0] == text[-1] == '"' else text


def _outputs(options: Mapping[str, str]) -> list[tuple[str, str]]:
    names, remaps = _lines(options.get("O", "")), _lines(options.get("R", ""), keep_empty=True)
    remaps += [""] * (len(names) - len(remaps))
    return [(name, remap or name) for name, remap in zip(names, remaps, strict=False)]


def _lines(file: str, *, keep_empty: bool = False) -> list[str]:
    return [line for line in _text(file).split("\n") if line or keep_empty] if file else []


def _text(file: str) -> str:
    """Return the content of a file that blahpd has made; empty: it has made none."""
    try:
        return read_regular(Path(file), LONGEST).decode(errors="surrogateescape") if file else ""
    except OSError as error:
        raise BadRequest(f"cannot read {file}, a list of blahpd's: {error.strerror}") from error
