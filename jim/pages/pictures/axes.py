"""The axes of charts: round numbers and round times, and where they stand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

MOST_STEPS = 4  # of counts, from nothing to the top
MOST_TIMES = 6  # as many have room on a phone
HOUR, DAY = 60, 24 * 60  # minutes
PACES = (1, 2, 5, 10, 15, 30, *(HOUR * each for each in (1, 2, 3, 6, 12)), *(DAY * each for each in (1, 2, 7, 14, 28)))
FEWEST = 15  # steps of time that a chart is wide: one bar alone would look like a wall


class Tick(NamedTuple):
    """A mark on an axis: where, as a share of its length, and its words."""

    share: float
    words: str
    at: str = ""  # the time, as stored


def top_of(most: int) -> int:
    """Return the round number at the top of a chart of counts."""
    step = _step(most)
    return step * max(1, -(-most // step))


def counts(most: int) -> list[Tick]:
    """Return the marks of counts, from none to the round number at the top."""
    step, top = _step(most), top_of(most)
    return [Tick(each / top, short(each)) for each in range(0, top + 1, step)]


def _step(most: int) -> int:
    """Return the least of 1, 2, 5, 10, 20 and so on that is not too small for so many marks."""
    step = 1
    while most > MOST_STEPS * step:
        step = step // 2 * 5 if str(step)[0] == "2" else step * 2
    return step


def tenfold(most: int) -> list[int]:
    """Return 1, 10, 100 and so on up to the highest count, for a chart in which each tenfold is as high."""
    return [10**power for power in range(len(str(max(1, most))))]


def short(count: int) -> str:
    """Return a count in few letters."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size and count % (size // 10) == 0:
            return f"{count / size:g}{letter}"
    return f"{count:,}"


def times(begin: str, minutes: int) -> list[Tick]:
    """Return the marks of round times from a time on, in UTC."""
    first = int(datetime.fromisoformat(f"{begin[:16]}:00+00:00").timestamp()) // 60
    pace = next((each for each in PACES if minutes <= MOST_TIMES * each), 0) or _years(minutes)
    marks = range(-(-first // pace) * pace, first + minutes + 1, pace)
    return [Tick((each - first) / minutes, _words(each, pace), _as_stored(each)) for each in marks]


def _years(minutes: int) -> int:
    """Return a pace for what took very long."""
    return PACES[-1] * -(-minutes // (MOST_TIMES * PACES[-1]))


def _words(minute: int, pace: int) -> str:
    then = datetime.fromtimestamp(60 * minute, tz=UTC)
    if pace > 7 * DAY:
        return then.strftime("%Y-%m-%d")
    return f"{then.day} {then:%b}" if minute % DAY == 0 else then.strftime("%H:%M")


def _as_stored(minute: int) -> str:
    return datetime.fromtimestamp(60 * minute, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
