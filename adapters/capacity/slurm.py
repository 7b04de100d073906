"""Slurm: sinfo for the nodes of each partition, squeue for the jobs that wait."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from jim.adapters.capacity import Capacity, Room, seconds

COMMANDS = {
    "nodes": (
        *("--Node", "--noheader"),
        "--Format=NodeList:|,Partition:|,Available:|,CPUsState:|,CPUsLoad:|,Time:|,StateCompact:|.",
    ),
    "pending": ("--noheader", "--states=PENDING", "--array", "--Format=Partition:|."),
}
NODE = re.compile(
    r"^(?P<node>[^|\n]+)\|(?P<queue>[^|\n]+?)\*?\|(?P<available>\w+)\|(?P<used>\d+)/(?P<idle>\d+)/\d+/\d+\|"
    r"(?P<load>[^|\n]*)\|(?P<time>[^|\n]*)\|(?P<state>[a-z]+)[^|\n]*\|\.$",
    re.MULTILINE,
)
SERVES = {"idle", "mix", "alloc", "comp", "plnd"}  # a node in maintenance has idle processors that nobody gets
Node = re.Match[str]


def read(texts: Mapping[str, str]) -> Capacity:
    """Read both listings. A node in several partitions counts once in the sum."""
    nodes = [line for line in NODE.finditer(texts.get("nodes", "")) if line["available"] == "up"]
    waiting = texts.get("pending")
    pending = Counter(re.findall(r"^(.+)\|\.$", waiting or "", re.MULTILINE))
    known = waiting is not None
    queues = {
        name: _room([line for line in nodes if line["queue"] == name])._replace(
            pending=pending[name] if known else None,
            wall_seconds=next(seconds(line["time"]) for line in nodes if line["queue"] == name),
        )
        for name in dict.fromkeys(line["queue"] for line in nodes)
    }
    whole = _room({line["node"]: line for line in nodes}.values()) if nodes else Room()
    return Capacity(whole._replace(pending=pending.total() if known else None), queues)


def _room(nodes: Iterable[Node]) -> Room:
    serving = [line for line in nodes if line["state"] in SERVES]
    slots = sum(int(line["used"]) + int(line["idle"]) for line in serving)
    loads = [float(line["load"]) for line in serving if re.fullmatch(r"\d+(\.\d+)?", line["load"])]
    load = round(sum(loads) / slots, 2) if slots and len(loads) == len(serving) else None
    return Room(slots, sum(int(line["idle"]) for line in serving), load=load)
