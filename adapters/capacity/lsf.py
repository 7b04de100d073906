"""LSF: bhosts for the hosts, bqueues for the jobs that wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jim.adapters.capacity import Capacity, Room, total

COMMANDS: dict[str, tuple[str, ...]] = {"nodes": ("-w",), "queues": ("-w",)}
SERVES = {"ok", "closed_Full", "closed_Excl", "closed_Busy"}


def read(texts: Mapping[str, str]) -> Capacity:
    """Read both tables. A host without a limit on slots (`-`) is left out."""
    hosts = [row for row in _rows(texts.get("nodes", "")) if row.get("STATUS") in SERVES and row["MAX"].isdecimal()]
    slots = total(int(row["MAX"]) for row in hosts)
    free = total(int(row["MAX"]) - int(row["NJOBS"]) for row in hosts if row["NJOBS"].isdecimal())
    queues = {
        row["QUEUE_NAME"]: Room(pending=int(row["PEND"]))
        for row in _rows(texts.get("queues", ""))
        if row.get("PEND", "").isdecimal()
    }
    return Capacity(Room(slots, free, total(each.pending for each in queues.values())), queues)


def _rows(text: str) -> Iterator[dict[str, str]]:
    """Read a table whose first line names the columns."""
    head, *lines = text.splitlines() or [""]
    names = head.split()
    for line in lines:
        words = line.split()
        if len(words) == len(names):
            yield dict(zip(names, words, strict=True))
