"""A finding: the answer to one question about a site."""

from __future__ import annotations

from dataclasses import dataclass

OK, WARNING, FAILED = "ok", "warning", "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one question."""

    name: str
    level: str
    said: str
    todo: str = ""
