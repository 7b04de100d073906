"""The parts of the keeper that tasks use."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol

from jim.clock import Clock
from jim.errand import Errand
from jim.site.file import Site
from jim.statusdb.store import Store

BUSY_SECONDS = 1.0  # so often a task asks again what has become of an errand


class Workers(Protocol):
    """The keeper's worker threads, for work that takes long."""

    def start(self, errand: Errand[Any], /) -> float:
        """Do an errand beside the keeper's loop, unless it is under way, or put off because it has failed."""

    def busy(self, key: Hashable, /) -> bool:
        """Tell whether an errand is under way."""

    def due(self, key: Hashable, /) -> float:
        """Return when a key may be tried next, in seconds since boot."""

    def forget(self, key: Hashable, /) -> None:
        """Forget all failures of something."""

    def put_off(self, key: Hashable, /) -> float:
        """Count a failure and return when the next try is due."""

    def later(self, key: Hashable, task: Callable[[], None], /) -> None:
        """Let the loop do something after all waiting results: for long work in short parts."""


class Keeper(Protocol):
    """The parts of the keeper that tasks use."""

    @property
    def site(self) -> Site:
        """The settings of the site."""

    @property
    def store(self) -> Store:
        """The store; only the keeper's loop changes it."""

    @property
    def clock(self) -> Clock:
        """The clock."""

    @property
    def workers(self) -> Workers:
        """The worker threads."""


def ask_again(keeper: Keeper) -> float:
    """Return when to ask again about what is under way: it may end without a change of the store."""
    return keeper.clock.boot() + BUSY_SECONDS
