"""JIM's errors. Each carries the facts that a reader needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from jim.model import Answer, Kind

LONGEST_LIST = 240  # characters of known words
FEW = 5  # of a longer list
LONGEST_REASON = 500  # characters
LONGEST_FAULT = 500  # characters of what is stored of a fault


class JimError(Exception):
    """JIM cannot do what was asked."""

    exit_code = 1


class BadRequest(JimError):
    """A request that JIM can never accept as written.

    `about` is the wrong attribute, `part` the entry of its table; `told` names both.
    """

    exit_code = 2

    def __init__(self, words: str, about: str = "", part: str = "", *, told: str = "") -> None:
        self.words, self.about, self.part, self.told = words, about, part, told or about
        super().__init__(f"{self.told}: {words}" if self.told else words)


class Missing(BadRequest):
    """A request that lacks an attribute."""


class BadSite(JimError):
    """JIM cannot work with a site file, or with a place that it names."""

    exit_code = 3


class Outdated(BadSite):
    """A state directory that may be a copy, or older than its work directory: no keeper may use it."""


class Replaced(JimError):
    """JIM's own files were replaced while it ran. The next process has those of today."""


class UnknownJob(JimError):
    """This state directory has no job with this id."""

    exit_code = 4


class BatchError(JimError):
    """A batch command failed. The same command may succeed later, except after `Refused`."""

    exit_code = 5
    kind = Kind.NOT_NOW  # the kind of the reason that is stored
    answer: Answer | None = None  # the answer; the module that ran the command adds it


class Unclear(BatchError):
    """The answer proves nothing: the batch system may or may not have obeyed."""

    def __init__(self, message: str, kind: Kind = Kind.UNCLEAR) -> None:
        super().__init__(message)
        self.kind = kind


class NotStarted(BatchError):
    """The system could not start the batch command: the only proof that nothing was done."""

    kind = Kind.NOT_STARTED


class Full(BatchError):
    """A limit on jobs is reached. Others must end first, or fewer be submitted at once."""

    kind = Kind.TOO_MANY


class Refused(BatchError):
    """The batch system refused: the same command will never succeed."""

    kind = Kind.REFUSED


class StoreError(JimError):
    """The status DB could not do its work. JIM concludes nothing from this: work that is not stored is done again."""


class Busy(StoreError):
    """Another program has locked the status DB."""


class DiskFull(StoreError):
    """The disk of the status DB is full."""


class Away(StoreError):
    """The status DB is not readable or writable now: its disk is away, faulty or read-only."""


class Damaged(StoreError):
    """The contents of the status DB make no sense, so nobody can continue with it."""


class LogLost(StoreError):
    """The status DB's log of changes, `-wal`, was replaced while the keeper had it open: nothing more may be stored."""


class TooLong(StoreError):
    """A look into the status DB that was given up: it took longer than it may."""


class NotStorable(StoreError):
    """The status DB can never hold this value."""


class Unheard(JimError):
    """JIM has done the work, but could not write its output: stdout is closed or full."""

    exit_code = 74


def close_to(word: str, known: Iterable[str]) -> str:
    """Suggest the known word that `word` may have meant."""
    import difflib  # imported here: a door without a refusal does not need this module

    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def nearest(word: str, known: Iterable[str], lists: str = "") -> str:
    """Suggest the known word that `word` may have meant, and list the known words.

    Of a long list only the nearest words are named, with the command that `lists` all.
    """
    names = sorted(known)
    told = ", ".join(names)
    if len(told) > LONGEST_LIST:
        from difflib import get_close_matches  # imported here, as above

        some = get_close_matches(word, names, FEW, cutoff=0.3) or names[:FEW]
        by = f"; `{lists}` lists all" if lists else ""
        told = f"{', '.join(some)} and {len(names) - len(some):,} more{by}"
    return f"{close_to(word, names)} (known: {told})" if names else ""


def later(what: str) -> str:
    """Say that something is decided upon, and not there yet."""
    return f"later: this version of JIM does not have {what}"


def in_words(error: ValueError | OSError) -> str:
    """Return an error of a parser or of the system in words for people who write files, not programs."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeDecodeError):
        before = error.object[: error.start].decode(errors="replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        after = f", after {before[-40:]!r}," if before else ""
        return f"not a text file (line {line}, column {column}{after} is not UTF-8)"
    return "a number has more than 4,300 digits" if "int_max_str_digits" in str(error) else str(error)


def words_of(error: BaseException) -> str:
    """Return any error in words for a log: what it is about, and what is wrong."""
    if isinstance(error, JimError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return f"{type(error).__name__}: {error}"


def plain(text: object) -> str:
    """Return text as one line that neither a terminal nor a log takes for more; escape what is not printable."""
    words = str(text)
    return words if words.isprintable() else "".join(map(_plain_character, words))


def require_line(words: str, about: str = "reason", longest: int = LONGEST_REASON) -> str:
    """Return a text that people write, if it is one printable line."""
    if len(words) > longest or not words.isprintable():
        raise BadRequest(f"expected one line of at most {longest} characters", about)
    return words


def _plain_character(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def shown(value: object) -> str:
    """Return a value as its writer knows it, cut if it is long."""
    text = f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else _shown(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if hasattr(value, "isoformat") else repr(value)  # of TOML: a date or a time


class Fault(JimError):
    """Something that nobody expected has happened, in words that can be stored; its cause says where."""

    def __init__(self, cause: BaseException) -> None:
        words = words_of(cause).encode(errors="backslashreplace").decode()
        super().__init__(f"a fault in JIM: {words}"[:LONGEST_FAULT])
        self.__cause__ = cause


@contextmanager
def as_fault() -> Iterator[None]:
    """Turn what nobody expected into an error of JIM: else each keeper would end at it, one after the other."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError | JimError) and not isinstance(error, NotStorable):  # which comes again each time
            raise
        raise Fault(error) from error
