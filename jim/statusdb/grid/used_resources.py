"""The reads about what completed local jobs have used, for those of the same kind that are yet to be sized."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from jim.errors import JimError
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.jobs import Used
from jim.statusdb.connected import StorePart
from jim.statusdb.pieces import piece_of
from jim.statusdb.short_forms import unpacked

LOOKED_AT, OF_ONE_TYPE = 20_000, 200  # grid jobs, the newest first
NEAR = 0.95  # of the memory asked for
OF_TYPE = (
    "SELECT g.id, json_extract(r.text, '$.request_id') FROM grid_job g JOIN request r ON r.grid = g.id "
    "WHERE g.job_type = ? AND g.id > (SELECT max(id) FROM grid_job) - ? AND g.events_per_job > 0 "
    "AND json_extract(r.text, '$.test') IS NOT 'yes' ORDER BY g.id DESC LIMIT ?"
)
OF_KIND = (
    "SELECT g.id, json_extract(r.text, '$.test', '$.request_id', '$.executable', '$.inputs', '$.arguments[0]', "
    "'$.argument_sets[0][0]') FROM grid_job g JOIN request r ON r.grid = g.id "
    "WHERE g.job_type = ? ORDER BY g.id DESC LIMIT ?"
)
COMPLETED = (
    "SELECT a.record, l.piece, s.asked FROM attempt a JOIN local_job l ON l.grid = a.grid AND l.n = a.n "
    "JOIN submission s ON s.grid = a.grid AND s.k = a.k "
    "WHERE a.grid = ? AND a.verdict = 'completed' AND a.record <> '' AND length(a.record) < 50000 LIMIT ?"
)


class Completed(StorePart):
    """The reads about what completed local jobs have used."""

    def used(self, job_type: str, request_id: str, limit: int) -> list[Used]:
        """Return what completed local jobs of a job type and request id have used, the newest grid jobs first."""
        found: list[Used] = []
        for grid, of in self.db.execute(OF_TYPE, (job_type, LOOKED_AT, OF_ONE_TYPE)).fetchall():
            if str(of or "") == request_id and len(found) < limit:
                found += self._used(grid, limit - len(found))
        return found

    def seconds(self, request: Mapping[str, Any], limit: int) -> list[tuple[float, int | None]]:
        """Return how long completed local jobs of a request's kind took, and their events, the newest first."""
        times: list[tuple[float, int | None]] = []
        for grid, text in self.db.execute(OF_KIND, (request["job_type"], OF_ONE_TYPE)):
            if len(times) < limit and _kind(*json.loads(text)) == kind_of(request):
                times += ((told.seconds, events) for told, events, _ in self._completed(grid, limit - len(times)))
        return times

    def _used(self, grid: int, limit: int) -> Iterator[Used]:
        for told, events, needs in self._completed(grid, limit):
            if events:
                memory = json.loads(needs).get("memory_mb") if needs else None
                yield Used(events, _cpu(told) / events, _memory(told, memory))

    def _completed(self, grid: int, limit: int) -> Iterator[tuple[ExitRecord, int | None, str]]:
        for record, piece, needs in self.db.execute(COMPLETED, (grid, limit)):
            with suppress(JimError):
                yield read_exit_record(unpacked(record)), piece_of(piece).events, needs


def kind_of(request: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what local jobs of the same job type have in common that take about the same time."""
    sets = request.get("argument_sets")
    words = request.get("arguments") or (sets[0] if sets and isinstance(sets, list) else ())
    return _kind(*map(request.get, ("test", "request_id", "executable", "inputs")), *[*words][:1])


def _kind(test: Any, request_id: Any, executable: Any, inputs: Any, *first: Any) -> tuple[object, ...]:
    """Return request id, program, and which files sent along the program is, or the script that an interpreter runs."""
    named = {str(each).removeprefix("./") for each in (executable, *first) if each}
    sent = sorted(each for each in inputs or () if each.rpartition("/")[2] in named)
    return test == "yes", str(request_id or ""), str(executable or ""), *sent


def _cpu(record: ExitRecord) -> float:
    """Return the CPU time; of a record whose times cannot be true, no more than its cores had."""
    return record.cpu if record.seen is None else min(record.cpu, record.seen * record.cores)


def _memory(record: ExitRecord, asked: int | None) -> int | None:
    """Return the peak of memory. One of a cgroup that has reached its limit may be of files in the cache."""
    if record.peak_mb is None or (not record.sampled and asked and record.peak_mb >= NEAR * asked):
        return None
    return record.peak_mb
