"""Log lines that nobody can forge: whatever words strangers put into one, a line of a log stays one line."""

from __future__ import annotations

import logging
from typing import Any

from jim.errors import plain


class OneLine(logging.Formatter):
    """Escapes what is not printable in a message; the lines of a traceback stand below it, behind a margin."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        """Return the line of a record, without its traceback."""
        return plain(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - likewise
        """Return a traceback: each of its lines begins with a blank, as no line of a log does."""
        return "\n".join(f" {plain(line)}" for line in super().formatException(ei).split("\n"))
