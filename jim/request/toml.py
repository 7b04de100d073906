"""Reads requests in TOML."""

import re
import tomllib
from typing import Any

# The standard parser takes quadratic time for a key of thousands of parts; a request needs no such key.
DEEP_KEY = re.compile(r"""(?:[\w"'-]{1,64}[ \t]*\.[ \t]*){32}[\w"'-]{1,64}[ \t]*[=\]]""")


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
        raise ValueError(str(error).replace("at end of document", end)) from error
    except RecursionError as error:
        raise ValueError("lists or tables are nested too deeply") from error
