"""The parts of the keeper that a door may use in each round."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from typing import Any, Protocol

from jim.clock import Clock
from jim.errand import Errand
from jim.site.file import Site
from jim.statusdb.store import Store


class Workers(Protocol):
    """The keeper's worker threads, for work that takes long."""

    def start(self, errand: Errand[Any], /) -> float:
        """Do an errand beside the keeper's loop, unless it is under way, or put off because it has failed."""

    def pace(self, key: Hashable, /) -> bool:
        """Tell whether something may be done or said now, and put the next time off: longer each time."""

    def forget(self, key: Hashable, /) -> None:
        """Forget all failures of something, and how often it was said."""


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
        """What polls print of grid jobs that have not ended, of all doors, by their numbers."""

    @property
    def changed(self) -> Set[int]:
        """The grid jobs, of all doors, whose answer has changed since the last round; after a start, all open ones."""
