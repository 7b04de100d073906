"""Signals that ask a site test to end: noted when they come, and heeded where it can clean up."""

from __future__ import annotations

import signal
from types import FrameType

from jim.errors import JimError


class Interrupted(JimError):
    """A signal has asked the test to end."""


class Interruption:
    """While this is entered, the usual signals only leave a note; `heed` raises once there is one."""

    def __init__(self) -> None:
        self._noted = ""

    def __enter__(self) -> Interruption:
        each = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        # nohup, and a shell that starts a job in the background, have some ignored: so they stay.
        heard = [one for one in each if signal.getsignal(one) not in (signal.SIG_IGN, None)]
        self._before = {one: signal.signal(one, self._note) for one in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self._noted and number == signal.SIGINT:  # whoever presses Ctrl-C again will not wait
            raise KeyboardInterrupt
        self._noted = self._noted or signal.Signals(number).name

    def heed(self) -> None:
        """Raise if the test was asked to end."""
        if self._noted:
            raise Interrupted(f"interrupted by {self._noted}")
