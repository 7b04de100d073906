"""Log lines that nobody can forge: whatever words strangers put into one, a line of a log stays one line."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, NamedTuple

from jim.errors import plain

FORM = "%(asctime)s %(levelname)s %(name)s %(message)s"
LEVELS = "DEBUG|INFO|WARNING|ERROR|CRITICAL"
TEXT = re.compile(rf"\S+ (?:\S+ )?({LEVELS}) \S+ (.*)")
# How a line begins that is about a grid job, in either form.
ABOUT = r'(?:\S+ \S+ \S+ \S+ |\{{"time": "[^"]*", "level": "[^"]*", "logger": "[^"]*", "message": "){}(?:\.\d+)?[: ]'
END = 64 * 1024  # bytes of a log that are read for its last line
DELETE = "\x7f"  # the one control character that JSON leaves as it is


class OneLine(logging.Formatter):
    """Escapes what is not printable in a message; the lines of a traceback stand below it, behind a margin."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        """Return the line of a record, without its traceback."""
        return plain(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - likewise
        """Return a traceback: each of its lines begins with a blank, as no line of a log does."""
        return "\n".join(f" {plain(line)}" for line in super().formatException(ei).split("\n"))


class JsonLine(logging.Formatter):
    """Writes a record as one JSON object, which is one line of ASCII; a traceback is a part of it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        traceback = self.formatException(record.exc_info) if record.exc_info else ""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return json_line(
            f"{at}.{int(record.msecs):03d}Z", record.levelname, record.name, record.getMessage(), traceback
        )


def json_line(at: str, level: str, logger: str, message: str, traceback: str = "") -> str:
    """Return a line of a log as JSON."""
    record = {"time": at, "level": level, "logger": logger, "message": message}
    return json.dumps(record | ({"traceback": traceback} if traceback else {})).replace(DELETE, "\\u007f")


class Line(NamedTuple):
    """A line of a log, as far as it says what happened; a line of a traceback has no level."""

    level: str
    message: str


def written(at: str, logger: str, line: Line, *, as_json: bool) -> str:
    """Return a line of a log, for who has no logger yet."""
    return json_line(at, line.level, logger, line.message) if as_json else f"{at} {line.level} {logger} {line.message}"


def end_of(log: IO[bytes]) -> str:
    """Return the last lines of a log; half a line could look like another one."""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - END))
    text = log.read().decode(errors="replace")
    return text.partition("\n")[2] if size > END else text


def lines_of(text: str) -> Iterator[Line]:
    """Read lines of a log, in either form; what a message quotes is no line of its own."""
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("{"):
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                record = json.loads(line)
                yield Line(str(record["level"]), plain(record["message"]))
                yield from (Line("", plain(each)) for each in str(record.get("traceback", "")).splitlines())
        elif found := TEXT.fullmatch(line):
            yield Line(found[1], found[2])
        else:
            yield Line("", line)


def is_json(text: str) -> bool:
    """Tell whether the last line of a log is JSON."""
    return text.rstrip("\n").rpartition("\n")[2].startswith("{")
