"""Requests in TOML."""

import tomllib
from typing import Any


def parse(text: str) -> dict[str, Any]:
    """Read the attributes of a request; `ValueError` says where it is wrong."""
    return tomllib.loads(text)
