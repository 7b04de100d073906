"""Decides who may read the pages: only this account, by a token that works once and becomes a cookie."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jim.files import put_once
from jim.pages.peer import uid_of_peer

DAYS = 30  # length of a session
CONTROL_SECONDS = 12 * 3600  # the age of a session up to which it can control
RATE, BURST = 20.0, 60.0  # requests a second, and at once
MOST_CLIENTS = 1_000
AT_ONCE, AT_ONCE_IN_ALL = 2, 4  # large documents
LOOPBACK = re.compile(r"(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d{1,5})?", re.IGNORECASE | re.ASCII)
CONNECTION = "waitress.client_disconnected"  # a method of the request's connection
NOBODY = ""  # all requests without a session are one client


def key_of(state: Path) -> bytes:
    """Return the key that signs cookies; it is stored, so that a restart logs nobody out."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    return put_once(state / "pages.key", secrets.token_hex(32).encode())


@dataclass
class Access:
    """Sessions of one listener."""

    key: bytes
    port: int
    uid: int = field(default_factory=os.getuid)
    peer: Callable[[str, int, str, int], int | None] = uid_of_peer
    clock: Callable[[], float] = time.time
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    controls: bool = False  # whether the pages can do more than read
    _used: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def cookie(self) -> str:
        """Return the cookie's name, with the port: browsers send cookies to every port of a host."""
        return f"jim-{self.port}"

    def owner(self, address: str, port: int) -> int | None:
        """Return the uid at the other end of a connection; None if there is none to be found."""
        return self.peer(address, port, "127.0.0.1", self.port)

    def is_own_peer(self, environ: Mapping[str, object]) -> bool:
        """Tell whether the other end of the connection belongs to this account."""
        # A connection keeps its owner, and a search of the kernel's table takes milliseconds.
        owner = getattr(getattr(environ.get(CONNECTION), "__self__", None), "owner", None)
        return (self._owner(environ) if owner is None else owner) == self.uid

    def _owner(self, environ: Mapping[str, object]) -> int | None:
        try:
            return self.owner(str(environ["REMOTE_ADDR"]), int(str(environ["REMOTE_PORT"])))
        except (KeyError, ValueError):
            return None

    def through(self, environ: Mapping[str, object]) -> str:
        """Return nothing: all requests come from programs of this account."""
        return ""

    def is_own_host(self, host: str) -> bool:
        """Tell whether a request names this machine by its loopback name, with any port."""
        return LOOPBACK.fullmatch(host) is not None

    def session(self, cookie: str) -> str:
        """Return the session of a cookie; empty if the cookie is not ours or too old."""
        name, _, rest = cookie.partition(".")
        end, _, mac = rest.partition(".")
        if not hmac.compare_digest(mac.encode(), self._mac(name, end).encode()):
            return NOBODY
        return name if int(end) > self.clock() else NOBODY

    def is_fresh(self, cookie: str) -> bool:
        """Tell whether the session of a cookie of ours began lately enough to control."""
        end = cookie.split(".")[1]
        return self.clock() - (int(end) - DAYS * 86_400) < CONTROL_SECONDS

    def root(self, header: Callable[[str], str]) -> str:
        """Return the path of all pages: without a web server, the whole host."""
        return ""

    def origin(self, host: str, header: Callable[[str], str]) -> str:
        """Return the origin of the pages, as browsers name it."""
        return f"http://{host}"

    def begin(self, token: str) -> str:
        """Accept the token once; return the cookie of a new session, else an empty text."""
        with self._lock:
            if self._used or not hmac.compare_digest(token.encode(), self.token.encode()):
                return ""
            self._used = True
        return self.begun(secrets.token_hex(16))

    def begun(self, name: str) -> str:
        """Return the cookie of a session of this name."""
        end = str(int(self.clock()) + DAYS * 86_400)
        return f"{name}.{end}.{self._mac(name, end)}"

    def _mac(self, name: str, end: str) -> str:
        return hmac.new(self.key, f"{self.port} {name} {end}".encode(), "sha256").hexdigest()


class Rates:
    """The number of requests that each client may still make: a bucket that refills steadily."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, client: str) -> bool:
        """Take one request from the bucket; tell whether it had one."""
        with self._lock:
            now = self._clock()
            left, then = self._left.pop(client, (BURST, now))
            left = min(BURST, left + RATE * (now - then))
            self._left[client] = max(0.0, left - 1), now
            if len(self._left) > MOST_CLIENTS:
                del self._left[next(iter(self._left))]
            return left >= 1


class Large:
    """The number of large documents in the making: few at once, so that pages stay fast."""

    def __init__(self) -> None:
        self._lock, self._now = threading.Lock(), dict[str, int]()

    def begin(self, client: str) -> bool:
        """Begin a large document; tell whether it may be made now."""
        with self._lock:
            if self._now.get(client, 0) >= AT_ONCE or sum(self._now.values()) >= AT_ONCE_IN_ALL:
                return False
            self._now[client] = self._now.get(client, 0) + 1
            return True

    def end(self, client: str) -> None:
        """End one."""
        with self._lock:
            self._now[client] -= 1
            if not self._now[client]:
                del self._now[client]
