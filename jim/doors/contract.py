"""What every door says and may do. A door is a folder of `jim/doors/` whose package has a `DOOR`, a class of these.

A gatekeeper names the door that it calls. Each grid job remembers its door, so that the keeper writes what polls print
in the words of that door. This is loaded at every submission: it stays light.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jim import request
from jim.errors import BadRequest, BadSite
from jim.model import Standing

if TYPE_CHECKING:
    from jim.doors.identity import Apart
    from jim.doors.keeping import Keeper
    from jim.site.file import Site

DEFAULT = "gram"  # if a gatekeeper names no door; also the door of all that an older version of JIM has taken in
Attributes = Mapping[str, Any]


class Told(NamedTuple):
    """What a door is told of a grid job, to write what its polls print."""

    number: int
    standing: Standing
    reason: str = ""  # for people: why the grid job did not complete
    exit_code: int | None = None  # of a grid job that has ended


class Door(ABC):
    """The words of one gatekeeper. Only the first five methods must be written; the others do nothing more."""

    usage: Mapping[str, str] = {
        "submit": "usage: submit FILE (a request in TOML, JSON, JDF or RSL; prints the id of its grid job)",
        "cancel": "usage: cancel G (a grid job, such as 12) or G.n (a local job of it, such as 12.3)",
    }

    def __init__(self, name: str) -> None:
        self.name = name  # by which `door_of` finds it again

    # What it says

    @abstractmethod
    def accepted(self, number: int) -> bytes:
        """Write what a submission prints."""

    @abstractmethod
    def state(self, told: Told) -> bytes:
        """Write what a poll prints: written in advance, replaced when it changes."""

    @abstractmethod
    def is_final(self, answer: bytes) -> bool:
        """Tell whether what a poll prints says that the grid job has ended; of an empty answer, or other words: no."""

    @abstractmethod
    def cancelled(self, answer: bytes) -> bytes:
        """Write what a cancel prints that was taken in, while polls print this answer."""

    @abstractmethod
    def refused(self, verb: str, message: str, error: Exception) -> bytes:
        """Write what any verb prints that has failed; people read the message on stderr besides."""

    # How it reads requests that are in a language of its own

    def read(self, file: Path, own: str) -> dict[str, Any]:
        """Read a file that was handed in; `own` is the directory of the site's own job types."""
        return request.read(file, own)

    def reads(self, asked: Attributes) -> bool:
        """Tell whether what was read is in the door's own language, and no plain request."""
        return False

    def attributes(self, asked: Attributes, own: str) -> dict[str, Any]:
        """Give the attributes of a request for what is in the door's own language."""
        return dict(asked)

    @contextmanager
    def in_its_words(self, asked: Attributes) -> Iterator[None]:
        """Let a refusal in here name an attribute by the word of the door's own language."""
        yield

    def require(self, asked: Attributes, site: Site) -> None:  # noqa: B027 - most doors refuse nothing more
        """Refuse a good request that this site could not serve through this door."""

    def apart(self, asked: Attributes) -> Apart:
        """Name what may differ if the same submission comes again, of what is in the door's own language."""
        return {}

    # What else it does

    def do(self, verb: str, words: Sequence[str], site: Site) -> tuple[bytes, str]:
        """Do another verb of `usage`; return what is printed and, should nobody hear it, what was done."""
        raise BadRequest(self.usage[verb])

    def expect(self, site: Site, key: str, file: Path) -> None:  # noqa: B027 - nor need they any note
        """Note what the keeper needs to know of a request that is about to be stored; done again, does the same."""

    def tell(self, keeper: Keeper) -> None:  # noqa: B027 - nor more than the answers
        """Do what this door has to do in each round of the keeper. Never wait: the keeper has workers for that."""

    def idle(self) -> bool:
        """Tell whether the keeper may end, as far as `tell` knows."""
        return True

    def untold(self, state: Path) -> bool:
        """Tell whether a state directory needs a keeper for this door alone, though no grid job is unfinished."""
        return False


def door_of(name: str = "", own: str = "") -> Door:
    """Find a door: a folder of `jim/doors/`, or the dotted name of a class in `own`, the site's directory."""
    name = name or DEFAULT
    if "." in name:
        from jim.plugins import foreign, function

        kind = function("the door", name, own)
        with foreign(f"the door {name!r} cannot be opened"):
            made: Door = kind(name)
            return made
    if not name.isidentifier():
        raise BadSite(f"there is no door {name!r}")
    try:
        found: type[Door] = importlib.import_module(f"jim.doors.{name}").DOOR
    except (ImportError, AttributeError) as error:
        raise BadSite(f"there is no door {name!r}: {error}") from error
    return found(name)
