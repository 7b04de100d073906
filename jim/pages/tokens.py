"""Tokens of the account, with which programs and other browsers may read the pages.

The state directory keeps a digest of each token, never the token.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from jim.errors import BadRequest, BadSite, JimError
from jim.files import read_regular, replace_durably

MOST, MOST_DAYS = 1_000, 3_650
LONGEST = 1024 * 1024
NAME = 8  # characters of a name


class Role(StrEnum):
    """What somebody may see."""

    SEE = "see"  # states, reasons, hosts and maps
    LOOK = "look"  # also requests, arguments, logs, outputs and published XML
    CONTROL = "control"  # also cancel, retry and so on, if the site file allows controls


class Token(NamedTuple):
    """One token, without its secret."""

    name: str
    role: Role
    digest: str
    until: float  # seconds since 1970


class Tokens:
    """The tokens of a state directory."""

    def __init__(self, state: Path, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = state / "pages.tokens", clock

    def made(self, role: str, days: float) -> tuple[Token, str]:
        """Make a token; return it with its secret, which nobody can read again."""
        if role not in {*Role}:
            raise BadRequest(f"there is no role {role!r}: say {', '.join(Role)}")
        if not 0 < days <= MOST_DAYS:
            raise BadRequest(f"--days takes a number above 0, up to {MOST_DAYS:,}, not {days:g}")
        known = self.listed()
        if len(known) >= MOST:
            raise BadRequest(f"there are {MOST:,} tokens already; revoke some")
        name, secret = secrets.token_hex(NAME // 2), secrets.token_hex(16)
        token = Token(name, Role(role), _digest(secret), self._clock() + days * 86_400)
        self._write([*known, token])
        return token, f"{name}{secret}"

    def listed(self) -> list[Token]:
        """Return the tokens that are still good."""
        try:
            told = json.loads(read_regular(self._file, LONGEST))
            found = [Token(str(name), Role(role), str(digest), float(until)) for name, role, digest, until in told]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, JimError) as error:
            raise BadSite(f"{self._file} cannot be read: {error}; remove the file to revoke all tokens") from error
        return [each for each in found if each.until > self._clock()]

    def revoke(self, name: str) -> None:
        """Forget a token, and with it all sessions that it began."""
        known = self.listed()
        if name not in {each.name for each in known}:
            raise BadRequest(f"there is no token {name!r}; `jim pages token --list` lists them")
        self._write([each for each in known if each.name != name])

    def named(self, name: str) -> Token | None:
        """Return a token that is still good; a file that cannot be read lets nobody in."""
        with suppress(BadSite):
            return next((each for each in self.listed() if each.name == name), None)
        return None

    def of(self, text: str) -> Token | None:
        """Return the token of name and secret; None for any other text."""
        found = self.named(text[:NAME])
        same = found is not None and hmac.compare_digest(found.digest, _digest(text[NAME:]))
        return found if same else None

    def _write(self, tokens: Sequence[Token]) -> None:
        replace_durably(self._file, json.dumps(tokens).encode())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="backslashreplace")).hexdigest()
