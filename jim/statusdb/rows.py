"""What the store gives back: frozen rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from jim.jobs import Attempt, GridJob, Live, LocalJob, Submission
from jim.model import FINAL, Kind, Piece, Reason, State, Step, SubmissionState, Witness

# From format 1 to 2, from 2 to 3, and so on.
UPGRADES = (
    "ALTER TABLE grid_job ADD COLUMN splitter TEXT NOT NULL DEFAULT '';",
    "ALTER TABLE grid_job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;",
    "DROP TRIGGER local_job_moved;",
    """
    CREATE TABLE removed (grid INTEGER PRIMARY KEY, place TEXT NOT NULL DEFAULT '');
    CREATE TABLE fulfilled (name TEXT PRIMARY KEY) WITHOUT ROWID;
    ALTER TABLE submission ADD COLUMN wall_seconds INTEGER;
    ALTER TABLE submission ADD COLUMN trouble TEXT NOT NULL DEFAULT '';
    ALTER TABLE attempt ADD COLUMN over TEXT NOT NULL DEFAULT '';
    CREATE INDEX attempt_over ON attempt (grid, k, idx) WHERE over <> '';
    ALTER TABLE grid_job ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
    ALTER TABLE grid_job ADD COLUMN place TEXT NOT NULL DEFAULT '';
    UPDATE grid_job SET place = id WHERE step <> 'accepted';
    """,
    # Reasons of before are of no kind: nothing is decided by them.
    "".join(
        f"ALTER TABLE {table} ADD COLUMN {column} TEXT NOT NULL DEFAULT '';"
        for table in ("local_job", "submission", "attempt")
        for column in ("kind", "facts")
    ),
)


def schema(version: int) -> str:
    """Give the SQL that makes a database, or brings one of an older format up to date."""
    return "".join(UPGRADES[version - 1 :]) if version else Path(__file__).with_name("schema.sql").read_text()


GIVEN_UP = "SELECT * FROM attempt INDEXED BY attempt_over WHERE over <> '' AND verdict = ''"
# Joined from the submissions that the batch system was told or seen to have.
LIVE = (
    "SELECT a.grid, a.k, a.idx, a.n, a.attempt, l.state, a.started <> '', s.mark, s.batch_id, s.state = 'confirmed', "
    "l.reason, l.kind FROM submission s JOIN attempt a ON a.grid = s.grid AND a.k = s.k "
    "JOIN local_job l ON l.grid = a.grid AND l.n = a.n WHERE s.state IN ('recorded', 'confirmed') AND a.verdict = ''"
)


ENDED = (
    "SELECT l.n, l.state, l.attempt, l.reason, ifnull(a.k, 0), ifnull(a.idx, 0), "
    # What someone has forced to be completed has brought nothing that was verified.
    "CASE WHEN l.state = 'completed' AND a.verdict <> 'completed' THEN '' ELSE ifnull(a.record, '') END "
    "FROM local_job l LEFT JOIN attempt a INDEXED BY attempt_of "
    "ON a.grid = l.grid AND a.n = l.n AND a.attempt = l.attempt WHERE l.grid = ? AND l.n >= ? ORDER BY l.n LIMIT 1000"
)


FINAL_WORDS = ", ".join(repr(state.value) for state in FINAL)
RAISE = "INSERT INTO meta VALUES ('serial', 1) ON CONFLICT DO UPDATE SET value = value + 1"
PUBLISH = "INSERT OR REPLACE INTO detail VALUES (?, ?, ?, ?, ?)"
ADD_GRID_JOB = (
    "INSERT OR IGNORE INTO grid_job (id, key, job_type, owner, step, created, updated, splitter, nonce) "
    "VALUES (?, ?, ?, ?, 'accepted', ?, ?, ?, ?)"
)
HELD_JOBS = (
    "SELECT * FROM local_job INDEXED BY local_job_waiting WHERE state = 'waiting' AND grid = ? AND due = ? ORDER BY n"
)

FIRST_WAITING = (
    "n IN (SELECT n FROM local_job INDEXED BY local_job_waiting WHERE state = 'waiting' AND grid = ? "
    "ORDER BY n LIMIT ?)"
)

# The lines of local jobs that will be in another state in a moment; what they do to the tally.
JOURNAL = (
    "INSERT INTO journal (at, grid, n, attempt, was, now, witness, reason) "
    "SELECT ?, grid, n, attempt, state, ?, ifnull(?, witness), ifnull(?, reason) FROM local_job"
)
COUNT = "INSERT INTO tally VALUES (?1, ?2, -?4), (?1, ?3, ?4) ON CONFLICT DO UPDATE SET count = count + excluded.count"


BY_REASON = "GROUP BY reason ORDER BY count(*) DESC, min(state), min(n) LIMIT ?"
WITH_KINDS = 6  # a status DB of before, which no keeper has opened yet, has no kinds of reasons


def grid_job(row: tuple[Any, ...], request_text: str) -> GridJob:
    """Read a row of grid_job; one of a database that no keeper has opened since an upgrade is shorter."""
    fields = [*row[:18], request_text, *row[18:]]
    fields[4] = Step(fields[4])
    fields[11], fields[12] = json.loads(fields[11]), bool(fields[12])
    return GridJob(*fields)


def local_job(row: tuple[Any, ...]) -> LocalJob:
    """Read a row of local_job."""
    grid, n, state, piece, attempt, submission, spent, recovery, *rest = row[:13]
    left = tuple(json.loads(recovery)) if recovery else ()
    about = about_reason(*row[13:])
    return LocalJob(grid, n, State(state), piece_of(piece), attempt, submission, spent, left, *rest, **about)


def submission(row: tuple[Any, ...]) -> Submission:
    """Read a row of submission."""
    fields = [*row[:12]]
    fields[4] = SubmissionState(fields[4])
    return Submission(*fields, **about_reason(*row[12:]))


def attempt(row: tuple[Any, ...]) -> Attempt:
    """Read a row of attempt."""
    return Attempt(*row[:12], **about_reason(*row[12:]))


_KINDS = {kind.value: kind for kind in Kind}


def about_reason(kind: str = "", facts: str = "") -> dict[str, Any]:
    """Read of what kind a reason is, and its facts; rows of a version before have neither."""
    return {"kind": _KINDS.get(kind, Kind.UNKNOWN), "facts": json.loads(facts) if facts else {}}


def reason(words: str, kind: str, facts: str) -> Reason:
    """Read a reason."""
    return Reason(words=words, **about_reason(kind, facts))


def with_reason(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Give columns with all three of a reason, if it is among them."""
    if "reason" not in columns:
        return dict(columns)
    reason = columns["reason"]
    if isinstance(reason, str):
        reason = Reason(words=reason)
    facts = _as_json(reason.facts) if reason.facts else ""
    return {**columns, "reason": reason.words, "kind": reason.kind, "facts": facts}


_STATES = {state.value: state for state in State}


def live(row: tuple[Any, ...]) -> Live:
    """Read a row of what is live."""
    grid, k, idx, n, attempt, state, started, mark, batch_id, confirmed, reason, kind = row
    started, confirmed = bool(started), bool(confirmed)
    return Live(
        grid,
        k,
        idx,
        n,
        attempt,
        _STATES[state],
        started,
        mark,
        batch_id,
        confirmed,
        reason,
        _KINDS.get(kind, Kind.UNKNOWN),
    )


_as_json = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
_EMPTY: tuple[Any, ...] = Piece()


def pieces_text(pieces: Mapping[int, Piece]) -> str:
    """Write pieces by their numbers, each as a list without what is empty at its end."""
    return _as_json({n: _shortened(piece) for n, piece in pieces.items()})


def _shortened(piece: Piece) -> tuple[Any, ...]:
    last = len(piece) if piece[6:] != _EMPTY[6:] else 6  # most have nothing more, and there may be a million
    while last > 2 and piece[last - 1] == _EMPTY[last - 1]:
        last -= 1
    return piece[:last]


def piece_of(text: str) -> Piece:
    """Read a piece as it is stored, or was: as a table, or with its arguments not in a list of their own."""
    stored = json.loads(text)
    if isinstance(stored, dict):
        stored = list(Piece(**stored))
    elif len(stored) > 2 and isinstance(stored[2], str):
        stored[2:] = [stored[2:]]
    first, events, arguments, files, *rest = stored + list(_EMPTY[len(stored) :])
    return Piece(first, events, tuple(arguments), tuple(files), *rest)


def new_local_jobs(first: int, pieces: Iterable[Piece]) -> Iterator[tuple[str, ...]]:
    """Give what is stored of local jobs at first, of those that are alike together: ADD_PIECES has it in order."""
    by_failure: dict[str, dict[int, Piece]] = {}
    for n, piece in enumerate(pieces, first):
        by_failure.setdefault(piece.failure, {})[n] = piece
    for failure, those in by_failure.items():
        state = State.FAILED.value, Witness.KEEPER.value, f"failed on creation: {failure}", Kind.NOT_MADE.value
        yield *(state if failure else (State.WAITING.value, "", "", "")), pieces_text(those)


# SQLite takes the pieces apart itself: half the time of a row for each. `key` is the number, `value` the piece.
ADD_PIECES = (
    "INSERT INTO local_job (grid, n, updated, state, witness, reason, kind, piece) "
    "SELECT ?, CAST(key AS INTEGER), ?, ?, ?, ?, ?, value FROM json_each(?)"
)


def column(value: Any) -> Any:
    """Give a value as SQLite takes it: the bytes of a file's name that are no text, which reasons tell, written out."""
    if isinstance(value, Enum):
        return value.value
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def where(**known: int | None) -> tuple[str, list[int]]:
    """Say in SQL what columns must be; those that are not known may be anything."""
    given = {name: value for name, value in known.items() if value is not None}
    return " AND ".join(f"{name} = ?" for name in given) or "true", list(given.values())


_INDEXED = {State.WAITING: "INDEXED BY local_job_waiting", State.COMPLETING: "INDEXED BY local_job_completing"}


def in_states(states: Sequence[State]) -> str:
    """Say in SQL that a local job is in one of these states; left to itself, SQLite looks through all local jobs."""
    if len(states) == 1:
        return f"{_INDEXED.get(states[0], '')} WHERE state = '{states[0].value}'"
    return f"WHERE state IN {tuple(state.value for state in states)}"


def about_reasons(version: int) -> str:
    """Name in SQL what is stored of reasons beside their words, where rows of the same words are put together."""
    return "max(kind), max(facts)" if version >= WITH_KINDS else "'', ''"


def among(numbers: Sequence[int]) -> tuple[str, tuple[Any, ...]]:
    """Say in SQL that n is one of these; a run of consecutive ones is found faster."""
    first, last = numbers[0], numbers[-1]
    if list(numbers) == list(range(first, last + 1)):
        return "n BETWEEN ? AND ?", (first, last)
    return "n IN (SELECT value FROM json_each(?))", (json.dumps(list(numbers)),)
