"""What JIM's two databases share: a transaction happens as a whole, or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All of it or nothing, durable when it is left; inside a larger one it is a part of that."""
    if db.in_transaction:
        yield
        return
    db.execute(f"BEGIN {kind}")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
