"""What the keeper lends to a door for its work in each round."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, MutableMapping
from typing import Any, Protocol, TypeVar

from jim.clock import Clock
from jim.site.file import Site
from jim.statusdb.contract import Store

T = TypeVar("T")


class Workers(Protocol):
    """Threads for what takes long."""

    def busy(self, name: Hashable, /) -> bool:
        """Tell whether work of this name is under way."""

    def start(
        self,
        name: Hashable,
        task: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[BaseException], None],
        /,
    ) -> None:
        """Do `task` beside the keeper's loop; the loop gets its result by `then`, or what it raised by `failed`."""


class Keeper(Protocol):
    """What a door may use of the keeper."""

    @property
    def site(self) -> Site:
        """The settings of the site."""

    @property
    def store(self) -> Store:
        """What is known of grid jobs; a door only reads it."""

    @property
    def clock(self) -> Clock:
        """The clock."""

    @property
    def workers(self) -> Workers:
        """What does what takes long."""

    @property
    def answered(self) -> Mapping[int, bytes]:
        """What polls print of grid jobs that have not ended, of all doors, by their numbers."""

    @property
    def paced(self) -> MutableMapping[Hashable, Any]:
        """The tries of which the next one is put off, by their names: to forget a name that is done with."""

    def pace(self, name: Hashable) -> bool:
        """Tell whether the next try of `name` is due, and count it as made."""
