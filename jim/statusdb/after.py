"""What files are still to follow after a transaction: it names them, so that a keeper that is killed finds them."""

from __future__ import annotations

from collections.abc import Iterable

from jim.jobs import GridJob
from jim.statusdb.sqlite import Store


def remove(store: Store, job: GridJob) -> None:
    """Make a grid job unseen, free its key, and remember that its files are to be removed."""
    with store.transaction():
        store.forget(job.id)
        store.db.execute("INSERT OR IGNORE INTO removed VALUES (?, ?)", (job.id, job.place))


def removed(store: Store) -> list[tuple[int, str]]:
    """Give the grid jobs that are unseen, each with the directory that may be left of it."""
    return list(store.db.execute("SELECT grid, place FROM removed ORDER BY grid"))


def known_as(store: Store, key: str) -> int:
    """Give the number of the grid job that has a key; 0: none has it, or none any more."""
    row = store.db.execute("SELECT id FROM grid_job WHERE key = ?", (key,)).fetchone()
    return int(row[0]) if row else 0


def places(store: Store) -> dict[int, str]:
    """Give the directories of grid jobs that have not that of their number."""
    return dict(store.db.execute("SELECT id, place FROM grid_job WHERE place NOT IN ('', CAST(id AS TEXT))"))


def is_removed(store: Store, number: int) -> None:
    """Forget a grid job of which no file is left."""
    store.db.execute("DELETE FROM removed WHERE grid = ?", (number,))


def fulfil(store: Store, name: str) -> None:
    """Remember, in the transaction of what a wish changes, that it is fulfilled, and its file to be removed."""
    store.db.execute("INSERT INTO fulfilled VALUES (?)", (name,))


def fulfilled(store: Store) -> set[str]:
    """Give the wishes that have been fulfilled, and whose files may be left."""
    return {name for (name,) in store.db.execute("SELECT name FROM fulfilled")}


def are_gone(store: Store, names: Iterable[str]) -> None:
    """Forget wishes whose files are gone."""
    with store.transaction():
        store.db.executemany("DELETE FROM fulfilled WHERE name = ?", ((name,) for name in names))
