"""A program on a terminal of its own: what it paints is seen as a picture, and keys are pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

HOME = Path(__file__).parents[2]
SECONDS = 20.0
# Its session gets this terminal, so that keys such as Ctrl-C send signals.
OWN = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
PART = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|([^\x1b]+)|(\x1b)", re.DOTALL)


class Picture:
    """What a terminal shows; it knows the commands that JIM uses, and refuses all others."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.lines = [" " * columns] * rows
        self.at = 0, 0
        self.modes: dict[str, bool] = {}
        self.coloured = False

    def feed(self, text: str) -> None:
        """Take in what a program has written."""
        for private, numbers, command, plain, odd in PART.findall(text):
            assert not odd, "half a command, or one that is not known"
            if plain:
                self._write(plain)
            else:
                self._obey(private, numbers, command)

    def _obey(self, private: str, numbers: str, command: str) -> None:
        row, column = self.at
        if private:
            self.modes[numbers] = command == "h"
            assert command in "hl"
        elif command == "J":
            assert numbers == "2"
            self.lines = [" " * self.columns] * self.rows
        elif command == "H":
            first, second = map(int, numbers.split(";"))
            self.at = first - 1, second - 1
            assert first <= self.rows, "below the screen"
        elif command == "K":
            self.lines[row] = self.lines[row][:column].ljust(self.columns)
        else:
            assert command == "m"
            self.coloured |= numbers not in ("", "0")

    def _write(self, text: str) -> None:
        if not self.modes.get("1049"):  # the screen of the shell
            return
        row, column = self.at
        assert text.isprintable(), text
        assert column + len(text) < self.columns, "the last column stays free: where it ends, terminals differ"
        self.lines[row] = (self.lines[row][:column] + text + self.lines[row][column + len(text) :])[: self.columns]
        self.at = row, column + len(text)

    def __str__(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)


class OnTerminal:
    """A program that runs on a terminal."""

    def __init__(self, code: str, columns: int = 80, rows: int = 24, more: Mapping[str, str] | None = None) -> None:
        self.keys, slave = pty.openpty()
        self.resize(columns, rows, tell=False)
        self.picture, self.written = Picture(columns, rows), ""
        self.before = termios.tcgetattr(slave)
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        environment = {**kept, "PYTHONPATH": str(HOME), "TERM": "xterm", "LC_ALL": "C.UTF-8", **(more or {})}
        command = [sys.executable, "-P", "-s", "-c", OWN + code]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )
        self._slave = slave

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for each in (self.keys, self._slave):
            with suppress(OSError):
                os.close(each)

    def resize(self, columns: int, rows: int, *, tell: bool = True) -> None:
        """Change the size of the terminal."""
        if tell:
            self.picture.columns, self.picture.rows = columns, rows
        fcntl.ioctl(self.keys, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self.keys, keys.encode())

    def until(self, words: str) -> str:
        """Wait until words stand on the screen, and return what was written meanwhile."""
        return self._read(lambda: words in str(self.picture))

    def ended(self) -> int:
        """Wait for the end, and return the exit code."""
        self._read(lambda: self.process.poll() is not None)
        self._take(0.1)
        return self.process.wait()

    def is_as_before(self) -> bool:
        """Tell whether the terminal is as the program has found it."""
        modes = self.picture.modes
        usual = (modes["1049"], modes["25"], modes["7"]) == (False, True, True)
        return usual and termios.tcgetattr(self._slave) == self.before

    def _read(self, is_there: Callable[[], bool]) -> str:
        until, begin = time.monotonic() + SECONDS, len(self.written)
        while not is_there():
            assert time.monotonic() < until, f"still:\n{self.picture}\n{self.written[-2000:]!r}"
            self._take(0.05)
        return self.written[begin:]

    def _take(self, seconds: float) -> None:
        if select.select([self.keys], [], [], seconds)[0]:
            with suppress(OSError):
                text = os.read(self.keys, 1 << 20).decode()
                self.written += text
                self.picture.feed(text)


def call(*words: str) -> str:
    """Return a program that runs `jim`."""
    return f"import sys; from jim.cli import main; sys.exit(main({list(words)!r}))"
