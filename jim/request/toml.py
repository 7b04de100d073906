"""Reads requests in TOML."""

import re
import tomllib
from typing import Any

# The standard parser takes quadratic time for a key of thousands of parts; a request needs no such key.
DEEP_KEY = re.compile(r"""(?:[\w"'-]{1,64}[ \t]*\.[ \t]*){32}[\w"'-]{1,64}[ \t]*[=\]]""")

INVALID = re.compile(r"Invalid value \(at line (\d+), column (\d+)\)")
BARE = re.compile(r"(?!(?:true|false)\b)[a-z_./~*][\w./~*+: -]{0,60}+", re.ASCII | re.IGNORECASE)


def parse(text: str) -> dict[str, Any]:
    """Read the attributes of a request; a `ValueError` names the place of a mistake."""
    deep = DEEP_KEY.search(text)
    if deep:
        raise ValueError(f"a key has more than 32 parts in line {text.count(chr(10), 0, deep.start()) + 1}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if text.startswith("#!"):
            raise ValueError("it is a program; `jim run` runs it") from error
        end = f"at line {text.count(chr(10)) + 1}, column {len(text) - text.rfind(chr(10))}"
        raise ValueError(str(error).replace("at end of document", end) + _quotes(text, str(error))) from error
    except RecursionError as error:
        raise ValueError("lists or tables are nested too deeply") from error


def _quotes(text: str, error: str) -> str:
    """Say that a text needs quotes, if that is what is wrong; other languages need none."""
    at = INVALID.fullmatch(error)
    bare = at and BARE.match(text.replace("\r\n", "\n").split("\n")[int(at[1]) - 1], int(at[2]) - 1)
    return f'; a text stands in quotes: "{bare[0].strip()}"' if bare else ""
