"""A terminal that is painted again and again, and is left as it was."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from types import FrameType, TracebackType
from typing import Self

ENTER, LEAVE = (
    "\x1b[?1049h\x1b[?25l\x1b[?7l",
    "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l",
)  # another screen, no cursor, no wrap
CLEAR, TO_LINE, REST = "\x1b[2J", "\x1b[{};1H", "\x1b[K"
LEAVE_SECONDS = 0.5
USUAL = os.terminal_size((80, 24))
SIGNALLED = 128  # and the number of the signal: the exit code of who ends by it
CHANGED = ""  # no key: the size has changed, or it was somewhere else


class Gone(SystemExit):
    """The terminal is gone, or a signal ends this program: nothing is left to be told to anybody."""

    def __init__(self, number: int = signal.SIGHUP) -> None:
        super().__init__(SIGNALLED + number)


class Terminal:
    """The terminal of this program while it is inside `with`. It writes what has changed, in one go."""

    def __init__(self) -> None:
        self._out, self._keys = sys.stdout.fileno(), sys.stdin.fileno() if sys.stdin.isatty() else -1
        self.encoding = sys.stdout.encoding or "ascii"
        self._shown: Sequence[str] = ()
        self._size, self._before = USUAL, list[int | list[bytes | int]]()
        self._woken, self._wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._handlers = {
            signal.SIGTERM: self._end,
            signal.SIGHUP: self._end,
            signal.SIGTSTP: self._stop,
            signal.SIGWINCH: self._note,
        }

    def __enter__(self) -> Self:
        sys.stdout.flush()
        self._old = {number: signal.signal(number, handler) for number, handler in self._handlers.items()}
        self._old_wakes = signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        with ExitStack() as stack:
            stack.push(self)
            self._take()
            stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number in self._handlers:
            signal.signal(number, signal.SIG_IGN)  # a second one must not leave it half restored
        self._give_back()
        signal.set_wakeup_fd(self._old_wakes)
        for number, old in self._old.items():
            signal.signal(number, old)
        os.close(self._woken)
        os.close(self._wakes)

    def size(self) -> os.terminal_size:
        """Return columns and rows."""
        size = USUAL
        with suppress(OSError):
            size = os.get_terminal_size(self._out)
        return os.terminal_size((size.columns or USUAL.columns, size.lines or USUAL.lines))

    def paint(self, lines: Sequence[str], size: os.terminal_size) -> None:
        """Show these lines; only those that differ are written. None is as long as the terminal is wide."""
        parts, shown = list[str](), self._shown
        if size != self._size or not shown:
            parts, shown, self._size = [CLEAR], (), size
        for number in range(max(len(lines), len(shown))):
            new = lines[number] if number < len(lines) else ""
            if number >= len(shown) or shown[number] != new:
                parts.append(f"{TO_LINE.format(number + 1)}{new}{REST}")
        self._shown = lines
        if parts:
            self._write("".join(parts))

    def wait(self, seconds: float) -> str | None:
        """Wait for a key, and return it; None: the time is over. `CHANGED`: the screen has to be painted anew."""
        ready = select.poll()
        ready.register(self._woken, select.POLLIN)
        if self._keys >= 0:
            ready.register(self._keys, select.POLLIN)
        for descriptor, event in ready.poll(max(0, round(seconds * 1000))):
            if descriptor == self._woken:
                with suppress(BlockingIOError):
                    os.read(self._woken, 1024)
                return CHANGED
            return self._key(event)
        return None

    def _key(self, event: int) -> str:
        try:
            typed = os.read(self._keys, 1024)
        except OSError as error:
            raise Gone from error
        if not typed or event & (select.POLLERR | select.POLLNVAL):
            raise Gone
        return typed[:1].decode("ascii", "replace") if len(typed) == 1 else "?"  # an arrow is several bytes

    def _write(self, text: str) -> None:
        left = text.encode(self.encoding, "backslashreplace")
        try:
            while left:
                left = left[os.write(self._out, left) :]
        except OSError as error:
            raise Gone from error

    def _take(self) -> None:
        if self._keys >= 0:
            self._before = termios.tcgetattr(self._keys)
            tty.setcbreak(self._keys)
        self._shown = ()
        self._write(ENTER)

    def _give_back(self) -> None:
        """Put the terminal back; one that was stopped by Ctrl-S must not hold up the end."""
        with suppress(OSError, termios.error):
            if self._before:
                termios.tcsetattr(self._keys, termios.TCSANOW, self._before)
        ready = select.poll()
        ready.register(self._out, select.POLLOUT)
        if ready.poll(round(LEAVE_SECONDS * 1000)):
            with suppress(Gone):
                self._write(LEAVE)

    def _end(self, number: int, frame: FrameType | None) -> None:
        raise Gone(number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Let the signal wake who waits."""

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Stop at Ctrl-Z like any other program, and go on with a new screen."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # it goes on here
        signal.signal(number, self._stop)
        self._take()
