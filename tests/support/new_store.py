"""A new status DB for a test, as a copy: to make its tables takes longer than most of what a test does with them."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from jim.clock import Clock
from jim.files import replace_durably
from jim.statusdb.store import Store


@cache
def _content() -> bytes:
    with TemporaryDirectory() as place:
        file = Path(place) / "status.db"
        Store(file, Clock(), write=True).close()
        return file.read_bytes()


def make_new(file: Path) -> Path:
    """Make a status DB without a row, unless it is there; return its file."""
    if not file.exists():
        replace_durably(file, _content(), 0o644)  # as SQLite does: power cuts find what a keeper would have left
    return file
