"""The status DB: the store of every grid job, and its face in XML.

`contract` says what a store does; this module says which one a state directory has, and opens it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jim.clock import Clock
    from jim.statusdb.contract import Store


def file_of(state: Path) -> Path:
    """Name the file of the status DB of a state directory."""
    return state / "status.db"


def is_there(state: Path) -> bool:
    """Tell whether a state directory has a status DB."""
    return file_of(state).exists()


def open_store(state: Path, clock: Clock, *, write: bool = False) -> Store:
    """Open the status DB of a state directory: to read what is there, or as its keeper, who makes it if need be."""
    from jim.statusdb.sqlite import Store  # a door that looks for nothing in the store need not load it

    return Store(file_of(state), clock, write=write)


def empty_store(clock: Clock) -> Store:
    """Give a store in memory, in which there is nothing."""
    from jim.statusdb.sqlite import Store

    return Store(Path(":memory:"), clock, write=True)
