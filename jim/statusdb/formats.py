"""The formats of an SQLite store: the schema of today, and how each older one becomes the next."""

from __future__ import annotations

from pathlib import Path

# Nobody but JIM's developers had a store of a format before this one.
FIRST = 14
# From format 14 to 15, from 15 to 16, and so on.
UPGRADES: tuple[str, ...] = (
    # 15: carriers, batch jobs that run several attempts
    """
    ALTER TABLE submission ADD COLUMN carriers INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX submission_with_carriers ON submission (state, grid) WHERE carriers > 0;
    ALTER TABLE attempt ADD COLUMN carrier INTEGER NOT NULL DEFAULT 0;
    """,
)
VERSION = FIRST + len(UPGRADES)


def schema(version: int) -> str:
    """Return the SQL that makes a database, or updates one of an older format."""
    return "".join(UPGRADES[version - FIRST :]) if version else Path(__file__).with_name("schema.sql").read_text()
