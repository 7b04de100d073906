"""Grid Engine: qstat for the slots of each queue and for the jobs that wait, qconf for the time limits."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jim.adapters.capacity import Capacity, Room, seconds, total

COMMANDS = {
    "nodes": ("-g", "c", "-xml"),
    "queues": ("-sq", "*"),
    "pending": ("-g", "d", "-s", "p", "-u", "*", "-xml"),
}
QUEUE = re.compile(r"<cluster_queue_summary>(.*?)</cluster_queue_summary>", re.DOTALL)
FIELD = re.compile(r"<(name|load|used|available)>([^<]*)</")
LIMIT = re.compile(r"^qname\s+(\S+)$|^h_rt\s+(\S+)$", re.MULTILINE)
WAITS = re.compile(r"<state>R?q?w?</state>")  # not those on hold, and not those in error


def read(texts: Mapping[str, str]) -> Capacity:
    """Read the listings. A queue on several hosts is one queue; a host with several queues counts in each."""
    found = [dict(FIELD.findall(text)) for text in QUEUE.findall(texts.get("nodes", ""))]
    limits = _limits(texts.get("queues", ""))
    queues = {each["name"]: _room(each)._replace(wall_seconds=limits.get(each["name"])) for each in found}
    rooms = queues.values()
    waiting = texts.get("pending")
    return Capacity(
        Room(
            total(each.slots for each in rooms),
            total(each.free_slots for each in rooms),
            None if waiting is None else len(WAITS.findall(waiting)),
            next(iter(queues.values())).load if len(queues) == 1 else None,
        ),
        queues,
    )


def _room(queue: Mapping[str, str]) -> Room:
    free = int(queue["available"])
    load = round(float(queue["load"]), 2) if "load" in queue else None  # of each processor already
    return Room(int(queue["used"]) + free, free, load=load)


def _limits(text: str) -> dict[str, int | None]:
    """Read the time limit of each queue; `INFINITY` is none."""
    limits, name = {}, ""
    for queue, limit in LIMIT.findall(text):
        name = queue or name
        if limit and name:
            limits[name] = seconds(limit.partition(",")[0])  # after the comma: limits of single hosts
    return limits
