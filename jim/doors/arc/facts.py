"""Writes what A-REX accounts of a job, such as times and nodes, into the file beside its session directory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

from jim.clock import Clock
from jim.errors import JimError
from jim.files import read_regular, rewrite
from jim.statusdb import open_store
from jim.statusdb.seen.resource_totals import Totals, totals_of

LONGEST, MOST_NODES = 4 * 1024 * 1024, 100
FACT = re.compile("(exitcode|nodename|Processors|WallTime|UserTime|MaxResidentMemory|LRMS(Start|End)Time)=")


def write(state: Path, number: int, session: str, code: int) -> None:
    """Write the facts anew into the file; a failure costs the accounting, and not the job."""
    file = Path(f"{session}.diag")
    with suppress(OSError, JimError):
        with closing(open_store(state, Clock())) as store:
            used = totals_of(store, store.grid_job(number))
        before = read_regular(file, LONGEST).decode(errors="replace").splitlines()
        kept = [line for line in before if not FACT.match(line)]
        facts = (f"exitcode={code}", *(_lines(used) if used else ()))
        # In place: A-REX has made it for the account, which may make no other one beside it.
        rewrite(file, "".join(f"{line}\n" for line in (*kept, *facts)).encode())


def _lines(used: Totals) -> Iterator[str]:
    """Yield the facts. All local jobs of a grid job together are one job of A-REX: their times add up."""
    yield from (f"nodename={node}" for node in used.hosts[:MOST_NODES])
    yield f"Processors={used.cores}"
    yield f"WallTime={used.wall_seconds:.0f}s"
    yield f"UserTime={used.cpu_seconds:.0f}s"
    if used.peak_mb:
        yield f"MaxResidentMemory={used.peak_mb * 1024}kB"
    yield f"LRMSStartTime={_moment(used.started)}"
    yield f"LRMSEndTime={_moment(used.ended)}"


def _moment(text: str) -> str:
    return datetime.fromisoformat(text).strftime("%Y%m%d%H%M%SZ")
