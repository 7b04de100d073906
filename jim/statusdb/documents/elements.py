"""The elements of documents as rows: where each is stored, and each of its attributes as SQL.

Documents are written from these rows, and XPath is translated into queries of them: both read one table of facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jim.model import Step
from jim.statusdb import rows
from jim.statusdb.connected import Connected, StorePart
from jim.statusdb.grid.queue_words import STILL_LISTED
from jim.statusdb.list_filters import Detail, GridJobsAsked, Query, Refused
from jim.statusdb.seen.list_pages import HERDS, Browsed
from jim.statusdb.status import SPLIT_TYPES, status

NAMESPACE = "urn:jim:status:1"
# XML allows none of these characters, even as escapes.
ODD = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
XPATH_NUMBER = re.compile(r"[ \t\r\n]*(-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)[ \t\r\n]*", re.ASCII)


class Attribute(NamedTuple):
    """An attribute: the SQL of its value; an empty value means that the element lacks the attribute."""

    sql: str
    number: bool = False  # the value is an integer in SQL
    as_number: str = ""  # the SQL of its number, if SQL can say
    known: bool = True  # SQL knows the value; otherwise only a document shows it


class Element(NamedTuple):
    """Elements of one name. The keys are columns, in the order of documents: first the grid job or the task."""

    rows: str
    alias: str
    keys: Sequence[str]
    attributes: Mapping[str, Attribute]
    where: str = ""  # which of the rows are elements; empty: all


def words(alias: str, *columns: str) -> dict[str, Attribute]:
    """Return columns that are texts."""
    return {name: Attribute(f"{alias}.{name}") for name in columns}


def integers(alias: str, *columns: str) -> dict[str, Attribute]:
    """Return columns that are integers."""
    return {name: _number(f"{alias}.{name}") for name in columns}


def _number(sql: str) -> Attribute:
    return Attribute(sql, number=True)


def changed_of(alias: str) -> dict[str, Attribute]:
    """Return the time of the last change, in words and in seconds since 1970."""
    seconds = f"ifnull(strftime('%s', {alias}.updated) || substr(strftime('%f', {alias}.updated), 3), '')"
    return {**words(alias, "updated"), "updated_s": Attribute(seconds, as_number=f"CAST({seconds} AS REAL)")}


def _reason(alias: str) -> dict[str, Attribute]:
    return {"reason": Attribute(f"{alias}.reason"), "reason_kind": Attribute(f"{alias}.kind")}


_HERDS = " ".join(f"WHEN {sql} THEN '{herd}'" for herd, sql in HERDS.items())
_HERD = re.sub(r"\b(splitter|size|step)\b", r"g.\1", f"CASE {_HERDS} END")
_SPLIT_TYPES = " ".join(f"WHEN '{herd}' THEN '{name}'" for herd, name in SPLIT_TYPES.items())
_SPLIT_TYPE = f"CASE {_HERD} {_SPLIT_TYPES} END"
# The field `source` of a piece, which is a list; in older forms it is a table, or a list that ends before.
_SOURCE = "CASE json_type(l.piece, '$[2]') WHEN 'array' THEN json_extract(l.piece, '$[7]') END"
_SOURCE = f"coalesce({_SOURCE}, json_extract(l.piece, '$.source'))"
_STATUS = f"CASE g.step WHEN '{Step.FINISHED.value}' THEN g.outcome ELSE status_of(g.id) END"
_LATE = "(SELECT d.late FROM detail d WHERE d.grid = p.grid AND d.n = p.n AND d.name = p.key)"

ELEMENTS = {
    "grid_job": Element(
        "grid_job",
        "g",
        ("id",),
        {
            "id": _number("g.id"),
            "key": Attribute("g.key"),
            "type": Attribute("g.job_type"),
            **words("g", "owner", "step"),
            "status": Attribute(_STATUS),
            "herd": Attribute(_HERD),
            "MasterJobId": _number("CASE WHEN g.came_from <> '' THEN CAST(g.came_from AS INTEGER) ELSE g.id END"),
            "JobSplitType": Attribute(_SPLIT_TYPE),
            "came_from": Attribute("g.came_from"),
            "reason": Attribute("g.reason"),
            "witness": Attribute("'keeper'"),
            "seen": Attribute("", known=False),
            "age_s": Attribute("", known=False),
            "created": Attribute("g.created"),
            **changed_of("g"),
        },
    ),
    "queued": Element(
        "queue_words",
        "q",
        ("grid", "k", "state", "words"),
        {
            "submission": _number("q.k"),
            **words("q", "state", "words"),
            "count": _number("q.count"),
            "since": Attribute("q.since"),
        },
        where=STILL_LISTED,
    ),
    "local_job": Element(
        "local_job",
        "l",
        ("grid", "n"),
        {
            "n": _number("l.n"),
            "state": Attribute("l.state"),
            "attempt": _number("l.attempt"),
            "came_from": Attribute(f"ifnull(l.grid || '.' || {_SOURCE}, '')"),
            "witness": Attribute("l.witness"),
            **_reason("l"),
            **changed_of("l"),
        },
    ),
    "attempt": Element(
        "attempt",
        "a",
        ("grid", "n", "attempt", "k", "idx"),
        {
            "number": _number("a.attempt"),
            "submission": _number("a.k"),
            "index": _number("a.idx"),
            "carrier": Attribute("CASE WHEN a.carrier > 0 THEN a.carrier || '' ELSE '' END", as_number="a.carrier"),
            **words("a", "host", "started", "verdict"),
            **_reason("a"),
            **changed_of("a"),
        },
    ),
    "phase": Element(
        "phase",
        "p",
        ("grid", "n", "key"),
        {
            "name": Attribute("p.name"),
            "unit": Attribute("p.unit"),
            "done": _number("p.done"),
            "total": _number("p.total"),
            "attempt": Attribute("CASE WHEN p.attempt > 0 THEN p.attempt || '' ELSE '' END", as_number="p.attempt"),
            "late": Attribute(f"CASE WHEN {_LATE} THEN '1' ELSE '' END", as_number="1"),
            **changed_of("p"),
        },
    ),
}


def number_of(text: object) -> float | None:
    """Return the number that XPath sees in a text; None stands for NaN."""
    found = XPATH_NUMBER.fullmatch(str(text))
    return float(found[1]) if found else None


class Elements(StorePart):
    """Grid jobs and what belongs to them as elements of documents."""

    def __init__(self, connected: Connected, seen: Browsed) -> None:
        super().__init__(connected)
        self.seen = seen

    def part_of_elements(self, name: str, grid: int, numbers: Sequence[int], *more: str) -> Iterator[Sequence[Any]]:
        """Yield, in the order of documents, the elements of some local jobs: n, further columns, attributes."""
        which, values = rows.among(numbers)
        element = ELEMENTS[name]
        shown = ", ".join((*more, *(each.sql for each in element.attributes.values())))
        order = ", ".join(element.keys)
        table = f"{element.rows} {element.alias}"
        sql = f"SELECT n, {shown} FROM {table} WHERE grid = ? AND {which} ORDER BY {order}"
        return iter(self.db.execute(sql, (grid, *values)))

    def published_of(self, grid: int, numbers: Sequence[int]) -> Iterator[Detail]:
        """Yield the publications of some local jobs in order."""
        which, values = rows.among(numbers)
        sql = f"SELECT {', '.join(Detail._fields)} FROM detail WHERE grid = ? AND {which} ORDER BY n, name"
        return map(Detail._make, self.db.execute(sql, (grid, *values)))

    def refused_of(self, grid: int, numbers: Sequence[int]) -> dict[int, Refused]:
        """Return how many publications of some local jobs were not stored."""
        which, values = rows.among(numbers)
        sql = f"SELECT n, refused, dropped FROM refused WHERE grid = ? AND {which}"
        return {n: Refused(*counts) for n, *counts in self.db.execute(sql, (grid, *values))}

    def found(self, query: Query, *, strict: bool, limit: int = -1) -> Iterator[Sequence[Any]]:
        """Yield the rows of a query: the keys of an element, and the attribute if one is asked for."""
        if "status_of(" in query.sql:
            self._let_tell_status(strict=strict)
        self.db.create_function("xpath_number", 1, number_of, deterministic=True)
        self.db.create_function("xml_safe", 1, lambda text: ODD.sub("\ufffd", text), deterministic=True)
        return iter(self.db.execute(f"{query.sql} LIMIT ?", (limit,)))

    def _let_tell_status(self, *, strict: bool) -> None:
        """Let SQL tell the status of unfinished grid jobs, which follows from the states of their local jobs."""
        open_ones = tuple(step.value for step in Step if step is not Step.FINISHED)
        jobs = {job.id: job for job in self.seen.grid_jobs_page(GridJobsAsked(steps=open_ones), -1)}
        tallies = self.seen.tallies(jobs)
        told = {number: status(job, tallies.get(number, {}), strict=strict) for number, job in jobs.items()}
        self.db.create_function("status_of", 1, lambda number: told[number])
