"""A backup of the state directory, taken while the keeper and the doors are at work: what `jim site restored` needs."""

from __future__ import annotations

import hashlib
import io
import math
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import IO

from jim.admin.trial.trial_site import PREFIX as TESTS
from jim.clock import Clock
from jim.errors import BadRequest, JimError, UnknownJob
from jim.files import sync_directory
from jim.keeper.results.accounting import PLACE
from jim.site.file import Site
from jim.statusdb import file_of, is_there, open_store

# Not saved: the work directory, the queue of the local batch system, what tells of the keeper that runs now, and site
# tests, whose files change and go meanwhile. The store is copied after the files of the doors: what a keeper takes from
# the inbox meanwhile is in the store then, and what is there twice is taken in once. The accounting is copied after the
# store, which marks the lines that are to be written: a marked line that is there already is not written again.
SITE_FILE = "saved-site.toml"  # a site file from elsewhere, for people: JIM does not read it there
LEFT_OUT = ("status.db", "keeper.", "heartbeat", "woken", "batch", "work", TESTS, SITE_FILE, PLACE)
PART = 1024 * 1024


class _Sums:
    """The checksum of each file that was saved; it is also the file that a tar reads."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def add(self, tar: tarfile.TarFile, path: Path, name: str) -> None:
        """Save a file or the name of a directory, unless it is gone, or is something else."""
        with suppress(FileNotFoundError):  # taken in, or never there
            if path.is_dir() and not path.is_symlink():  # whoever unpacks it as root gives it to its owner
                tar.add(path, name, recursive=False)
            elif path.is_file() and not path.is_symlink():
                with path.open("rb") as content:
                    about, source = tar.gettarinfo(path, name), _Summed(content)
                    tar.addfile(about, source)
                    self.of[name] = source.sum.hexdigest()


class _Summed:
    """A file that is read, with the checksum of what was read."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content, self.sum = content, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Read a part of the file."""
        part = self._content.read(size)
        self.sum.update(part)
        return part


def save(site: Site, file: Path) -> Iterator[str]:
    """Write the backup into a new tar and verify it; it is there whole, or not at all."""
    if not is_there(site.state):
        raise UnknownJob(f"there are no grid jobs yet in {site.state}: nothing to save")
    if os.path.lexists(file):
        raise BadRequest(f"{file} is there already: name a new file")
    if not file.parent.is_dir():
        raise BadRequest(f"{file.parent} is no directory: name a file in a directory that exists")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise BadRequest(f"this account may not write to {file.parent}: name a file in another directory")
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as place:
        made = Path(place) / "state.tar"
        try:
            sums, count = _write(site, made)
        except OSError as error:  # a write that finds no room does not name its file
            error.filename = error.filename or str(file)
            raise
        made.chmod(0o600)
        _sync(made)
        _verify(made, sums, count)
        os.link(made, file)  # never over what somebody has put there meanwhile
    sync_directory(file.parent)
    jobs = f"{count:,} grid job{'' if count == 1 else 's'}"
    yield f"saved {site.state} with {jobs} as {file} ({file.stat().st_size:,} bytes)"
    yield f"verified: its {len(sums):,} files were read again, and the database among them has no damage"
    yield f"the work directory {site.work}, with the tars, is no part of it"


def _write(site: Site, made: Path) -> tuple[dict[str, str], int]:
    """Write the tar; return the checksums of its files, and the number of grid jobs."""
    sums = _Sums()
    with tarfile.open(made, "x", dereference=False) as tar:
        for each in _files(site.state, LEFT_OUT):
            sums.add(tar, each, str(each.relative_to(site.state)))
        if site.file and not site.file.is_relative_to(site.state):
            sums.add(tar, site.file, SITE_FILE)
        copy = file_of(made.parent)
        with closing(open_store(site.state, Clock())) as store:
            store.copy_to(copy)
        with closing(open_store(made.parent, Clock())) as store:
            count = len(store.numbers.all())
        copy.chmod(0o600)
        sums.add(tar, copy, copy.name)
        copy.unlink()
        for each in _files(site.state / PLACE) if (site.state / PLACE).is_dir() else ():
            sums.add(tar, each, str(each.relative_to(site.state)))
    return sums.of, count


def _files(directory: Path, left_out: tuple[str, ...] = ()) -> Iterator[Path]:
    for place in sorted(directory.iterdir()):
        if place.name.startswith((".", *left_out)):
            continue
        yield place
        if place.is_dir() and not place.is_symlink():
            yield from sorted(each for each in place.rglob("*") if not each.name.startswith("."))


def _verify(made: Path, sums: dict[str, str], count: int) -> None:
    """Read the tar again: each file must be what was saved, and the store must be whole."""
    store_again = file_of(made.parent)
    try:
        with tarfile.open(made, "r:") as tar:
            found = {member.name: _sum(content) for member in tar if (content := tar.extractfile(member))}
            with store_again.open("xb") as again:
                shutil.copyfileobj(tar.extractfile(store_again.name) or io.BytesIO(), again, PART)
    except (tarfile.TarError, KeyError) as error:
        raise _not_the_same(f"it cannot be read: {error}") from error
    for name, what in ((name, "differs" if name in found else "is missing") for name in sums):
        if found.get(name) != sums[name]:
            raise _not_the_same(f"{name} {what}")
    with closing(open_store(made.parent, Clock())) as store:
        store.look_for_damage(math.inf)
        if len(store.numbers.all()) != count:
            raise _not_the_same("grid jobs are missing")


def _not_the_same(why: str) -> JimError:
    return JimError(f"the backup is not what was saved: {why}. Nothing was kept; try again")


def _sum(content: IO[bytes]) -> str:
    source = _Summed(content)
    while source.read(PART):
        pass
    return source.sum.hexdigest()


def _sync(file: Path) -> None:
    with file.open("rb") as written:
        os.fsync(written.fileno())
