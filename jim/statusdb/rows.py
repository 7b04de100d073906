"""SQLite's statements, the schema of each format, and the conversion of rows into values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import starmap
from typing import TYPE_CHECKING, Any

from jim.jobs import Attempt, Compared, Ended, GridJob, Journal, Live, LocalJob, Submission
from jim.model import FINAL, IN_BATCH, NOTHING, Kind, Piece, Reason, State, Step, SubmissionState, Witness
from jim.statusdb.pieces import as_json, piece_of, pieces_text
from jim.statusdb.short_forms import moment, packed, unpacked, word

if TYPE_CHECKING:
    from jim.database import Cursor


GIVEN_UP = "SELECT * FROM attempt INDEXED BY attempt_over WHERE over <> '' AND verdict = ''"
# Joined from the submissions that the batch system has, by its answer or a listing.
LIVE = (
    "SELECT a.grid, a.k, a.idx, a.n, a.attempt, l.state, a.started <> '' AS started, s.mark, s.batch_id, "
    "s.state = 'confirmed' AS confirmed, l.reason, l.kind, a.carrier, s.carriers FROM submission s "
    "JOIN attempt a ON a.grid = s.grid AND a.k = s.k "
    "JOIN local_job l ON l.grid = a.grid AND l.n = a.n WHERE s.state IN ('recorded', 'confirmed') AND a.verdict = ''"
)


ENDED = (
    "SELECT l.n, l.state, l.attempt, l.reason, ifnull(a.k, 0) AS k, ifnull(a.idx, 0) AS idx, "
    # A local job that someone forced to completed has no verified outputs.
    "CASE WHEN l.state = 'completed' AND a.verdict <> 'completed' THEN '' ELSE ifnull(a.record, '') END AS record "
    "FROM local_job l LEFT JOIN attempt a INDEXED BY attempt_of "
    "ON a.grid = l.grid AND a.n = l.n AND a.attempt = l.attempt WHERE l.grid = ? AND l.n >= ? ORDER BY l.n LIMIT 1000"
)

ENDED_ALONE = (
    "SELECT n, state, attempt, reason, 0 AS k, 0 AS idx, '' AS record "
    "FROM local_job WHERE grid = ? AND n >= ? ORDER BY n LIMIT 1000"
)
LAST_RUN = (
    "SELECT * FROM attempt INDEXED BY attempt_of WHERE grid = ? AND n = ? AND (started <> '' OR record <> '') "
    "ORDER BY attempt DESC LIMIT 1"
)


# Keys come as JSON, which SQLite takes apart: one statement for any number of them.
COMPARED = (
    "SELECT a.grid, a.k, a.idx, a.n, a.attempt, a.verdict = '' AND l.attempt = a.attempt, a.started <> '', s.mark, "
    "s.state IN ('confirmed', 'ended'), l.state, l.wish, g.started, a.nonce, "
    "s.intended, s.booted FROM json_each(?) e "
    "CROSS JOIN attempt a ON a.grid = json_extract(e.value, '$[0]') AND a.k = json_extract(e.value, '$[1]') "
    "AND a.idx = json_extract(e.value, '$[2]') "
    "JOIN submission s ON s.grid = a.grid AND s.k = a.k JOIN local_job l ON l.grid = a.grid AND l.n = a.n "
    "JOIN grid_job g ON g.id = a.grid"
)
CLAIMED = (
    "SELECT l.n, l.state, l.attempt, l.reason, a.k, a.idx, a.record, l.grid FROM json_each(?) e "
    "CROSS JOIN local_job l ON l.grid = json_extract(e.value, '$[0]') AND l.n = json_extract(e.value, '$[1]') "
    "JOIN attempt a INDEXED BY attempt_of ON a.grid = l.grid AND a.n = l.n AND a.attempt = l.attempt"
)


IN_BATCH_WORDS = ", ".join(sorted(repr(state.value) for state in IN_BATCH))
INTEND = (
    "INSERT INTO submission (grid, k, mark, size, state, updated, wall_seconds, asked, intended, booted, carriers) "
    "VALUES (?1, ?2, ?3, ?4, 'intended', ?5, ?6, ?7, ?5, ?8, ?9)"
)
# Carriers that the batch system has or may have.
CARRYING = (
    "SELECT grid, carriers FROM submission INDEXED BY submission_with_carriers WHERE carriers > 0 "
    "AND state IN ('intended', 'unknown', 'full', 'recorded', 'confirmed')"
)
COMPLETING = "SELECT grid, n FROM local_job INDEXED BY local_job_completing WHERE state = 'completing' ORDER BY grid, n"
NEXT_DUE = "SELECT min(due) FROM local_job INDEXED BY local_job_waiting WHERE state = 'waiting' AND grid = ?"
ELSEWHERE = "SELECT id, place FROM grid_job INDEXED BY grid_job_elsewhere WHERE place NOT IN ('', CAST(id AS TEXT))"
FINAL_WORDS = ", ".join(repr(state.value) for state in FINAL)
RAISE = "INSERT INTO meta VALUES ('serial', 1) ON CONFLICT DO UPDATE SET value = value + 1"
RAISE_VERSION = "INSERT INTO meta VALUES ('version', 1) ON CONFLICT DO UPDATE SET value = value + 1"
ADD_GRID_JOB = (
    "INSERT OR IGNORE INTO grid_job (id, key, job_type, owner, step, created, updated, splitter, nonce, door, realm, "
    "came_from) VALUES (?, ?, ?, ?, 'accepted', ?, ?, ?, ?, ?, ?, ?)"
)
# `tries` counts looks in these states; for an intended submission it counts batch commands that could not start.
LOOK_ANEW = "UPDATE submission SET tries = 0 WHERE state IN ('unknown', 'full', 'refused', 'cancelled')"
TAKE_UP = (
    "INSERT INTO submission (grid, k, mark, size, state, updated, carriers, reason, kind, facts) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
# The attempts last, and of others only: a large submission of one's own has many with a verdict.
RIVALS = (
    "SELECT s.batch_id, s.mark FROM json_each(?) e CROSS JOIN submission s "
    "ON s.batch_id = json_extract(e.value, '$[0]') AND s.mark <> json_extract(e.value, '$[1]') "
    "WHERE s.state IN ('recorded', 'confirmed') AND EXISTS "
    "(SELECT 1 FROM attempt a WHERE a.grid = s.grid AND a.k = s.k AND a.verdict = '')"
)
END_SUBMISSIONS = (
    "UPDATE submission SET state = 'ended' WHERE state = 'confirmed' AND grid = ? AND NOT EXISTS "
    "(SELECT 1 FROM attempt a WHERE a.grid = submission.grid AND a.k = submission.k AND a.verdict = '')"
)
ADD_ATTEMPT = "INSERT INTO attempt (grid, k, idx, n, attempt, updated) VALUES (?, ?, ?, ?, ?, ?)"
HELD_JOBS = (
    "SELECT * FROM local_job INDEXED BY local_job_waiting WHERE state = 'waiting' AND grid = ? AND due = ? ORDER BY n"
)

FIRST_WAITING = (
    "SELECT n FROM local_job INDEXED BY local_job_waiting WHERE state = 'waiting' AND grid = ? ORDER BY n LIMIT ?"
)

# The journal lines of local jobs that are about to change, and the effect on the tally.
JOURNAL = (
    "INSERT INTO journal (at, grid, n, attempt, was, now, witness, reason) "
    "SELECT ?, grid, n, attempt, ?, ?, ifnull(?, witness), ifnull(?, reason) FROM local_job"
)
COUNT = "INSERT INTO tally VALUES (?1, ?2, -?4), (?1, ?3, ?4) ON CONFLICT DO UPDATE SET count = count + excluded.count"


LAST_LINES = "SELECT seq FROM journal INDEXED BY journal_of WHERE grid = ? ORDER BY seq DESC LIMIT ?"
THESE_LINES = "SELECT j.* FROM json_each(?) e CROSS JOIN journal j ON j.seq = e.value ORDER BY j.seq"

BY_REASON = "GROUP BY reason ORDER BY count(*) DESC, min(state), min(n) LIMIT ?"


def named(found: Cursor) -> Iterator[dict[str, Any]]:
    """Return rows by the names of their columns."""
    names = _names(found)
    return (dict(zip(names, row, strict=True)) for row in found)


def _names(found: Cursor) -> list[str]:
    return [each[0] for each in found.description]


def lines(found: Cursor) -> Iterator[Journal]:
    """Read rows of journal; most have their columns in order."""
    if _names(found) == list(Journal._fields):  # there may be very many
        return starmap(_line, found)
    return (Journal(**columns | _shown(columns)) for columns in named(found))


def _line(seq: int, at: str, grid: int, n: int | None, attempt: int | None, *words: str) -> Journal:
    was, now, witness, reason = words
    return Journal(seq, moment(at), grid, n, attempt, word(was), word(now), word(witness), reason)


def _shown(line: dict[str, Any]) -> dict[str, str]:
    return {"at": moment(line["at"])} | {name: word(line[name]) for name in ("was", "now", "witness")}


def attempts(found: Cursor) -> Iterator[Attempt]:
    """Read rows of attempt; most have their columns in order."""
    if _names(found) == list(Attempt.__annotations__):  # there may be very many
        return starmap(Attempt, map(_attempt, found))
    return (Attempt(**_with_record(with_whole_reason(columns))) for columns in named(found))


def keys(wanted: Iterable[Sequence[int | str]]) -> tuple[str]:
    """Return keys as the value of COMPARED, CLAIMED or RIVALS."""
    return (json.dumps(list(wanted)),)


def one(found: Cursor) -> dict[str, Any] | None:
    """Return the first row by the names of its columns, if there is one."""
    return next(named(found), None)


def grid_jobs(found: Cursor, request_of: Callable[[int], str]) -> Iterator[GridJob]:
    """Read rows of grid_job; most have their columns in order."""
    if _names(found) == _OF_GRID_JOB:  # the keeper reads all unfinished ones again and again
        return (_grid_job(row, request_of(row[0])) for row in found)
    return (_grid_job_of(columns, request_of(columns["id"])) for columns in named(found))


_OF_GRID_JOB = [name for name in GridJob._fields if name != "request_text"]
_STEPS = {step.value: step for step in Step}


def _grid_job(row: tuple[Any, ...], text: str) -> GridJob:
    step, result, started = _STEPS[row[4]], json.loads(row[11]), bool(row[12])
    fields: tuple[Any, ...] = (*row[:4], step, *row[5:11], result, started, *row[13:18], text, *row[18:])
    return GridJob(*fields)


def _grid_job_of(columns: dict[str, Any], text: str) -> GridJob:
    read = {"step": Step(columns["step"]), "result": json.loads(columns["result"]), "started": bool(columns["started"])}
    return GridJob(**columns | read, request_text=text)


def local_jobs(found: Cursor) -> Iterator[LocalJob]:
    """Read rows of local_job; most have their columns in order."""
    if _names(found) == list(LocalJob.__annotations__):  # there may be very many
        return map(_local_job, found)
    return map(_local_job_of, named(found))


def _local_job(row: tuple[Any, ...]) -> LocalJob:
    grid, n, state, piece, attempt, submission, spent, recovery, wish, witness, words, due, at, kind, facts, changed = (
        row
    )
    left, kind = tuple(json.loads(recovery)) if recovery else (), _KINDS.get(kind, Kind.UNKNOWN)
    known = grid, n, STATES[state], piece_of(piece), attempt, submission, spent, left
    return LocalJob(*known, wish, witness, words, due, at, kind, _facts(facts), _facts(changed))


def _local_job_of(columns: dict[str, Any]) -> LocalJob:
    columns["state"], columns["piece"] = State(columns["state"]), piece_of(columns["piece"])
    columns["recovery"] = tuple(json.loads(columns["recovery"])) if columns["recovery"] else ()
    columns |= {"changed": _facts(columns.get("changed", ""))}
    return LocalJob(**with_whole_reason(columns))


def submission(columns: dict[str, Any]) -> Submission:
    """Read a row of submission."""
    columns["state"] = SubmissionState(columns["state"])
    columns |= {"asked": _facts(columns.get("asked", ""))}
    return Submission(**with_whole_reason(columns))


STATES = {state.value: state for state in State}
_KINDS = {kind.value: kind for kind in Kind}  # an unknown column is from a later version


def _facts(text: str) -> Mapping[str, Any]:
    return json.loads(text) if text else NOTHING


def with_whole_reason(columns: dict[str, Any]) -> dict[str, Any]:
    """Read the kind and the facts of a reason, where they are stored."""
    if "kind" in columns:
        columns["kind"] = _KINDS.get(columns["kind"], Kind.UNKNOWN)
        columns["facts"] = _facts(columns["facts"])
    return columns


def _attempt(row: tuple[Any, ...]) -> tuple[Any, ...]:
    *told, kind, facts, nonce, carrier = row
    told[_RECORD] = unpacked(told[_RECORD])
    return *told, _KINDS.get(kind, Kind.UNKNOWN), _facts(facts), nonce, carrier


def _with_record(columns: dict[str, Any]) -> dict[str, Any]:
    return columns | {"record": unpacked(columns["record"])}


_RECORD = list(Attempt.__annotations__).index("record")


def ended(row: tuple[Any, ...]) -> Ended:
    """Read a row of ENDED."""
    n, state, attempt, reason, k, idx, record = row
    return Ended(n, state, attempt, reason, k, idx, unpacked(record))


def compared(row: tuple[Any, ...]) -> Compared:
    """Read a row of COMPARED."""
    grid, k, idx, n, attempt, live, started, mark, confirmed, state, wish, begun, *more = row
    live, started, confirmed, begun = bool(live), bool(started), bool(confirmed), bool(begun)
    return Compared(grid, k, idx, n, attempt, live, started, mark, confirmed, STATES[state], wish, begun, *more)


def reason(words: str, kind: str, facts: str) -> Reason:
    """Read a reason."""
    return Reason(_KINDS.get(kind, Kind.UNKNOWN), _facts(facts), words)


def with_reason(columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return columns with all three parts of a reason, if they include one."""
    if "reason" not in columns:
        return columns
    reason = columns["reason"]
    if isinstance(reason, str):
        reason = Reason(words=reason)
    facts = as_json(reason.facts) if reason.facts else ""
    return {**columns, "reason": reason.words, "kind": reason.kind, "facts": facts}


def attempt_columns(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns of an attempt as SQLite takes them."""
    columns = {name: column(value) for name, value in with_reason(changes).items()}
    return columns | {"record": packed(columns["record"])} if "record" in columns else columns


def live(row: tuple[Any, ...]) -> Live:
    """Read a row of LIVE, whose columns have the order of `Live`: there may be 100,000."""
    grid, k, idx, n, attempt, state, started, mark, batch_id, confirmed, reason, kind, *carried = row
    started, confirmed, kind = bool(started), bool(confirmed), _KINDS.get(kind, Kind.UNKNOWN)
    return Live(grid, k, idx, n, attempt, STATES[state], started, mark, batch_id, confirmed, reason, kind, *carried)


def new_local_jobs(first: int, pieces: Iterable[Piece]) -> Iterator[tuple[str, ...]]:
    """Return the first values of local jobs, grouped by those that are alike, in the order of ADD_PIECES."""
    by_failure: dict[str, dict[int, Piece]] = {}
    for n, piece in enumerate(pieces, first):
        by_failure.setdefault(piece.failure, {})[n] = piece
    for failure, those in by_failure.items():
        state = State.FAILED.value, Witness.KEEPER.value, f"failed on creation: {failure}", Kind.NOT_MADE.value
        yield *(state if failure else (State.WAITING.value, "", "", "")), pieces_text(those)


# SQLite itself takes the pieces apart: half the time of a row for each. `key` is the number, `value` the piece.
ADD_PIECES = (
    "INSERT INTO local_job (grid, n, updated, state, witness, reason, kind, piece) "
    "SELECT ?, CAST(key AS INTEGER), ?, ?, ?, ?, ?, value FROM json_each(?)"
)


def column(value: Any) -> Any:
    """Return a value as SQLite takes it: bytes of a file name that are not text are written out."""
    if isinstance(value, Enum):
        return value.value
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def where(**known: int | None) -> tuple[str, list[int]]:
    """Return an SQL condition on columns; unknown ones may have any value."""
    given = {name: value for name, value in known.items() if value is not None}
    return " AND ".join(f"{name} = ?" for name in given) or "true", list(given.values())


_INDEXED = {State.WAITING: "INDEXED BY local_job_waiting", State.COMPLETING: "INDEXED BY local_job_completing"}


def in_states(states: Sequence[State]) -> str:
    """Return an SQL condition on states, with an index: SQLite alone would look through all local jobs."""
    if len(states) == 1:
        return f"{_INDEXED.get(states[0], '')} WHERE state = '{states[0].value}'"
    return f"WHERE state IN {tuple(state.value for state in states)}"


def among(numbers: Sequence[int]) -> tuple[str, tuple[Any, ...]]:
    """Return an SQL condition that n is one of these; consecutive numbers are found faster."""
    first, last = numbers[0], numbers[-1]
    if list(numbers) == list(range(first, last + 1)):
        return "n BETWEEN ? AND ?", (first, last)
    return "n IN (SELECT value FROM json_each(?))", (json.dumps(list(numbers)),)
