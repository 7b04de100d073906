"""Describes a site and its load for those who send it grid jobs: a collector or a request broker."""

from __future__ import annotations

import json
import socket
import sys
from collections import Counter
from contextlib import suppress
from statistics import median
from typing import Any

from jim import __version__
from jim.adapters.capacity import Room
from jim.admin.known_types import is_of_others, said_by_owner, types
from jim.clock import Clock
from jim.errors import JimError
from jim.idealizer.channel import Channel
from jim.keeper.opening import adapter_of
from jim.model import State
from jim.reading.site.accounts import published
from jim.reading.site.summaries import MOST, ODD, Summary, count, document, moment, summary, text
from jim.site import file as site_file
from jim.site.drain import in_words
from jim.site.file import Site
from jim.site.space import shortages

TOLD = ("at", "status", "line")  # in the result of a site test
LONGEST_TOLD = 1000
CALL = "from jim.admin.advertise import child; child()"


def offer(site: Site, clock: Clock) -> dict[str, Any]:
    """Collect the site's settings, the summaries of its keepers, and the result of the last site test."""
    return {
        "site": site.site.name,
        "host": socket.gethostname(),
        "version": __version__,
        "at": clock.utc(),
        "job_types": _job_types(site.site.handlers),
        "batch_system": site.batch.system,
        "queue": site.batch.queue,
        "queues": list(site.batch.queues),
        "accounts": list(site.batch.accounts),
        "wall_seconds": site.usual_seconds(None),
        "most_wall_seconds": site.batch.most_wall_seconds,
        "most_memory_mb": site.batch.most_memory_mb,
        "most_cores": site.batch.most_cores,
        "most_local_jobs": site.limits.local_jobs,
        "drained": in_words(site),
        "no_room": _no_room(site),
        **_room(site, clock),
        **_live(site),
        "site_test": _last_test(site),
    }


def _job_types(own: str) -> list[str]:
    """Name the job types; where nobody knows the site's own, at least JIM's."""
    try:
        return list(types(own))
    except (JimError, OSError):
        return list(types())


def _no_room(site: Site) -> str:
    with suppress(OSError):  # a disk that is away is not a full one
        return "; ".join(each.words for each in shortages(site) if each.stops)
    return ""


def _room(site: Site, clock: Clock) -> dict[str, Any]:
    """Ask the batch system how much room it has, now and in each queue that requests may name."""
    own = site.site.handlers
    if "." in site.batch.system and is_of_others(own):  # an adapter of the site
        try:
            return _checked(said_by_owner(own, CALL))
        except ODD:
            return {"queue_rooms": {}}
    found = Channel(adapter_of(site), site.batch.command_seconds, clock).capacity()
    named = [name for name in found.queues if not site.batch.queues or name in (*site.batch.queues, site.batch.queue)]
    return {**_known(found.room), "queue_rooms": {name: _known(found.queues[name]) for name in named}}


def _known(room: Room) -> dict[str, Any]:
    return {name: value for name, value in room._asdict().items() if value is not None}


def child() -> None:
    """Print how much room the batch system has; in a process that is not root's."""
    json.dump(_room(site_file.load(), Clock()), sys.stdout)


def _checked(said: Any) -> dict[str, Any]:
    rooms = {text(name, LONGEST_TOLD): _numbers(each) for name, each in said.pop("queue_rooms").items()}
    if not all(name.isprintable() and " " not in name for name in rooms):
        raise ValueError("a queue has an odd name")
    return {**_numbers(said), "queue_rooms": rooms}


def _numbers(said: dict[str, Any]) -> dict[str, Any]:
    """Check numbers of a room, each of which is a count, or the load."""
    if not said.keys() <= {*Room._fields} or not 0 <= float(said.get("load", 0)) <= MOST:
        raise ValueError("it says what no batch system has")
    return {name: float(each) if name == "load" else count(each) for name, each in said.items()}


def _live(site: Site) -> dict[str, Any]:
    """Add up the summaries of all keepers that this account may read."""
    summaries, unread = list[Summary](), 0
    for file in published(site, site.summary):
        try:
            summaries.append(summary(file))
        except FileNotFoundError:  # an account without grid jobs
            continue
        except ODD:
            unread += 1
    counts = Counter({state.value: 0 for state in State if state is not State.UNKNOWN})
    for each in summaries:
        counts.update({state.value: count for state, count in each.counts.items()})
    waits = [wait for each in summaries for wait in each.waits]
    return {
        "grid_jobs": sum(sum(each.grid_jobs.values()) for each in summaries),
        "counts": dict(counts),
        "waiting_seconds": round(median(waits)) if waits else None,
        "changed": max((each.at for each in summaries), default=""),
        "trouble": "; ".join(sorted({each.trouble for each in summaries} - {""})),
        "unread": unread,
    }


def _last_test(site: Site) -> dict[str, str] | None:
    """Return the newest site test of any account that this account may read."""
    tests = []
    for file in published(site, site.tested):
        try:
            test = document(file)
            tests.append({name: text(test[name], LONGEST_TOLD) for name in TOLD} | {"at": moment(test["at"])})
        except ODD:
            continue
    return max(tests, key=lambda test: test["at"], default=None)
