"""HTCondor: condor_status for the slots, condor_q for the jobs that wait. There are no queues."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jim.adapters.capacity import Capacity, Room

COMMANDS = {
    "nodes": ("-autoformat", "SlotType", "State", "Cpus", "TotalSlotCpus", "TotalLoadAvg", "Machine"),
    "pending": ("-allusers", "-totals"),
}
# The slot that a machine divides shows the processors that are left; the slots divided from it show the others.
SLOT = re.compile(
    r"^(?P<kind>\w+) (?P<state>\w+) (?P<cpus>\d+) (?P<all>\d+) (?P<load>\S+) (?P<node>\S+)$", re.MULTILINE
)
WAITING = re.compile(r"^Total for all users:.* (\d+) idle,", re.MULTILINE)


def read(texts: Mapping[str, str]) -> Capacity:
    """Read both listings."""
    waiting = WAITING.search(texts.get("pending", ""))
    slots = [line for line in SLOT.finditer(texts.get("nodes", "")) if line["kind"] != "Dynamic"]
    pending = int(waiting[1]) if waiting else None
    if not slots:
        return Capacity(Room(pending=pending))
    free = sum(int(line["cpus"]) for line in slots if line["state"] == "Unclaimed")
    count = sum(int(line["all"]) for line in slots)
    loads = {line["node"]: line["load"] for line in slots}.values()
    known = all(re.fullmatch(r"\d+(\.\d+)?", each) for each in loads)
    load = round(sum(map(float, loads)) / count, 2) if known and count else None
    return Capacity(Room(count, free, pending, load))
