"""What a tar says of itself, in its folder `jim/`: how each local job ran, the journal, lines of the keeper's log."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache, partial
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, cast

from jim.evidence.exit_record import ExitRecord
from jim.files import open_regular
from jim.jobs import Ended, GridJob, Journal
from jim.log_lines import ABOUT
from jim.model import Piece
from jim.statusdb.store import Store
from jim.workdir.tar import Tar

BLOCK = 1024 * 1024
AT_ONCE = 1000  # local jobs
MOST_LINES = 100_000  # of the journal
COLUMNS = (
    *("local_job", "state", "attempt", "host", "code", "signal", "started", "ended", "seconds", "cpu_seconds"),
    *(
        "memory_mb_asked",
        "memory_mb_peak",
        "cores_asked",
        "outputs",
        "bytes",
        "first_event",
        "events",
        "source",
        "arguments",
        "files",
    ),
    *("parents", "left"),
)
LISTS = ("arguments", "files", "parents")  # as JSON in a table, so that no cell begins like a formula
Facts = dict[str, Any]
_json = json.JSONEncoder(check_circular=False).encode


class Enclosure:
    """The folder `jim/` of a tar. Local jobs are told one after the other: there may be too many for memory."""

    def __init__(self, store: Store, job: GridJob, place: Path) -> None:
        """Make nameless files in a directory."""
        self._store, self._job, self._place = store, job, place
        self._files = ExitStack()
        self._summary, self._jobs = self._text(), self._text()
        self._table = csv.writer(self._jobs)
        self._begin, self._pieces = "[", _pieces(store, job.id)
        self._parents = {each["lfn"]: each.get("parents", []) for each in job.request.get("input_files") or ()}
        self._asked = lru_cache(2)(self._asked_with)  # local jobs in order are mostly of one submission

    def __enter__(self) -> Enclosure:
        """Begin the table."""
        self._table.writerow(COLUMNS)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the files."""
        self._files.close()

    def tell(self, ended: Ended, record: ExitRecord | None, more: Facts) -> None:
        """Tell how the next local job ran, and more about what the tar has of the local job; they come in order."""
        run = _run(record) if record else {}
        facts = _facts(ended, next(self._pieces, Piece()), self._parents) | run | self._asked(ended.k) | more
        self._summary.write(f"{self._begin}\n {_json(facts)}")
        self._begin = ","
        outputs = facts["outputs"]
        told = facts | {"outputs": len(outputs), "bytes": sum([output["bytes"] for output in outputs])}
        told |= {name: _json(facts[name]) if facts[name] else "[]" for name in LISTS}
        self._table.writerow([told.get(name) for name in COLUMNS])

    def _asked_with(self, k: int) -> Facts:
        """Return what a submission asked for; an older version stored only the request."""
        submission = self._store.submission(self._job.id, k)
        asked = (submission.asked if submission else None) or self._job.request
        return {f"{name}_asked": asked.get(name) for name in ("memory_mb", "cores")}

    def put(self, tar: Tar, state: Path) -> None:
        """Add the folder to a tar."""
        self._summary.write(f"{'' if self._begin == ',' else '['}\n]\n")
        contents: Mapping[str, Callable[[IO[str]], object]] = {
            "journal.csv": partial(_write_journal, self._store.journals.in_parts(self._job.id, MOST_LINES)),
            "log": partial(_write_log, state, self._job.id),
        }
        _add(tar, "summary.json", self._summary)
        _add(tar, "jobs.csv", self._jobs)
        for name, write in contents.items():
            with self._text() as text:
                write(text)
                _add(tar, name, text)

    def _text(self) -> TextIOWrapper:
        file = TemporaryFile(dir=self._place)  # noqa: SIM115 - closed with the others
        return self._files.enter_context(TextIOWrapper(file, "utf-8", "backslashreplace", newline=""))


def _add(tar: Tar, name: str, text: TextIOWrapper) -> None:
    text.flush()
    file = cast(IO[bytes], text.buffer)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    tar.add(f"jim/{name}", size, iter(partial(file.read, BLOCK), b""))


def _write_journal(lines: Iterable[Journal], out: IO[str]) -> None:
    table = csv.writer(out)
    table.writerow(("at", "local_job", "attempt", "was", "now", "witness", "reason"))
    for each in lines:
        reason = _json(each.reason) if each.reason else '""'
        table.writerow((each.at, each.n, each.attempt, each.was, each.now, each.witness, reason))


def _write_log(state: Path, grid: int, out: IO[str]) -> None:
    """Write the lines of the keeper's log that are about a grid job, oldest first."""
    about = re.compile(ABOUT.format(grid))
    for file in sorted(state.glob("keeper.log*"), key=_age, reverse=True):
        with suppress(FileNotFoundError), os.fdopen(open_regular(file), errors="backslashreplace") as lines:
            out.writelines(line for line in lines if about.match(line))


def _age(file: Path) -> int:
    """Return how old a file of the log is: keeper.log.2 is older than keeper.log.1."""
    return int(file.suffix[1:]) if file.suffix[1:].isdecimal() else 0


def _pieces(store: Store, grid: int) -> Iterator[Piece]:
    first = 0
    while part := store.local_jobs(grid, first=first, limit=AT_ONCE):
        yield from (each.piece for each in part)
        first = part[-1].n + 1


def _facts(ended: Ended, piece: Piece, parents: Mapping[str, list[str]]) -> Facts:
    own = dict.fromkeys(parent for name in piece.files for parent in parents.get(name, ())) if parents else ()
    return {
        "local_job": ended.n,
        "state": ended.state,
        "attempt": ended.attempt,
        "reason": ended.reason,
        "outputs": [],
        "first_event": piece.first_event,
        "events": piece.events,
        "source": piece.source,
        "arguments": list(piece.arguments),
        "files": list(piece.files),
        "parents": list(own),
    }


def _run(record: ExitRecord) -> Facts:
    """Return how an attempt ran, by its exit record."""
    return {
        "host": record.host,
        "batch": record.batch,
        "code": record.code,
        "signal": record.signal,
        "started": record.started,
        "ended": record.ended,
        "seconds": record.seconds,
        "cpu_seconds": record.cpu,
        "memory_mb_peak": record.peak_mb,
        "memory_sampled": record.sampled,
        "outputs": [{"name": each.name, "bytes": each.size, "sha256": each.sha256} for each in record.files],
    }
