"""The progress that payloads publish, added up over the local jobs of a grid job."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from jim.errors import JimError
from jim.jobs import GridJob
from jim.reading.view import View
from jim.request import handler_of

ATTRIBUTE = re.compile(r'\b(name|done|total|unit)="([^"<&]{1,40})"')


class Phase(NamedTuple):
    """The progress of one phase, over all local jobs that have begun the phase."""

    name: str
    done: int
    total: int
    unit: str
    local_jobs: int

    def words(self) -> str:
        """Return the progress in words."""
        return f"{self.name} {self.done:,} of {self.total:,} {self.unit}"


def phases(view: View, job: GridJob, n: int | None = None) -> list[Phase]:
    """Return the phases of a grid job, or of one local job, in the order that the job type declares."""
    found = add_up(view.store.published(job.id, n))
    order: tuple[str, ...] = ()
    with suppress(JimError, OSError):  # the job type may no longer be installed
        order = handler_of(job.job_type, view.site.site.handlers).phases
    place = {name: number for number, name in enumerate(order)}
    return sorted(found, key=lambda phase: place.get(phase.name, len(place)))


def add_up(published: Iterable[tuple[str, int]]) -> list[Phase]:
    """Add up `<phase name done total unit/>` elements, each with its count; ignore other publications."""
    found: dict[tuple[str, str], Phase] = {}
    for content, times in published:
        facts = dict(ATTRIBUTE.findall(content)) if content.startswith("<phase ") else {}
        done, total = facts.get("done", ""), facts.get("total", "")
        if "name" not in facts or not (done.isdecimal() and total.isdecimal()):
            continue
        key = facts["name"], facts.get("unit", "")
        old = found.get(key, Phase(*key[:1], 0, 0, key[1], 0))
        so_far = old.done + times * int(done), old.total + times * int(total)
        found[key] = Phase(key[0], *so_far, key[1], old.local_jobs + times)
    return list(found.values())
