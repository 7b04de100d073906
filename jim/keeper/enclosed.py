"""What a tar says of itself, in its folder `jim/`: how each local job ran, the journal, lines of the keeper's log."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.jobs import Ended, GridJob, Journal
from jim.model import Piece
from jim.statusdb.contract import Store
from jim.workdir.tar import Tar

BLOCK = 1024 * 1024
AT_ONCE = 1000  # local jobs
MOST_LINES = 100_000  # of the journal
COLUMNS = (
    *("local_job", "state", "attempt", "host", "code", "signal", "started", "ended", "seconds", "cpu_seconds"),
    *("memory_mb_asked", "cores_asked", "outputs", "bytes", "first_event", "events", "source", "arguments", "files"),
    *("parents",),
)
Facts = dict[str, Any]


def enclose(tar: Tar, store: Store, job: GridJob, state: Path, place: Path) -> None:
    """Add the folder `jim/` to a tar; `place` is a directory for temporary files."""
    contents: Mapping[str, Callable[[IO[str]], None]] = {
        "summary.json": partial(_write_json, _all_facts(store, job)),
        "jobs.csv": partial(_write_table, _all_facts(store, job)),
        "journal.csv": partial(_write_journal, store.journal(job.id, last=MOST_LINES)),
        "log": partial(_write_log, state, job.id),
    }
    for name, write in contents.items():
        with TemporaryFile(dir=place) as file:
            text = TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
            write(text)
            text.detach()
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            tar.add(f"jim/{name}", size, iter(partial(file.read, BLOCK), b""))


def _write_json(facts: Iterable[Facts], out: IO[str]) -> None:
    """Write a list of tables, one after the other: there may be too many local jobs for memory."""
    for number, each in enumerate(facts):
        out.write(f"{',' if number else '['}\n {json.dumps(each)}")
    out.write("\n]\n")


def _write_table(facts: Iterable[Facts], out: IO[str]) -> None:
    table = csv.writer(out)
    table.writerow(COLUMNS)
    for each in facts:
        outputs = each["outputs"]
        told = {**each, "outputs": len(outputs), "bytes": sum(output["bytes"] for output in outputs)}
        table.writerow(_cell(told.get(name)) for name in COLUMNS)


def _cell(value: Any) -> Any:
    """Return what a table shows; lists as JSON, so that no cell begins like a formula."""
    return json.dumps(value) if isinstance(value, list) else value


def _write_journal(lines: Iterable[Journal], out: IO[str]) -> None:
    table = csv.writer(out)
    table.writerow(("at", "local_job", "attempt", "was", "now", "witness", "reason"))
    for each in lines:
        table.writerow((each.at, each.n, each.attempt, each.was, each.now, each.witness, json.dumps(each.reason)))


def _write_log(state: Path, grid: int, out: IO[str]) -> None:
    """Write the lines of the keeper's log that are about a grid job, oldest first."""
    about = re.compile(rf"\S+ \S+ \S+ \S+ {grid}(?:\.\d+)?[: ]")
    for file in sorted(state.glob("keeper.log*"), key=_age, reverse=True):
        with suppress(FileNotFoundError), file.open(errors="backslashreplace") as lines:
            out.writelines(line for line in lines if about.match(line))


def _age(file: Path) -> int:
    """Return how old a file of the log is: keeper.log.2 is older than keeper.log.1."""
    return int(file.suffix[1:]) if file.suffix[1:].isdecimal() else 0


def _all_facts(store: Store, job: GridJob) -> Iterator[Facts]:
    parents = {each["lfn"]: each.get("parents", []) for each in job.request.get("input_files") or ()}
    asked = {f"{name}_asked": job.request.get(name) for name in ("memory_mb", "cores")}
    ended = store.ended(job.id)
    while part := list(islice(ended, AT_ONCE)):
        pieces = {each.n: each.piece for each in store.local_jobs(job.id, first=part[0].n, limit=len(part))}
        for each in part:
            yield _facts(each, pieces[each.n], parents) | asked


def _facts(ended: Ended, piece: Piece, parents: Mapping[str, list[str]]) -> Facts:
    own = dict.fromkeys(parent for name in piece.files for parent in parents.get(name, ()))
    facts = {
        "local_job": ended.n,
        "state": ended.state,
        "attempt": ended.attempt,
        "reason": ended.reason,
        "outputs": [],
    }
    work = {"first_event": piece.first_event, "events": piece.events, "source": piece.source}
    lists = {"arguments": list(piece.arguments), "files": list(piece.files), "parents": list(own)}
    return facts | work | lists | (_run(read_exit_record(ended.record)) if ended.record else {})


def _run(record: ExitRecord) -> Facts:
    """Return how an attempt ran, by its exit record."""
    names = ("host", "batch", "code", "signal", "started", "ended", "seconds")
    outputs = [{"name": each.name, "bytes": each.size, "sha256": each.sha256} for each in record.files]
    return {name: getattr(record, name) for name in names} | {"cpu_seconds": record.cpu, "outputs": outputs}
