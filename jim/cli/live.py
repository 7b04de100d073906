"""jim status --live: one screen of a site, painted again and again."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from typing import Protocol

from jim.cli.live_screen import Line, fitted, lines
from jim.cli.terminal import CHANGED, Terminal
from jim.errors import BadRequest, JimError
from jim.reading.site.at_a_glance import ORDERS, Glance, glance
from jim.reading.view import look

LOOK_SECONDS = 2.0
SHARE = 0.02  # of a core
NOT_HERE = "--live paints a terminal again and again, and {}: say `jim status`, or `watch jim status`"
COLOUR = "\x1b[{}m{}\x1b[0m"


class Painted(Protocol):
    """A screen that can be painted, and waits for keys."""

    encoding: str

    def size(self) -> os.terminal_size:
        """Return columns and rows."""

    def paint(self, lines: list[str], size: os.terminal_size) -> None:
        """Show lines."""

    def wait(self, seconds: float) -> str | None:
        """Wait for a key."""


def run() -> int:
    """Show the site until somebody presses `q`."""
    if not sys.stdout.isatty():
        raise BadRequest(NOT_HERE.format("stdout is none"))
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown", ""):
        raise BadRequest(NOT_HERE.format("this one cannot (TERM)"))
    _look(next(iter(ORDERS)), 1)  # what is wrong from the beginning is told in plain words
    with Terminal() as terminal:
        Live(terminal, coloured=not os.environ.get("NO_COLOR")).show()
    return 0


class Live:
    """What is shown, in which order, and how often: reading and painting take at most a share of a core."""

    def __init__(self, screen: Painted, *, coloured: bool, cpu: Callable[[], float] = time.process_time) -> None:
        self._screen, self._coloured, self._cpu = screen, coloured, cpu
        self._orders, self._order, self._problem = list(ORDERS), 0, ""
        self._seen: Glance | None = None

    def show(self) -> None:
        """Look, paint and wait for keys, until one of them is `q`."""
        while True:
            began = self._cpu()
            self._look()
            self._paint()
            until = time.monotonic() + max(LOOK_SECONDS, (self._cpu() - began) / SHARE)
            while (key := self._screen.wait(max(0.0, until - time.monotonic()))) not in (None, "s"):
                if key == "q":
                    return
                if key == CHANGED:
                    self._paint()
            if key == "s":
                self._order = (self._order + 1) % len(self._orders)

    def _look(self) -> None:
        """Read all anew; what cannot be read now is shown as it was."""
        try:
            self._seen, self._problem = _look(self._orders[self._order], self._screen.size().lines), ""
        except (JimError, OSError) as error:
            self._problem = f"shown is what was so before: {error}"

    def _paint(self) -> None:
        size = self._screen.size()
        if self._seen:
            whole = lines(self._seen, self._orders[self._order], size.columns - 1, size.lines, self._problem)
            self._screen.paint([self._text(each, size.columns - 1) for each in whole], size)

    def _text(self, line: Line, columns: int) -> str:
        text = fitted(line.text, columns, self._screen.encoding)
        return COLOUR.format(line.code, text) if line.code and self._coloured else text


def _look(order: str, most: int) -> Glance:
    view = look()
    with closing(view.store), view.store.snapshot():
        return glance(view, order, most)
