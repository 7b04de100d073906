"""Describes a site and its load for those who send it grid jobs: a collector or a request broker."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from jim import __version__
from jim.admin.gram_service import job_types
from jim.clock import Clock
from jim.errors import JimError
from jim.files import read_regular
from jim.model import State
from jim.site.drain import in_words
from jim.site.file import Site

# Errors while reading a file that another account, or another version of JIM, has written.
ODD = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, JimError)
LONGEST = 64 * 1024 * 1024  # bytes of a keeper's summary
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
        **_live(site),
        "site_test": _last_test(site),
    }


def _live(site: Site) -> dict[str, Any]:
    """Add up the summaries of all keepers that this account may read."""
    grid_jobs, counts = 0, Counter({state.value: 0 for state in State if state is not State.UNKNOWN})
    troubles, changed, unread = set(), "", 0
    for file in _published(site, site.summary):
        try:
            summary = _read(file)
            mine, jobs = Counter[str](), summary["jobs"]
            for job in jobs:
                mine.update({State(word).value: int(count) for word, count in job["counts"].items()})
            at, trouble = _time(summary["at"]), str(summary["trouble"])
        except FileNotFoundError:  # an account without grid jobs
            continue
        except ODD:
            unread += 1
            continue
        grid_jobs, changed = grid_jobs + len(jobs), max(changed, at)
        counts.update(mine)
        troubles.update({trouble} - {""})
    trouble = "; ".join(sorted(troubles))
    return {"grid_jobs": grid_jobs, "counts": dict(counts), "changed": changed, "trouble": trouble, "unread": unread}


def _last_test(site: Site) -> dict[str, str] | None:
    """Return the newest site test of any account that this account may read."""
    found = []
    for file in _published(site, site.tested):
        try:
            test = _read(file)
            found.append({name: str(test[name]) for name in TOLD} | {"at": _time(test["at"])})
        except ODD:
            continue
    return max(found, key=lambda test: test["at"], default=None)


def _published(site: Site, own: Path) -> Iterator[Path]:
    """Return the path of a published file, for each account of a managed site; elsewhere for this account only."""
    if not site.managed:
        yield own
        return
    places = own.parent.parent
    for place in sorted(places.iterdir()) if places.is_dir() else ():  # also those that this account may not read
        if place.is_dir():
            yield place / own.name


def _time(text: str) -> str:
    """Return a time as written, if it is one."""
    datetime.fromisoformat(text)
    return text


def _read(file: Path) -> dict[str, Any]:
    """Read a file of another account, but no link to another place."""
    document = json.loads(read_regular(file, LONGEST))
    if not isinstance(document, dict):
        raise TypeError(f"{file} is not a JSON object")
    return document
