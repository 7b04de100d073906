"""Runs the process of the pages: one listener on loopback, for one person."""

from __future__ import annotations

import ctypes
import getpass
import os
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import create_server
from waitress.task import WSGITask

from jim.errors import BadSite
from jim.pages.access import Access, key_of
from jim.pages.app import Pages, make_app
from jim.pages.proxied import SINGLE, Proxied, secret_of
from jim.reading.site.accounts import Accounts
from jim.reading.view import look
from jim.site.file import Site

THREADS = 8
CONNECTIONS = 1_000
MOST_OWN = 32  # connections of the account itself, over TCP
RESET = struct.pack("ii", 1, 0)  # of SO_LINGER: leave nothing of a closed connection in the kernel's table
IDLE_SECONDS = 60  # after so long without progress a connection is closed
M_ARENA_MAX = -8  # of mallopt, in malloc.h
SEND_SECONDS = 10.0  # the longest time for a request to arrive
LONGEST_HEADER, LONGEST_BODY = 32 * 1024, 64 * 1024


class Task(WSGITask):  # type: ignore[misc]
    """A request whose connection stays open after 304, as most polls are answered: a new one takes milliseconds."""

    def set_close_on_finish(self) -> None:
        """Close the connection, unless waitress only does so because a 304 has no length."""
        asked = self.version != "1.1" or self.request.headers.get("CONNECTION", "").lower() == "close"
        if asked or not self.status.startswith("304"):
            super().set_close_on_finish()


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """A request in which the headers that decide about access occur once: two could mean two things."""

    single: frozenset[str] = frozenset(SINGLE)

    def parse_header(self, header_plus: bytes) -> None:
        """Read the head of a request."""
        names = Counter(line.partition(b":")[0].strip().lower().decode("latin-1") for line in header_plus.split(b"\n"))
        if twice := [each for each in self.single if names[each] > 1]:
            raise ParsingError(f"more than one header {min(twice)}")
        super().parse_header(header_plus)


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection with a time limit for requests: one sent byte by byte could keep its place for ever."""

    task_class, parser_class = Task, Parser
    owner: int | None = None  # the uid at the other end of a connection over TCP

    def __init__(self, *told: Any, **more: Any) -> None:
        self._begun = time.monotonic()
        super().__init__(*told, **more)

    def received(self, data: bytes) -> bool:
        """Take in a part of a request."""
        whole = bool(super().received(data))
        if self.request is None:
            self._begun = 0.0
        elif not self._begun:
            self._begun = time.monotonic()
        return whole

    def readable(self) -> bool:
        """Tell whether to read more; called at least once a second."""
        if self._begun and time.monotonic() - self._begun > SEND_SECONDS:
            self.will_close = True
        return bool(super().readable())


@dataclass
class Serving:
    """A listener that serves the pages of a state directory."""

    server: Any
    access: Any

    @property
    def port(self) -> int:
        """Return the port."""
        return int(self.access.port)

    @property
    def url(self) -> str:
        """Return the address that works once."""
        return f"http://127.0.0.1:{self.port}/?token={self.access.token}"

    @property
    def tunnel(self) -> str:
        """Return the ssh command that makes the pages available on another machine."""
        full = socket.getfqdn()  # on some machines, /etc/hosts has localhost before the name
        host = socket.gethostname() if not full or full.startswith("localhost") else full
        return f"ssh -L {self.port}:127.0.0.1:{self.port} {getpass.getuser()}@{host}"

    def run(self) -> None:
        """Serve until interrupted."""
        share_memory()
        self.server.run()

    def close(self) -> None:
        """End it."""
        self.server.close()


def share_memory() -> None:
    """Let all threads allocate from one arena: with one for each, as glibc has them, much freed memory stays unused."""
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


Wake = Callable[[Path], None]  # calls the keeper of a state directory


def nobody(_: Path) -> None:
    """Call nobody: the keeper looks a moment later."""


def serve(site: Site, port: int = 0, wake: Wake = nobody, accounts: Accounts | None = None) -> Serving:
    """Listen on loopback; port 0 is a free one. With accounts, serve the page over the whole site."""
    key = key_of(site.state)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        raise
    access = Access(key, listener.getsockname()[1], os.getuid(), controls=site.pages.controls)
    return _serving(listener, Pages(access, look, wake, accounts))


def serve_at(site: Site, path: Path, wake: Wake = nobody, accounts: Accounts | None = None) -> Serving:
    """Listen on a Unix socket, for the web server whose group the socket or its directory has."""
    if not site.pages.hosts:
        raise BadSite("`jim pages --socket` needs [pages] hosts in the site file: the names of the web server")
    access = Proxied(site.pages, key_of(site.state), secret_of(site.pages))
    return _serving(_at(path), Pages(access, look, wake, accounts))


def _at(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket():
            path.unlink()
        was = os.umask(0o117)  # it must not be open to all for a moment
        try:
            listener.bind(str(path))
        finally:
            os.umask(was)
    except OSError:
        listener.close()
        raise
    return listener


def _serving(listener: socket.socket, pages: Pages) -> Serving:
    proxied = isinstance(pages.access, Proxied)
    server = create_server(
        make_app(pages),
        sockets=[listener],
        threads=THREADS,
        connection_limit=CONNECTIONS,
        channel_timeout=IDLE_SECONDS,
        cleanup_interval=5,
        asyncore_use_poll=True,
        asyncore_loop_timeout=1,
        max_request_header_size=LONGEST_HEADER,
        max_request_body_size=LONGEST_BODY,
        ident="jim",
        clear_untrusted_proxy_headers=not proxied,  # over TCP anybody could have sent them
    )
    access = pages.access
    server.channel_class = _channel(access) if isinstance(access, Proxied) else partial(_accepted, access)
    return Serving(server, access)


def _accepted(
    access: Access, server: Any, connection: socket.socket, address: tuple[str, int], *more: Any, **named: Any
) -> None:
    """Keep a connection of this account; close one of anybody else before it takes a place or a thread."""
    owner = access.owner(*address)
    if owner == access.uid and _has_room(server):
        Channel(server, connection, address, *more, **named).owner = owner
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()


def _has_room(server: Any) -> bool:
    """Tell whether there is a place for one more connection; the one that has been idle longest gives its place."""
    there = [each for each in server.active_channels.values() if not each.will_close]
    if len(there) < MOST_OWN:
        return True
    idle = [each for each in there if not each.requests and not each.total_outbufs_len]
    if idle:
        min(idle, key=lambda each: float(each.last_activity)).will_close = True
    return bool(idle)


def _channel(access: Proxied) -> type[Channel]:
    """Return the kind of connection in which the headers of this site's web server occur once, too."""
    named = {access.settings.user_header.lower(), access.settings.groups_header.lower()}
    parser = type("SiteParser", (Parser,), {"single": Parser.single | named})
    return type("SiteChannel", (Channel,), {"parser_class": parser})
