"""PBS and Torque: pbsnodes for the nodes, qstat -Q for the queues. Both print text in the same form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jim.adapters.capacity import Capacity, Room, seconds, total

COMMANDS: dict[str, tuple[str, ...]] = {"nodes": ("-a",), "queues": ("-Q", "-f")}
FACT = re.compile(r"^\s+([\w.]+) = (.*)$")
SERVES = {"free", "job-busy", "job-exclusive", "job-sharing", "busy"}
SLOTS = ("resources_available.ncpus", "pcpus", "np")  # two of PBS, one of Torque


def read(texts: Mapping[str, str]) -> Capacity:
    """Read both listings."""
    nodes = [facts for _, facts in _blocks(texts.get("nodes", "")) if facts.get("state") in SERVES]
    slots = total(_slots(facts) for facts in nodes)
    used = total(_used(facts) for facts in nodes)
    queues = {
        name.removeprefix("Queue: "): Room(pending=_waiting(facts), wall_seconds=_limit(facts))
        for name, facts in _blocks(texts.get("queues", ""))
        if name.startswith("Queue: ")
    }
    free = None if slots is None else max(0, slots - (used or 0))
    return Capacity(Room(slots, free, total(each.pending for each in queues.values())), queues)


def _blocks(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Read blocks: a line at the margin with a name, then one fact on each line."""
    name, facts = "", dict[str, str]()
    for line in (*text.splitlines(), "end"):
        if line.strip() and not line[0].isspace():
            if name:
                yield name, facts
            name, facts = line.strip(), {}
        elif found := FACT.match(line):
            facts[found[1]] = found[2].strip()


def _slots(facts: Mapping[str, str]) -> int | None:
    return next((int(facts[each]) for each in SLOTS if facts.get(each, "").isdecimal()), None)


def _used(facts: Mapping[str, str]) -> int:
    assigned = facts.get("resources_assigned.ncpus", "")
    if assigned.isdecimal():
        return int(assigned)
    return sum(_width(each.partition("/")[0]) for each in re.split(r",\s*(?=[\d-]+(?:,|/))", facts.get("jobs", "")))


def _width(slots: str) -> int:
    """Count Torque's slots of one job: 3, or 0-2, or 0,4-5."""
    spans = re.findall(r"(\d+)(?:-(\d+))?", slots)
    return sum(int(last or first) - int(first) + 1 for first, last in spans)


def _waiting(facts: Mapping[str, str]) -> int | None:
    found = re.search(r"\bQueued:(\d+)", facts.get("state_count", ""))
    return int(found[1]) if found else None


def _limit(facts: Mapping[str, str]) -> int | None:
    return seconds(facts.get("resources_max.walltime", "none"))
