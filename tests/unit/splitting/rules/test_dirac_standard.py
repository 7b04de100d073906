"""DIRAC.Standard: tasks of so many files."""

from __future__ import annotations

from jim.splitting.files_and_jobs import File
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription
from tests.unit.splitting.replicas import files, tasks

# By replicas


def test_ten_files_to_a_task_where_nothing_is_said():
    of = tuple(File(f"{n:02}", locations=frozenset("X")) for n in range(21))
    assert [len(job.files) for job in split("DIRAC.Standard", {}, Subscription(of))] == [10, 10]


def test_when_no_more_files_come_what_is_left_is_taken():
    assert tasks("DIRAC.Standard", files("a@X"), open_=False) == ["X a"]
    assert tasks("DIRAC.BySize", files("a@X"), open_=False) == ["X a"]
