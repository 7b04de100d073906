"""The elements of tasks in documents as rows, as elements.py has those of grid jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jim.statusdb.connected import StorePart
from jim.statusdb.documents.elements import ELEMENTS, Attribute, Element, changed_of, integers, words


def _if_any(sql: str) -> Attribute:
    """Return a number that is absent if it is zero."""
    return Attribute(f"CASE WHEN {sql} > 0 THEN {sql} || '' ELSE '' END", as_number=sql)


def _time(name: str, sql: str) -> dict[str, Attribute]:
    """Return a time that is stored in seconds since 1970, in both forms; 0: never."""
    text = f"CASE WHEN {sql} > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', {sql}, 'unixepoch') ELSE '' END"
    seconds = f"CASE WHEN {sql} > 0 THEN printf('%.3f', {sql}) ELSE '' END"
    return {name: Attribute(text), f"{name}_s": Attribute(seconds, as_number=f"CAST({seconds} AS REAL)")}


_LOCAL_JOB = (
    "ifnull((SELECT v.grid || '.' || q.n FROM wave v WHERE v.task = q.task AND v.t = 0 AND v.w = q.wave "
    "AND v.grid > 0 AND q.wave > 0), '')"
)
_PROMISED_BY = (
    "ifnull((SELECT s.name || '/' || v.p FROM output v JOIN task s ON s.id = v.task "
    "WHERE v.id = i.output AND i.output > 0), '')"
)
_PARTS = (
    "SELECT x.p, x.item, i.name, x.first_event, x.last_event, x.first_lumi, x.last_lumi, x.run FROM piece_item x "
    "JOIN item i ON i.id = x.item WHERE x.task = ? AND x.p >= ? AND x.p < ? ORDER BY x.p, x.item, x.part"
)

TASK_ELEMENTS = {
    "task": Element(
        "task",
        "t",
        ("id",),
        {
            **words("t", "name", "state", "outcome", "reason"),
            "summary": Attribute("ifnull(json_extract(t.spec, '$.summary'), '')"),
            **integers("t", "priority", "tests"),
            **words("t", "owner", "created"),
            **changed_of("t"),
        },
    ),
    "wave": Element(
        "wave",
        "w",
        ("task", "t", "w"),
        {
            "number": Attribute("w.w", number=True),
            "test": _if_any("w.t"),
            "state": Attribute("w.state"),
            "pieces": Attribute("w.size", number=True),
            "grid": _if_any("w.grid"),
            "fix": _if_any("w.fix"),
            **words("w", "reason", "created"),
        },
    ),
    "item": Element(
        "item",
        "i",
        ("task", "id"),
        {
            **integers("i", "id"),
            "name": Attribute("i.name"),
            "group": Attribute("i.grp"),
            "state": Attribute("i.state"),
            "there": Attribute("CASE i.there WHEN 1 THEN 'yes' WHEN 0 THEN 'promised' ELSE 'broken' END"),
            "size": _if_any("i.size"),
            "promised_by": Attribute(_PROMISED_BY),
            "note": Attribute("i.note"),
            **_time("came", "i.since"),
        },
    ),
    "task_piece": Element(
        "piece",
        "q",
        ("task", "p"),
        {
            "number": Attribute("q.p", number=True),
            "group": Attribute("q.grp"),
            "state": Attribute("q.state"),
            "wave": _if_any("q.wave"),
            "local_job": Attribute(_LOCAL_JOB),
            "attempts_before": _if_any("q.attempts"),
            "missing": _if_any("q.missing"),
            "reason": Attribute("q.reason"),
            "reason_kind": Attribute("q.kind"),
            "seconds": Attribute(
                "CASE WHEN q.seconds > 0 THEN printf('%.1f', q.seconds) ELSE '' END",
                as_number="CAST(printf('%.1f', q.seconds) AS REAL)",
            ),
            **_time("planned", "q.planned"),
            **_time("ended", "CASE WHEN q.state IN ('completed', 'failed') THEN q.ended ELSE 0 END"),
        },
        where="q.p < (SELECT v.next_piece FROM task v WHERE v.id = q.task)",
    ),
    "task_output": Element(
        "output",
        "o",
        ("task", "p", "stream", "k"),
        {
            "output": Attribute("o.stream"),
            **integers("o", "k"),
            "group": Attribute("o.grp"),
            **words("o", "state", "name", "place", "sha256"),
            "bytes": _if_any("o.bytes"),
            "fix": _if_any("o.fix"),
            "reason": Attribute("o.reason"),
            **_time("promised", "o.promised"),
            **_time("changed", "o.changed"),
        },
    ),
}
ALL_ELEMENTS = ELEMENTS | TASK_ELEMENTS


class TaskElements(StorePart):
    """Tasks as elements of documents."""

    def elements_of_task(self, name: str, task: int, pieces: range | None = None) -> Iterator[Sequence[Any]]:
        """Yield, in the order of documents, the elements of a task, perhaps of some pieces: keys, then attributes."""
        element = TASK_ELEMENTS[name]
        keys = ", ".join(f"{element.alias}.{key}" for key in element.keys)
        shown = ", ".join(each.sql for each in element.attributes.values())
        which = f"{element.alias}.{element.keys[0]} = ?{f' AND {element.where}' if element.where else ''}"
        which += f" AND {element.alias}.p BETWEEN {pieces.start} AND {pieces.stop - 1}" if pieces else ""
        table = f"{element.rows} {element.alias}"
        sql = f"SELECT {keys}, {shown} FROM {table} WHERE {which} ORDER BY {keys}"
        return iter(self.db.execute(sql, (task,)))

    def parts_of_pieces(self, task: int, pieces: range) -> Iterator[Sequence[Any]]:
        """Yield the parts of items that some pieces have: piece, item, its name, and the limits of a `Part`."""
        return iter(self.db.execute(_PARTS, (task, pieces.start, pieces.stop)))
