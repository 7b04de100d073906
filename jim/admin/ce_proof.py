"""Proves with a job of this account that HTCondor-CE hands jobs to JIM, and gets the output back."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from jim.admin.ce_service import command
from jim.admin.finding import FAILED, OK, Finding
from jim.command import run

SECONDS = 600.0
# Spooled, as jobs of grid users are: JIM writes into no directory that a job names itself.
JOB = """\
universe = vanilla
executable = /bin/echo
arguments = hello from JIM
transfer_executable = false
output = out
error = err
queue
"""
NAME = "job"
TOLD = "hello from JIM\n"
COMPLETED, HELD, SPOOLING = "4", "5", "16"  # HTCondor's numbers: states, and why a job is held while its files come in


def with_a_job(limit: float = SECONDS) -> Finding:
    """Submit a job, and wait for its end and its output."""
    place = Path(tempfile.mkdtemp(prefix="jim-ce-check-"))
    try:
        (place / "job.sub").write_text(JOB)
        words = [command("submit"), "-spool", "-terse", "-append", f"initialdir = {place}", str(place / "job.sub")]
        answer = run(words, limit=60)
        if answer.code != 0:
            return Finding(NAME, FAILED, f"cannot submit a job: {answer.facts()}", "see HTCondor's message")
        number = answer.out.split()[0]
        finding = _awaited(place, number, limit)
        run([command("rm"), number], limit=60)  # what was spooled stays in the queue until it is removed
        return finding
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _awaited(place: Path, number: str, limit: float) -> Finding:
    until = time.monotonic() + limit
    while time.monotonic() < until:
        state, code, held, why = _state(number)
        if state == HELD and held != SPOOLING:
            return _failed(f"the job was held: {why}")
        if state == COMPLETED:
            return _fetched(place, number, code)
        time.sleep(1)
    return _failed(f"the job had not ended after {limit:.0f} s")


def _state(number: str) -> list[str]:
    """Return the state of a job, its exit code, and why it is held: a number, and words."""
    words = [command("q"), number, "-af:t", "JobStatus", "ExitCode", "HoldReasonCode", "HoldReason"]
    fields = run(words, limit=60).out.strip().split("\t")
    return fields if len(fields) == 4 else [""] * 4


def _fetched(place: Path, number: str, code: str) -> Finding:
    """Look at what a job that has ended has brought back."""
    if code != "0":
        return _failed(f"the job ended with exit code {code}")
    answer = run([command("transfer_data"), number], limit=60)
    out = place / "out"
    if answer.code != 0 or not out.exists() or out.read_text(errors="replace") != TOLD:
        return _failed(f"the job ended well, but its output did not come back: {answer.facts()}")
    return Finding(NAME, OK, "a job came through the route to JIM, and its output came back")


def _failed(words: str) -> Finding:
    return Finding(NAME, FAILED, words, "see JobRouterLog and GridmanagerLog of HTCondor, and `jim status`")
