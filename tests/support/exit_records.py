"""An exit record, as the wrapper leaves it and as it is read, for tests of those who want one."""

from __future__ import annotations

from jim.evidence.exit_record import ExitRecord


def exit_record(mark: str, hour: int, manifest: str = "") -> str:
    """Give the record of a payload that ran for five seconds on node7, as batch job 4711, and exited 3."""
    return f"""\
jim-exit 1
mark {mark}
index 1
nonce 5e0c
n 0
attempt 1
host node7
batch 4711
started 2026-01-31T{hour}:00:00Z
ended 2026-01-31T{hour}:00:05Z
cpu 4.20
code 3
signal -
reason -
recovery -
{manifest}end
"""


def record(
    code: int | None = 0, signal: int | None = None, reason: str = "", recovery: str = "", refused: tuple[str, ...] = ()
) -> ExitRecord:
    """Give the record of a first attempt that has ended like that, as it is read."""
    time = "2026-01-31T12:00:00Z"
    end = (code if signal is None else None, signal, reason, recovery, (), refused)
    return ExitRecord("jim-1-1-1", 1, 0, 1, "nonce", "node7", "4711", time, time, 0.1, *end)
