"""A backup of the state directory, taken while the keeper and the doors are at work: what `jim site restored` needs."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from jim.clock import Clock
from jim.errors import BadRequest, UnknownJob
from jim.files import sync_directory
from jim.keeper.accounting import PLACE
from jim.site.file import Site
from jim.statusdb import file_of, is_there, open_store

# Not saved: the work directory, the queue of the local batch system, and what tells of the keeper that runs now. The
# store is copied after the files of the doors: what a keeper takes from the inbox meanwhile is in the store then, and
# what is there twice is taken in once. The accounting is copied after the store, which marks the lines that are to be
# written: a marked line that is there already is not written again.
LEFT_OUT = ("status.db", "keeper.", "heartbeat", "woken", "batch", "work", PLACE)


def save(site: Site, file: Path) -> Iterator[str]:
    """Write the backup into a new tar; it is there whole, or not at all."""
    if not is_there(site.state):
        raise UnknownJob(f"there are no grid jobs yet in {site.state}: nothing to save")
    if os.path.lexists(file):
        raise BadRequest(f"{file} is there already: name a new file")
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as place:
        made = Path(place) / "state.tar"
        with tarfile.open(made, "x", dereference=False) as tar:
            for each in _files(site.state, LEFT_OUT):
                _add(tar, each, site.state)
            copy = file_of(Path(place))
            with closing(open_store(site.state, Clock())) as store:
                store.copy_to(copy)
                count = len(store.grid_jobs())
            _add(tar, copy, Path(place))
            if (site.state / PLACE).is_dir():
                for each in _files(site.state / PLACE):
                    _add(tar, each, site.state)
        made.chmod(0o600)
        _sync(made)
        os.link(made, file)  # never over what somebody has put there meanwhile
    sync_directory(file.parent)
    yield f"saved {site.state} with {count:,} grid jobs as {file} ({file.stat().st_size:,} bytes)"
    yield f"the work directory {site.work}, with the tars, is no part of it"


def _files(directory: Path, left_out: tuple[str, ...] = ()) -> Iterator[Path]:
    for place in sorted(directory.iterdir()):
        if place.name.startswith((".", *left_out)):
            continue
        yield place
        if place.is_dir() and not place.is_symlink():
            yield from sorted(each for each in place.rglob("*") if not each.name.startswith("."))


def _add(tar: tarfile.TarFile, path: Path, state: Path) -> None:
    with suppress(FileNotFoundError):  # taken in, or never there
        if path.is_file() and not path.is_symlink():
            tar.add(path, path.relative_to(state), recursive=False)


def _sync(file: Path) -> None:
    with file.open("rb") as written:
        os.fsync(written.fileno())
