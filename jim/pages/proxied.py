"""Believes a web server on the other end of a Unix socket: who its user is, and where its users see the pages."""

from __future__ import annotations

import hmac
import re
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jim.errors import BadRequest, BadSite, in_words
from jim.files import read_regular
from jim.pages.access import CONNECTION, NOBODY
from jim.pages.tokens import Role
from jim.site.settings import Pages as Settings

SECRET, PROTO, PREFIX = "X-JIM-Proxy-Secret", "X-Forwarded-Proto", "X-Forwarded-Prefix"
SINGLE = ("host", "origin", "authorization", SECRET.lower(), PROTO.lower(), PREFIX.lower())
ROOT = re.compile(r"(?:/[\w.~-]+)*/?", re.ASCII)  # never the address of another site
LEAST_SECRET, LONGEST_SECRET = 16, 4096
LONGEST_USER = 200
PEER = struct.Struct("3i")  # pid, uid and gid of the other end
Header = Callable[[str], str]


def secret_of(settings: Settings) -> bytes:
    """Return the secret that the web server sends; empty if the site file names none."""
    if not settings.proxy_secret:
        return b""
    path = Path(settings.proxy_secret)
    try:
        if path.stat().st_mode & 0o077:
            raise BadSite(f"pages.proxy_secret: {path} may be read by others: make it `chmod 600`")
        secret = read_regular(path, LONGEST_SECRET).strip()
    except OSError as error:
        raise BadSite(f"pages.proxy_secret: {path} cannot be read: {in_words(error)}") from error
    if len(secret) < LEAST_SECRET:
        raise BadSite(f"pages.proxy_secret: {path} needs at least {LEAST_SECRET} characters: openssl rand -hex 32")
    return secret


@dataclass
class Proxied:
    """Users of a web server on the other end of a Unix socket, whom this server names.

    Whoever can connect to the socket is believed, so its mode and group decide about that. Only the web server knows
    the secret, without which nobody controls anything.
    """

    settings: Settings
    key: bytes = b""
    secret: bytes = b""
    cookie: str = "jim"

    @property
    def controls(self) -> bool:
        """Tell whether the pages can do more than read."""
        return self.settings.controls

    def is_own_peer(self, environ: Mapping[str, object]) -> bool:
        """Admit each connection: there is only the socket, and its mode has decided."""
        return True

    def through(self, environ: Mapping[str, object]) -> str:
        """Return the account whose program sent a request, for the log: it may be another one than the web server's."""
        connection = getattr(environ.get(CONNECTION), "__self__", None)
        if connection is None:
            return ""
        told = connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
        return f" through uid {PEER.unpack(told)[1]}"

    def is_own_host(self, host: str) -> bool:
        """Tell whether a request names a host of the web server."""
        return host.rpartition(":")[0] in self.settings.hosts or host in self.settings.hosts

    def session(self, cookie: str) -> str:
        """Return no session: the web server knows its users."""
        return NOBODY

    def is_fresh(self, cookie: str) -> bool:
        """Believe that the user has logged in lately: only the web server knows, whose secret stands for this."""
        return True

    def begin(self, token: str) -> str:
        """Begin no session."""
        return ""

    def begun(self, name: str) -> str:
        """Begin no session."""
        return ""

    def root(self, header: Header) -> str:
        """Return the path below which users see the pages; empty if that is the whole host."""
        prefix = header(PREFIX).strip()
        if not ROOT.fullmatch(prefix):
            raise BadRequest(f"{PREFIX} must be a path such as /alice, not {prefix[:80]!r}")
        return prefix.rstrip("/")

    def origin(self, host: str, header: Header) -> str:
        """Return the origin of the pages, as browsers name it."""
        return f"{header(PROTO).strip().lower() or 'https'}://{host}"

    def user(self, header: Header) -> tuple[str, Role | None]:
        """Return the user that the web server names, and the role; several users in one header are refused."""
        settings, user = self.settings, header(self.settings.user_header).strip()
        if "," in user or len(user) > LONGEST_USER or not user.isprintable():
            raise BadRequest(f"{settings.user_header} must name one user")
        if user == "*" or user.startswith("@"):  # the site file means everybody by that, or a group
            raise BadRequest(
                f"{settings.user_header} names no user: in the site file, {user[:80]!r} means more than one"
            )
        if not user:
            return NOBODY, None
        groups = (f"@{each.strip()}" for each in header(settings.groups_header).split(",") if each.strip())
        named = {user, "*", *groups}
        if named & {*settings.control}:
            return user, Role.CONTROL if self._knows_secret(header) else Role.LOOK
        allowed = {Role.LOOK: settings.look, Role.SEE: settings.see}
        return user, next((role for role, names in allowed.items() if named & {*names}), None)

    def _knows_secret(self, header: Header) -> bool:
        return bool(self.secret) and hmac.compare_digest(header(SECRET).encode(errors="replace"), self.secret)
