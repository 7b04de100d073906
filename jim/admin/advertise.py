"""Describes a site and its load for those who send it grid jobs: a collector or a request broker."""

from __future__ import annotations

import socket
from collections import Counter
from contextlib import suppress
from statistics import median
from typing import Any

from jim import __version__
from jim.adapters.capacity import Room
from jim.admin.known_types import job_types
from jim.clock import Clock
from jim.idealizer.channel import Channel
from jim.keeper.opening import adapter_of
from jim.model import State
from jim.reading.accounts import ODD, document, moment, published
from jim.site.drain import in_words
from jim.site.file import Site
from jim.site.space import shortages

TOLD = ("at", "status", "line")  # in the result of a site test


def offer(site: Site, clock: Clock) -> dict[str, Any]:
    """Collect the site's settings, the summaries of its keepers, and the result of the last site test."""
    return {
        "site": site.site.name,
        "host": socket.gethostname(),
        "version": __version__,
        "at": clock.utc(),
        "job_types": job_types(site.site.handlers),
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


def _no_room(site: Site) -> str:
    with suppress(OSError):  # a disk that is away is not a full one
        return "; ".join(each.words for each in shortages(site) if each.stops)
    return ""


def _room(site: Site, clock: Clock) -> dict[str, Any]:
    """Ask the batch system how much room it has, now and in each queue that requests may name."""
    found = Channel(adapter_of(site), site.batch.command_seconds, clock).capacity()
    named = [name for name in found.queues if not site.batch.queues or name in (*site.batch.queues, site.batch.queue)]
    return {**_known(found.room), "queue_rooms": {name: _known(found.queues[name]) for name in named}}


def _known(room: Room) -> dict[str, Any]:
    return {name: value for name, value in room._asdict().items() if value is not None}


def _live(site: Site) -> dict[str, Any]:
    """Add up the summaries of all keepers that this account may read."""
    grid_jobs, counts = 0, Counter({state.value: 0 for state in State if state is not State.UNKNOWN})
    troubles, changed, unread, waits = set(), "", 0, list[int]()
    for file in published(site, site.summary):
        try:
            summary = document(file)
            mine, jobs = Counter[str](), summary["jobs"]
            for job in jobs:
                mine.update({State(word).value: int(count) for word, count in job["counts"].items()})
            at, trouble = moment(summary["at"]), str(summary["trouble"])
            waits += [int(each) for each in summary.get("waits", ())]
        except FileNotFoundError:  # an account without grid jobs
            continue
        except ODD:
            unread += 1
            continue
        grid_jobs, changed = grid_jobs + len(jobs), max(changed, at)
        counts.update(mine)
        troubles.update({trouble} - {""})
    trouble = "; ".join(sorted(troubles))
    return {
        "grid_jobs": grid_jobs,
        "counts": dict(counts),
        "waiting_seconds": round(median(waits)) if waits else None,
        "changed": changed,
        "trouble": trouble,
        "unread": unread,
    }


def _last_test(site: Site) -> dict[str, str] | None:
    """Return the newest site test of any account that this account may read."""
    found = []
    for file in published(site, site.tested):
        try:
            test = document(file)
            found.append({name: str(test[name]) for name in TOLD} | {"at": moment(test["at"])})
        except ODD:
            continue
    return max(found, key=lambda test: test["at"], default=None)
