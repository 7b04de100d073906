"""An exit record as the wrapper leaves it, for tests of those who read one."""


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
