"""The parts of the keeper that a door may use in each round."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, MutableMapping
from typing import Any, Protocol, TypeVar

from jim.clock import Clock
from jim.site.file import Site
from jim.statusdb.contract import Store

T = TypeVar("T")


class Workers(Protocol):
    """The keeper's worker threads, for work that takes long."""

    def busy(self, name: Hashable, /) -> bool:
        """Tell whether work of this name is running."""

    def start(
        self,
        name: Hashable,
        task: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[BaseException], None],
        /,
    ) -> None:
        """Run `task` in a worker thread. The loop then calls `then` with the result, or `failed` with the exception."""


class Keeper(Protocol):
    """The parts of the keeper that a door may use."""

    @property
    def site(self) -> Site:
        """The settings of the site."""

    @property
    def store(self) -> Store:
        """The store of grid jobs; a door only reads it."""

    @property
    def clock(self) -> Clock:
        """The clock."""

    @property
    def workers(self) -> Workers:
        """The worker threads."""

    @property
    def answered(self) -> Mapping[int, bytes]:
        """Return the poll answers of all grid jobs that have not ended, of all doors, by number."""

    @property
    def paced(self) -> MutableMapping[Hashable, Any]:
        """The names of tries that wait; remove a name when it is no longer needed."""

    def pace(self, name: Hashable) -> bool:
        """Tell whether the next try of `name` is due, and count the try."""
