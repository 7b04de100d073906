"""Who did what, and when: what journals of grid jobs, the inbox and the logs of administrators have."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress

from jim.doors import inbox
from jim.errors import JimError
from jim.files import read_regular
from jim.jobs import Journal
from jim.model import Verb
from jim.reading.view import View
from jim.site.acts import Act, recorded
from jim.statusdb.grid.journals import REQUESTED


def acts(view: View, since: str) -> list[Act]:
    """Return what was done in a state directory and, by root, of the whole site, in the order of time."""
    files = dict.fromkeys((view.site.acts, view.site.shared_acts))
    # The inbox first: what the keeper takes meanwhile is seen twice and not missed.
    found = [*_waiting(view), *(_of_line(view, line) for line in view.store.journals.requested(since))]
    found += [act for file in files for act in recorded(file)]
    # What happened in one millisecond stays in the order of its log.
    return sorted(dict.fromkeys(each for each in found if each.at >= since), key=lambda each: each.at)


def _of_line(view: View, line: Journal) -> Act:
    """Return what a line of a journal says; the line of a submission gets the DN of the sender."""
    target = str(line.grid) if line.n is None else f"{line.grid}.{line.n}"
    if line.now.endswith(REQUESTED):
        return Act(line.at, line.now.removesuffix(REQUESTED), target, line.reason)
    sender = view.store.senders.of(line.grid)
    dn = sender.dn if sender.known or not sender.dn else f"claimed {sender.dn}"
    by = line.reason or view.store.grid_job(line.grid).owner  # taken in by a version that did not keep from where
    return Act(line.at, "submit", target, f"{by}, {dn}" if dn else by)


def _waiting(view: View) -> Iterator[Act]:
    """Return what doors have taken in, and no keeper yet."""
    for name in inbox.names(view.site.state) if (view.site.state / "inbox").is_dir() else ():
        path = view.site.state / "inbox" / name
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, JimError):
            content, seconds = json.loads(read_regular(path, inbox.LONGEST)), path.stat().st_mtime
            at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))
            what = (content["verb"], content["target"]) if "verb" in content else ("submit", content["id"])
            by = content.get("by") or content.get("owner", "")
            if what[0] == Verb.PUBLISH:  # no journal tells of publications either
                continue
            yield Act(at, str(what[0]), str(what[1]), f"{by}; no keeper has taken it yet")
