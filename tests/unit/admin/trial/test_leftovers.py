"""Cleaning up after killed site tests."""

from __future__ import annotations

from tests.faults.real import until
from tests.unit.admin.trial.ended import alive, running


def test_what_runs_is_no_leftover_and_what_was_killed_is_swept_by_the_next(tried):
    process, payloads = running(tried)
    done = tried.program("--load", "1")
    assert done.returncode == 0, done.stdout
    assert "left by" not in done.stdout
    assert all(map(alive, payloads))
    process.kill()
    process.communicate()
    assert tried.leftovers() != []
    done = tried.test("--load", "1")
    assert done.returncode == 0, done.stdout
    assert ", left by a killed site test: its jobs were cancelled, its files removed" in done.stdout
    assert tried.leftovers() == []
    until(lambda: not any(map(alive, payloads)), "their end")


def test_what_another_batch_system_was_given_is_only_named(tried):
    place = tried.state / "site-test-slurm-abcdefgh"
    place.mkdir()
    done = tried.test("--load", "1")
    assert done.returncode == 1
    assert f"warning  leftovers: {place}" in done.stdout
    assert f"rm -r {place}" in done.stdout
    assert place.is_dir()
