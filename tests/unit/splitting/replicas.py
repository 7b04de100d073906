"""Files with replicas at storages, and the tasks made of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription

PLACED = st.lists(st.tuples(st.text("XYZW", min_size=1, max_size=3), st.integers(0, 40)), min_size=1, max_size=25).map(
    lambda told: tuple(
        File(chr(ord("a") + n), size=size, locations=frozenset(storages)) for n, (storages, size) in enumerate(told)
    )
)


def files(*told: str) -> tuple[File, ...]:
    """Read `a@XY:60`: a file of 60 bytes at the storages X and Y."""
    found = []
    for each in told:
        lfn, _, rest = each.partition("@")
        storages, _, size = rest.partition(":")
        found.append(File(lfn, size=int(size or 1), locations=frozenset(storages)))
    return tuple(found)


def shown(job: SplitJob) -> str:
    """Write `XY abc`: files a, b and c at the storages X and Y."""
    return f"{''.join(sorted(job.locations or ()))} {''.join(each.lfn for each in job.files)}"


def tasks(name: str, of: tuple[File, ...], *, open_: bool = True, **parameters: Any) -> list[str]:
    return [shown(job) for job in split(name, parameters, Subscription(of, open=open_))]
