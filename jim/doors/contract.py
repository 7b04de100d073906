"""The contract of a door. A door is a folder of `jim/doors/`; its package has the name `DOOR`, a subclass of `Door`.

A gatekeeper chooses the door when it calls JIM. Each grid job remembers its door, so that the keeper writes poll
answers in the words of that door. Every submission loads this module, so it must stay small.
"""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from jim.errors import BadRequest, BadSite
from jim.model import Standing

if TYPE_CHECKING:
    from jim.doors.identity import Apart
    from jim.doors.keeping import Keeper
    from jim.site.file import Site
    from jim.site.realm import Realm

DEFAULT = "gram"  # for gatekeepers that name no door, and for grid jobs from older versions of JIM
Attributes = Mapping[str, Any]


class Told(NamedTuple):
    """The facts about a grid job that a door needs to write a poll answer."""

    number: int
    standing: Standing
    reason: str = ""  # for people: why the grid job did not complete
    exit_code: int | None = None  # only if the grid job has ended
    started: bool = False  # some local job has started, at some time
    progress: str = ""  # for people: one line, only if it has not ended; see `Door.progress_seconds`


class Places(TypedDict, total=False):
    """Where a gatekeeper takes the outputs of a grid job from: absolute paths, each of a file."""

    directory: str  # must exist, or nothing is placed; what is below may be made
    files: dict[str, str]  # by the names of the outputs, such as stdout; of a split grid job, those beside its tar
    tar: str  # of a split grid job
    progress: str  # of a split grid job: the line of progress, renewed while it has not ended


class Door(ABC):
    """The words of one gatekeeper. A subclass must define the first five methods; the others have useful defaults."""

    usage: Mapping[str, str] = {
        "submit": "usage: submit FILE (a request in TOML, JSON, JDF, JDL or RSL; prints the id of its grid job)",
        "cancel": "usage: cancel G (a grid job, such as 12) or G.n (a local job of it, such as 12.3)",
    }

    # Whether a submission after this door's own cancel of its key begins another grid job, the key's next generation.
    # Otherwise each submission with a known key is the same grid job.
    has_generations = False
    # Whether the door itself begins the next generation of a key (`generations.begin`), so a submission means the last.
    resumes = False
    # Whether the gatekeeper still takes the outputs of a grid job that it has cancelled itself.
    takes_cancelled = False
    # How often the keeper renews the line of progress of a running grid job; 0: polls show none.
    progress_seconds = 0.0

    def __init__(self, name: str) -> None:
        self.name = name  # name by which `door_of` finds the door again

    # Output for the gatekeeper

    @abstractmethod
    def accepted(self, number: int) -> bytes:
        """Return the output of a successful submission."""

    @abstractmethod
    def state(self, told: Told) -> bytes:
        """Return the output of a poll. The keeper stores it in advance, and replaces it when the state changes."""

    @abstractmethod
    def is_final(self, answer: bytes) -> bool:
        """Tell whether a poll answer says that the grid job has ended; an empty or foreign answer does not."""

    @abstractmethod
    def cancelled(self, answer: bytes) -> bytes:
        """Return the output of a cancel that JIM has accepted; `answer` is the current output of polls."""

    @abstractmethod
    def refused(self, verb: str, message: str, error: Exception) -> bytes:
        """Return the output of a command that failed; people see the message on stderr as well."""

    # Requests in a language of the door

    def read(self, file: Path, own: str) -> dict[str, Any]:
        """Read a request file; `own` is the directory of the site's own job types."""
        from jim import request  # most commands read no request

        return request.read(file, own)

    def reads(self, asked: Attributes) -> bool:
        """Tell whether the result of `read` is in the door's own language, not a plain request."""
        return False

    def attributes(self, asked: Attributes, own: str) -> dict[str, Any]:
        """Turn a request in the door's own language into attributes."""
        return dict(asked)

    @contextmanager
    def in_its_words(self, asked: Attributes) -> Iterator[None]:
        """Make refusals raised inside use the attribute names of the door's own language."""
        yield

    def require(self, asked: Attributes, site: Site) -> None:  # noqa: B027 - most doors refuse nothing more
        """Refuse a valid request that this site cannot serve through this door."""

    def apart(self, asked: Attributes) -> Apart:
        """Return the parts of a request in the door's own language that may differ when it is submitted again."""
        return {}

    def contact(self, asked: Attributes) -> str:
        """Return the gatekeeper's own name for the job of a request; empty if it has none."""
        return ""

    def dn(self, asked: Attributes) -> str:
        """Return the name of the sender, whom the gatekeeper has authenticated; empty if it does not tell JIM.

        What the sender could have written is no such name, as the subject of a proxy that was only handed over.
        """
        return ""

    def places(self, asked: Attributes) -> Places:
        """Return where the keeper must put the outputs before a poll says that the grid job has ended."""
        return {}

    def realm(self, asked: Attributes) -> Realm:
        """Return which files of this machine the sender of a request in the door's own language may name.

        Nobody checks what a gatekeeper's users write, and JIM reads files as the account that many of them share. So
        name only what the gatekeeper itself has made for this job.
        """
        from jim.site.realm import Realm

        places = self.places(asked)
        return Realm(below=(os.path.realpath(places["directory"]),)) if places else Realm()

    # Other work of the door

    def do(self, verb: str, words: Sequence[str], site: Site) -> tuple[bytes, str]:
        """Run another verb from `usage`. Return its output, and what was done, in case stdout cannot be written."""
        raise BadRequest(self.usage[verb])

    def expect(self, site: Site, key: str, file: Path) -> None:  # noqa: B027 - nor need they any note
        """Store what the keeper must know about a request, just before it is stored; repeating this changes nothing."""

    def tell(self, keeper: Keeper) -> None:  # noqa: B027 - nor more than the answers
        """Do the door's work in one round of the keeper. This must not wait: long work goes to worker threads."""

    def idle(self) -> bool:
        """Tell whether the door allows the keeper to end."""
        return True

    def untold(self, state: Path) -> bool:
        """Tell whether a state directory needs a keeper for this door although every grid job has finished."""
        return False


def door_of(name: str = "", own: str = "") -> Door:
    """Find a door: a folder of `jim/doors/`, or the dotted name of a class in `own`, the site's directory."""
    name = name or DEFAULT
    if "." in name:
        from jim.trust.plugins import foreign, function

        kind = function("the door", name, own)
        with foreign(f"cannot load the door {name!r}"):
            made: Door = kind(name)
            return made
    if not name.isidentifier():
        raise BadSite(f"there is no door {name!r}")
    try:
        found: type[Door] = importlib.import_module(f"jim.doors.{name}").DOOR
    except (ImportError, AttributeError) as error:
        raise BadSite(f"there is no door {name!r}: {error}") from error
    return found(name)
