"""Prints, for pip, what pyproject.toml says that parts of JIM need: `core`, or the names of extras."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def requirements(parts: list[str]) -> list[str]:
    """Return the requirements of these parts."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    all_parts = {"core": project["dependencies"], **project["optional-dependencies"]}
    return [each for part in parts for each in all_parts[part]]


if __name__ == "__main__":
    print(*requirements(sys.argv[1:]), sep="\n")
