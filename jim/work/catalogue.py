"""The catalogue of a site: how many events a request id asks for, and which files a dataset has.

A catalogue is a directory or an SQLite database. In a directory, the file `requests/ID` has the key `events`, and the
file `datasets/NAME` has the key `files`: a table for each file, as in `input_files` of a request. Each file is TOML or
JSON, as its ending says; a `/` in a name is written `%2F`. With `open = true`, more files may come to a dataset. A
database has three tables, of which the last may be missing:

    request (id TEXT PRIMARY KEY, events INTEGER)
    file    (dataset TEXT, record TEXT)             -- the table of one file, in JSON; in order of rowid
    dataset (name TEXT PRIMARY KEY, open INTEGER)   -- 1: more files may come; without a row, none do
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, unquote

from jim.database import NoAnswer, first_column
from jim.errors import BadRequest, JimError, close_to, shown
from jim.files import read_regular
from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import File, files_from

LARGEST = 200_000_000  # most bytes of a list of files
MOST_EVENTS = 10**15
NEAREST_OF = 1000  # names to search for one that the person may have meant


class NotReadable(JimError):
    """The catalogue cannot be read now; JIM asks again later."""


class Dataset(NamedTuple):
    """The files of a dataset, always in the same order, and whether more may come."""

    files: tuple[File, ...]
    open: bool = False


class Catalogue(Protocol):
    """The questions that any catalogue answers.

    An unknown name is a `BadRequest`, an unreadable catalogue `NotReadable`, and an entry that makes no sense a
    `JimError`.
    """

    def events(self, request_id: str) -> int:
        """Return the number of events of a request id, at least one."""

    def files(self, dataset: str) -> tuple[File, ...]:
        """Return the files of a dataset, at least one, always in the same order."""

    def dataset(self, name: str) -> Dataset:
        """Return a dataset as it is now. If it is not open, its files are complete."""

    def counts(self) -> tuple[int, int]:
        """Count the request ids and the datasets."""


def catalogue_at(where: str) -> Catalogue:
    """Open the catalogue that a site names."""
    place = Path(where)
    return Directory(place) if place.is_dir() else Database(place)


class Directory:
    """A catalogue that is a directory of files."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def events(self, request_id: str) -> int:
        """Read `requests/ID`."""
        return _events(self._table("requests", request_id, "request id").get("events"), request_id, self.place)

    def files(self, dataset: str) -> tuple[File, ...]:
        """Read `datasets/NAME`."""
        return _not_empty(self.dataset(dataset), dataset, self.place)

    def dataset(self, name: str) -> Dataset:
        """Read `datasets/NAME`."""
        table = self._table("datasets", name, "dataset")
        return Dataset(_files(table.get("files"), name, self.place), _is_open(table.get("open"), name, self.place))

    def counts(self) -> tuple[int, int]:
        """Count the files."""
        try:
            return len(self._there("requests")), len(self._there("datasets"))
        except OSError as error:
            raise NotReadable(f"JIM cannot read the catalogue: {error}") from error

    def _there(self, folder: str) -> dict[str, Path]:
        here = (self.place / folder).iterdir()
        return {each.stem: each for each in here if each.suffix in (".json", ".toml") and each.stem[0] != "."}

    def _table(self, folder: str, name: str, what: str) -> dict[str, Any]:
        where = self.place / folder
        try:
            there = self._there(folder)
            # A name is used only if the directory lists it: it cannot lead anywhere else.
            file = there.get(quote(name, safe=""))
            if file is None:
                raise _missing(self.place / folder, what, name, map(unquote, there))
            twin = file.with_suffix(".toml" if file.suffix == ".json" else ".json")
            if twin.exists():
                both = " and ".join(sorted((file.name, twin.name)))
                raise NotReadable(f"the catalogue directory {self.place / folder} has both {both}; remove one")
            where = file
            text = read_regular(file, LARGEST).decode()
            table = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
        except (OSError, ValueError, RecursionError) as error:
            raise NotReadable(f"JIM cannot read the catalogue: {where}: {error}") from error
        if not isinstance(table, dict):
            raise NotReadable(f"JIM cannot read the catalogue: {where}: expected a table, found {shown(table)}")
        return table


class Database:
    """A catalogue that is an SQLite database; JIM only reads it."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def events(self, request_id: str) -> int:
        """Look in the table `request`."""
        found = self._rows("SELECT events FROM request WHERE id = ?", request_id)
        if not found:
            names = self._names("SELECT id FROM request ORDER BY id LIMIT ?")
            raise _missing(self.file, "request id", request_id, names)
        return _events(found[0], request_id, self.file)

    def files(self, dataset: str) -> tuple[File, ...]:
        """Look in the table `file`."""
        return _not_empty(self.dataset(dataset), dataset, self.file)

    def dataset(self, name: str) -> Dataset:
        """Look in the tables `dataset` and then `file`: files that came before it was closed are there."""
        has_table = self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", "dataset")
        rows = self._rows("SELECT open FROM dataset WHERE name = ?", name) if has_table else []
        found = self._rows("SELECT record FROM file WHERE dataset = ? ORDER BY rowid", name)
        if not found and not rows:
            names = self._names("SELECT DISTINCT dataset FROM file ORDER BY dataset LIMIT ?")
            raise _missing(self.file, "dataset", name, names)
        try:
            records = [json.loads(each) for each in found]
        except (TypeError, ValueError, RecursionError) as error:
            raise JimError(f"dataset {name!r:.200} of the catalogue, {self.file}: {error}") from error
        return Dataset(_files(records, name, self.file), bool(rows) and _is_open(rows[0], name, self.file))

    def counts(self) -> tuple[int, int]:
        """Count the rows."""
        ids, datasets = ("SELECT count(*) FROM request WHERE ?", "SELECT count(DISTINCT dataset) FROM file WHERE ?")
        return int(self._rows(ids, 1)[0]), int(self._rows(datasets, 1)[0])

    def _names(self, query: str) -> list[str]:
        return list(map(str, self._rows(query, NEAREST_OF)))

    def _rows(self, query: str, value: object) -> list[Any]:
        try:
            return first_column(self.file, query, value)
        except NoAnswer as error:
            raise NotReadable(f"JIM cannot read the catalogue: {self.file}: {error}") from error


def _missing(place: Path, what: str, name: str, known: Iterable[str]) -> BadRequest:
    hint = close_to(name[:200], islice(known, NEAREST_OF))
    return BadRequest(f"there is no {what} {name!r:.200} in the catalogue, {place}{hint}")


def _events(value: object, request_id: str, place: Path) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_EVENTS:
        found = "no events" if value is None else f"no events, but {shown(value)}"
        raise BadRequest(f"request id {request_id!r:.200} of the catalogue, {place}, has {found}")
    return value


def _files(records: object, dataset: str, place: Path) -> tuple[File, ...]:
    try:
        return files_from([] if records is None else records)
    except SplitError as error:
        raise JimError(f"dataset {dataset!r:.200} of the catalogue, {place}: {error}") from error


def _not_empty(found: Dataset, dataset: str, place: Path) -> tuple[File, ...]:
    if not found.files:
        raise BadRequest(f"dataset {dataset!r:.200} of the catalogue, {place}, is empty")
    return found.files


def _is_open(value: object, dataset: str, place: Path) -> bool:
    if value not in (None, False, True):  # in a database, 0 and 1
        raise JimError(f"dataset {dataset!r:.200} of the catalogue, {place}: open: expected true or false")
    return bool(value)
