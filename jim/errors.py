"""The few errors of JIM. Each carries the facts that a reader needs to act."""

from __future__ import annotations

from collections.abc import Iterable

from jim.model import Answer, Kind


class JimError(Exception):
    """Anything JIM has to say that stops what was asked for."""

    exit_code = 1


class BadRequest(JimError):
    """A request that can never be accepted as written.

    `about` is the attribute that is at fault, and `part` what of its table; `told` is what both are called.
    """

    exit_code = 2

    def __init__(self, words: str, about: str = "", part: str = "", *, told: str = "") -> None:
        self.words, self.about, self.part, self.told = words, about, part, told or about
        super().__init__(f"{self.told}: {words}" if self.told else words)


class BadSite(JimError):
    """A site file, or the place it describes, that JIM cannot work with."""

    exit_code = 3


class Outdated(BadSite):
    """A state directory that may be a copy, or older than its work directory: no keeper may go on with it."""


class UnknownJob(JimError):
    """An id that this state directory does not know."""

    exit_code = 4


class BatchError(JimError):
    """A batch command that did not do what was asked. The same command may succeed later, unless it was refused."""

    exit_code = 5
    kind = Kind.NOT_NOW  # of the reason that this is, where it is stored
    answer: Answer | None = None  # that says so: whoever has run the command adds it


class Unclear(BatchError):
    """An answer that proves nothing: the command may or may not have been obeyed."""

    def __init__(self, message: str, kind: Kind = Kind.UNCLEAR) -> None:
        super().__init__(message)
        self.kind = kind


class NotStarted(BatchError):
    """A batch command that the system could not start: the one proof that nothing was done."""

    kind = Kind.NOT_STARTED


class Full(BatchError):
    """The batch system says that a limit on jobs is reached. Others must end first, or fewer be sent at once."""

    kind = Kind.TOO_MANY


class Refused(BatchError):
    """The batch system's plain no: it says that the same call will never succeed."""

    kind = Kind.REFUSED


class StoreError(JimError):
    """The status DB did not do what was asked. Nothing may be judged by that: what is not stored is done again."""


class Busy(StoreError):
    """Another program has locked the status DB."""


class DiskFull(StoreError):
    """The disk of the status DB is full."""


class Away(StoreError):
    """The status DB cannot be read or written just now: its disk is away, fails, or can only be read."""


class Damaged(StoreError):
    """What is in the status DB makes no sense: nobody can go on from it."""


class TooLong(StoreError):
    """A look into the status DB that was given up: it took longer than it may."""


class NotStorable(StoreError):
    """A value of a kind that the status DB cannot hold: it never will."""


class Unheard(JimError):
    """Something that was done, or found out, and could not be said: stdout is closed or full."""

    exit_code = 74


def close_to(word: str, known: Iterable[str]) -> str:
    """Say which known word `word` may have meant."""
    import difflib  # a door that has nothing to complain about need not load it

    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which known word `word` may have meant, and list the known ones."""
    names = sorted(known)
    return f"{close_to(word, names)} (known: {', '.join(names)})" if names else ""


def in_words(error: ValueError | OSError) -> str:
    """Say what a parser, or the system, means to who writes files, and no programs."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeDecodeError):
        before = error.object[: error.start].decode(errors="replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return f"not a text file (line {line}, column {column}, after {before[-40:]!r}, is no UTF-8)"
    return "a number has more than 4,300 digits" if "int_max_str_digits" in str(error) else str(error)


def shown(value: object) -> str:
    """Give a value as who wrote it knows it, cut where it is long."""
    text = f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else _shown(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _shown(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)
