"""Signals that end a site test: recorded when they come, and heeded where the test can clean up."""

from __future__ import annotations

import signal
from types import FrameType

from jim.errors import JimError


class Interrupted(JimError):
    """A signal has asked the test to end."""


class Interruption:
    """While this is entered, the usual signals are only recorded; `heed` raises `Interrupted` after one."""

    def __init__(self) -> None:
        self._noted = ""

    def __enter__(self) -> Interruption:
        each = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        # nohup, and a shell that starts a job in the background, ignore some signals: these stay ignored.
        heard = [one for one in each if signal.getsignal(one) not in (signal.SIG_IGN, None)]
        self._before = {one: signal.signal(one, self._note) for one in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self._noted and number == signal.SIGINT:  # a second Ctrl-C ends the test at once
            raise KeyboardInterrupt
        self._noted = self._noted or signal.Signals(number).name

    def heed(self) -> None:
        """Raise `Interrupted` if a signal has asked the test to end."""
        if self._noted:
            raise Interrupted(f"interrupted by {self._noted}")
