"""Makes and checks the tokens of forms: a page of another site, or of another session, cannot send a form."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable

GOOD_SECONDS = 3600.0


class Forms:
    """The tokens of forms, each for one client and one hour."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key, self._clock = key, clock

    def made(self, client: str) -> str:
        """Return a token for a form that this client gets."""
        now = str(int(self._clock()))
        return f"{now}.{self._mac(client, now)}"

    def wrong(self, token: str, client: str) -> str:
        """Return what is wrong with the token of a form; empty if the client got the form within the last hour."""
        made, _, mac = token.partition(".")
        if not hmac.compare_digest(mac.encode(errors="replace"), self._mac(client, made).encode()):
            return "it does not come from a page of this session"
        old = self._clock() - int(made) > GOOD_SECONDS
        return "its page was opened more than an hour ago" if old else ""

    def _mac(self, client: str, made: str) -> str:
        return hmac.new(self._key, f"form {made} {client}".encode(errors="replace"), "sha256").hexdigest()
