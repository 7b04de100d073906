"""The bell: a socket in the state directory by which doors call the keeper to its inbox.

A lost call costs only a moment: the request or wish lies in the inbox.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

from jim.keeper.waking import BELL, ring

log = logging.getLogger(__name__)


class Bell:
    """The keeper's end of the bell. Only users who may write into the state directory can ring."""

    def __init__(self, state: Path, heard: Callable[[], None]) -> None:
        self._state, self._heard, self._over = state, heard, False
        self.hangs = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._hang()
        except OSError as error:  # not every file system supports sockets
            log.info("doors cannot call the keeper (%s): the inbox is looked at often instead", error)
            return
        self.hangs = True
        self._ear = Thread(target=self._listen, name="bell", daemon=True)
        self._ear.start()

    def _hang(self) -> None:
        (self._state / BELL).unlink(missing_ok=True)  # left by a keeper that was killed
        place = os.open(self._state, os.O_PATH | os.O_DIRECTORY)
        try:
            self._socket.bind(f"/proc/self/fd/{place}/{BELL}")  # the path of a socket must be short
        finally:
            os.close(place)

    def _listen(self) -> None:
        while not self._over:
            with suppress(OSError):
                self._socket.recv(1)
            self._heard()

    def close(self) -> None:
        """Close and remove the bell."""
        self._over = True
        if self.hangs:
            ring(self._state)
            self._ear.join(1.0)
            with suppress(OSError):  # the state directory may have been moved
                (self._state / BELL).unlink(missing_ok=True)
        self._socket.close()
