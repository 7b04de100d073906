"""The status DB: the store of all grid jobs, and its documents in XML.

`store` is the store; this module opens that of a state directory. docs/design/store.md has its rules.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jim.clock import Clock
    from jim.statusdb.store import Store


def file_of(state: Path) -> Path:
    """Return the file of the status DB of a state directory."""
    return state / "status.db"


def is_there(state: Path) -> bool:
    """Tell whether a state directory has a status DB."""
    return file_of(state).exists()


def open_store(state: Path, clock: Clock, *, write: bool = False) -> Store:
    """Open the status DB of a state directory: for reading, or as its keeper, which creates it if necessary."""
    from jim.statusdb.store import Store  # imported here: a door that reads nothing from the store does not need it

    return Store(file_of(state), clock, write=write)


def empty_store(clock: Clock) -> Store:
    """Return an empty store in memory."""
    from jim.database import MEMORY
    from jim.statusdb.store import Store

    return Store(MEMORY, clock, write=True)
