"""Proves with a job of this account that HTCondor-CE hands jobs to JIM, and gets the output back."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from jim.admin.ce_service import command
from jim.admin.finding import FAILED, OK, Finding
from jim.command import run

SECONDS = 600.0
JOB = """\
universe = vanilla
executable = /bin/echo
arguments = hello from JIM
transfer_executable = false
should_transfer_files = NO
output = out
error = err
log = log
queue
"""
NAME = "job"
TOLD = "hello from JIM\n"


def with_a_job(limit: float = SECONDS) -> Finding:
    """Submit a job, and wait for its output and its end."""
    home = Path.home()  # which an account may lack
    place = Path(tempfile.mkdtemp(prefix="jim-ce-check-", dir=home if os.access(home, os.W_OK) else None))
    try:
        (place / "job.sub").write_text(JOB)
        answer = run(
            [command("submit"), "-terse", "-append", f"initialdir = {place}", str(place / "job.sub")], limit=60
        )
        if answer.code != 0:
            return Finding(NAME, FAILED, f"wrong: cannot submit a job: {answer.facts()}", "see HTCondor's message")
        return _awaited(place, answer.out.split()[0], limit)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _awaited(place: Path, number: str, limit: float) -> Finding:
    until = time.monotonic() + limit
    while time.monotonic() < until:
        log = (place / "log").read_text(errors="replace") if (place / "log").exists() else ""
        if "(return value 0)" in log and (place / "out").read_text(errors="replace") == TOLD:
            return Finding(NAME, OK, "a job came through the route to JIM, and its output came back")
        if found := re.search(r"Job was held\.\n\s*(.*)|(return value \d+)", log):
            why = found[1] or found[2]
            return _failed(number, f"wrong: the job ended with: {why}")
        time.sleep(1)
    return _failed(number, f"wrong: the job had not ended after {limit:.0f} s")


def _failed(number: str, words: str) -> Finding:
    """Remove the job, and say where to look."""
    run([command("rm"), number], limit=60)
    return Finding(NAME, FAILED, words, "see JobRouterLog and GridmanagerLog of HTCondor, and `jim status`")
