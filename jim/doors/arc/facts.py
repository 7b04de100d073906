"""Writes what A-REX accounts of a job, such as times and nodes, into the file beside its session directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

from jim.clock import Clock
from jim.errors import JimError
from jim.evidence.exit_record import ExitRecord, read_exit_record
from jim.files import read_regular, replace
from jim.statusdb import open_store

LONGEST = 4 * 1024 * 1024
MOST_RECORDS, MOST_NODES = 10_000, 100  # more would take longer than an account has
NAMES = (
    "exitcode",
    "nodename",
    "Processors",
    "WallTime",
    "UserTime",
    "MaxResidentMemory",
    "LRMSStartTime",
    "LRMSEndTime",
)


def write(state: Path, number: int, session: str, code: int) -> None:
    """Replace the facts in the file; a failure costs the accounting, and not the job."""
    file = Path(f"{session}.diag")
    with suppress(OSError, JimError):
        with closing(open_store(state, Clock())) as store:
            job = store.grid_job(number)
            attempts = store.attempts(number) if 0 < job.size <= MOST_RECORDS else ()
            records = [read_exit_record(each.record) for each in attempts if each.record]
        cores = int(job.request.get("cores") or 1)
        before = read_regular(file, LONGEST).decode(errors="replace").splitlines()
        kept = [line for line in before if line.partition("=")[0] not in NAMES]
        replace(file, "".join(f"{line}\n" for line in (*kept, *_lines(records, cores, code))).encode())


def _lines(records: Sequence[ExitRecord], cores: int, code: int) -> Iterator[str]:
    """Yield the facts. All local jobs of a grid job together are one job of A-REX: their times add up."""
    yield f"exitcode={code}"
    if not records:
        return
    for node in sorted({each.host for each in records})[:MOST_NODES]:
        yield f"nodename={node}"
    yield f"Processors={cores}"
    yield f"WallTime={sum(each.seconds for each in records):.0f}s"
    yield f"UserTime={sum(each.cpu for each in records):.0f}s"
    if memory := max((each.peak_mb or 0 for each in records), default=0):
        yield f"MaxResidentMemory={memory * 1024}kB"
    yield f"LRMSStartTime={_moment(min(each.started for each in records))}"
    yield f"LRMSEndTime={_moment(max(each.ended for each in records))}"


def _moment(text: str) -> str:
    return datetime.fromisoformat(text).strftime("%Y%m%d%H%M%SZ")
