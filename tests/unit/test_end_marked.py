"""Ending a batch command that outlived its keeper, and nothing else."""

from __future__ import annotations

import subprocess

import pytest

from jim.command import end_marked


@pytest.fixture
def sleeper():
    started = []

    def start(**environment):
        started.append(subprocess.Popen(["/bin/sleep", "600"], env=environment))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


def test_the_command_of_this_mark_is_ended_and_no_other(sleeper):
    mine, other = sleeper(JIM_COMMAND_OF="jim-a-1-1"), sleeper(JIM_COMMAND_OF="jim-a-1-11")
    assert end_marked("jim-a-1-1", "BATCH_ID") == [mine.pid]
    assert mine.wait(10) == -9
    assert other.poll() is None


def test_the_job_that_inherited_the_mark_from_its_batch_command_is_spared(sleeper):
    job = sleeper(JIM_COMMAND_OF="jim-a-1-1", BATCH_ID="4711")
    assert end_marked("jim-a-1-1", "BATCH_ID") == []
    assert job.poll() is None
