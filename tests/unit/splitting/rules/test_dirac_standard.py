"""DIRAC.Standard: tasks of so many files."""

from __future__ import annotations

from typing import Any

from jim.splitting.files_and_jobs import File, SplitJob
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription


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


# InputDataBySE


# By replicas


def test_ten_files_to_a_task_where_nothing_is_said():
    of = tuple(File(f"{n:02}", locations=frozenset("X")) for n in range(21))
    assert [len(job.files) for job in split("DIRAC.Standard", {}, Subscription(of))] == [10, 10]


def test_when_no_more_files_come_what_is_left_is_taken():
    assert tasks("DIRAC.Standard", files("a@X"), open_=False) == ["X a"]
    assert tasks("DIRAC.BySize", files("a@X"), open_=False) == ["X a"]


# By size
