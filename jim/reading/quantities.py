"""Numbers, ages and sizes in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jim.evidence.exit_record import ExitRecord


UNITS = ("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)


def span(seconds: float) -> str:
    """Return a duration in words: the two largest units."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s".replace(".0 ", " ")
    left = round(seconds)
    words: list[str] = []
    for unit, size in UNITS:
        if left >= size or (words and left):
            words.append(f"{left // size} {unit}")
        left %= size
    return " ".join([word for word in words if not word.startswith("0 ")][:2])


def largest(seconds: float) -> str:
    """Return a duration in its largest unit, for narrow columns: 3 h."""
    whole = int(max(0.0, seconds))
    unit, size = next((each for each in UNITS if whole >= each[1]), UNITS[-1])
    return f"{whole // size} {unit}"


def ago(seconds: float) -> str:
    """Return an age in words; the seconds are whole ones, as in a browser that counts on."""
    return f"{span(int(seconds) if seconds < 10 else seconds)} ago"


def size_of(count: float) -> str:
    """Return a number of bytes in words."""
    if count == 1:
        return "1 byte"
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def number(value: float) -> str:
    """Return a measured number with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def counted(counts: Iterable[tuple[str, int]]) -> str:
    """Return counts of several things in words."""
    return ", ".join(f"{count:,} {word}" for word, count in counts)


def how_many(count: int, noun: str) -> str:
    """Return the number of one kind of thing in words."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def spent_words(spent: int, limit: int) -> str:
    """Write how many of the usual attempts were made: "2 of 3 spent"."""
    return f"{spent} of {limit} spent" if spent <= limit else f"{spent} spent: a rule allows more than {limit}"


def memory_words(record: ExitRecord | None, asked: Mapping[str, Any]) -> str:
    """Return how much memory an attempt was seen to use, of how much it had asked for."""
    used = "" if record is None or record.peak_mb is None else f"{record.peak_mb:,} MB"
    if used and record and record.sampled:
        used = f"{used} or more"
    limit = f"{asked['memory_mb']:,} MB" if asked.get("memory_mb") else ""
    return f"{used} of {limit}" if used and limit else used or (f"asked for {limit}" if limit else "")
