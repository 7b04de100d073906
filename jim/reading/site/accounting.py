"""Reads the accounting of an account: the lines of its days, each attempt once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

BY = {"dn": "dn", "vo": "vo", "type": "job_type", "queue": "queue", "account": "account", "verdict": "verdict"}
CLAIMED = "claimed"  # the column beside that of DNs


class Total(NamedTuple):
    """The sum of some lines."""

    attempts: int = 0
    completed: int = 0
    wall_seconds: float = 0.0
    core_seconds: float = 0.0
    cpu_seconds: float = 0.0
    unmeasured: int = 0  # attempts that started and have left no exit record
    implausible: int = 0  # attempts that have reported more time than they can have used

    def plus(self, line: Mapping[str, Any]) -> Total:
        """Add a line."""
        wall, cpu = line["wall_seconds"], line["cpu_seconds"] or 0.0
        return Total(
            self.attempts + 1,
            self.completed + (line["verdict"] == "completed"),
            self.wall_seconds + (wall or 0.0),
            self.core_seconds + (wall or 0.0) * line["cores"],
            self.cpu_seconds + cpu,
            self.unmeasured + (wall is None and bool(line["started"])),
            self.implausible + bool(line.get("implausible")),
        )


def lines(state: Path, since: str = "") -> Iterator[dict[str, Any]]:
    """Yield the lines of attempts that ended since a time. After a restore, an attempt may have two: the first counts.

    A line that is being written just now is left out.
    """
    seen: set[str] = set()
    for file in sorted((state / "accounting").glob("????-??-??.jsonl")):
        if file.stem < since[:10]:
            continue
        with file.open(errors="replace") as opened:
            for text in opened:
                with suppress(ValueError, KeyError, TypeError):
                    line = json.loads(text)
                    if line["id"] not in seen and line["ended"] >= since:
                        seen.add(line["id"])
                        yield line


def with_claims(by: Sequence[str]) -> list[str]:
    """Add, after a column of DNs, whether they are claimed: what somebody claims is not booked on the other one."""
    return [name for each in by for name in ((each, CLAIMED) if each == "dn" else (each,))]


def _value(column: str, line: Mapping[str, Any]) -> str:
    if column == CLAIMED:  # lines of a version before do not say: each DN was claimed
        return CLAIMED if line.get("dn_claimed", bool(line.get("dn"))) else ""
    return str(line.get(column) or "")


def totals(found: Iterable[Mapping[str, Any]], by: Iterable[str]) -> dict[tuple[str, ...], Total]:
    """Add up lines by the values of these columns, those with the most wall time first."""
    columns, added = [BY.get(each, each) for each in by], dict[tuple[str, ...], Total]()
    for line in found:
        values = tuple(_value(each, line) for each in columns)
        added[values] = added.get(values, Total()).plus(line)
    return dict(sorted(added.items(), key=lambda each: (-each[1].core_seconds, each[0])))
