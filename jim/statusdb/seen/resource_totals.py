"""What the local jobs of a grid job have used in all, by their exit records."""

from __future__ import annotations

from typing import NamedTuple

from jim.evidence.exit_record import read_exit_record
from jim.jobs import GridJob
from jim.statusdb.store import Store

MOST_RECORDS = 10_000  # more take longer than a gatekeeper waits


class Totals(NamedTuple):
    """Sums over all attempts that have an exit record."""

    hosts: tuple[str, ...]
    cores: int  # of each local job
    wall_seconds: float
    cpu_seconds: float
    peak_mb: int  # of the attempt that used most; 0: it was not measured
    started: str
    ended: str


def totals_of(store: Store, job: GridJob) -> Totals | None:
    """Return what a grid job has used; None: nothing has ended, or it has too many local jobs to tell at once."""
    attempts = store.attempts(job.id) if 0 < job.size <= MOST_RECORDS else ()
    records = [read_exit_record(each.record) for each in attempts if each.record]
    if not records:
        return None
    return Totals(
        tuple(sorted({each.host for each in records})),
        int(job.request.get("cores") or 1),
        sum(each.seconds for each in records),
        sum(each.cpu for each in records),
        max(each.peak_mb or 0 for each in records),
        min(each.started for each in records),
        max(each.ended for each in records),
    )
