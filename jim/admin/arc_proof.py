"""Proves with a job of this account that A-REX hands jobs to JIM, and that the output comes back."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from jim.admin import arc_service
from jim.admin.finding import FAILED, OK, WARNING, Finding
from jim.command import run

SECONDS, PAUSE = 600.0, 3.0
NAME = "job"
TOLD = "hello from JIM\n"
JOB = '&(executable="/bin/echo")(arguments="hello from JIM")(stdout="out")(jobname="jim-arc-check")\n'
KEPT = ("X509_USER_PROXY", "X509_USER_CERT", "X509_USER_KEY", "X509_CERT_DIR")  # where clients find credentials


def with_a_job(variables: dict[str, str], limit: float = SECONDS) -> Finding:
    """Submit a job as this account's grid user, and wait for its output."""
    where = arc_service.places()
    url = arc_service.setting(where.location, where.configuration, "arex/ws", "wsurl")
    if not shutil.which("arcsub") or not url:
        todo = "install nordugrid-arc-client; make a proxy with arcproxy"
        return Finding(NAME, WARNING, "no job was tried: there is no arcsub here, or A-REX has no wsurl", todo)
    client = ["env", *(f"{name}={variables[name]}" for name in KEPT if name in variables)]
    place = Path(tempfile.mkdtemp(prefix="jim-arc-check-"))
    try:
        (place / "job.xrsl").write_text(JOB)
        words = ["arcsub", "-j", str(place / "jobs"), "-C", url, "-T", "arcrest", "-Q", "NONE", str(place / "job.xrsl")]
        answer = run([*client, *words], limit=120)
        if answer.code != 0 or not answer.out.split():
            return Finding(NAME, FAILED, f"cannot submit a job: {answer.facts()}", "see A-REX's log")
        return _awaited([*client], place, answer.out.split()[-1], limit)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _awaited(client: list[str], place: Path, job: str, limit: float) -> Finding:
    jobs, until = ["-j", str(place / "jobs")], time.monotonic() + limit
    while time.monotonic() < until:
        seen = run([*client, "arccat", *jobs, "-o", job], limit=60)
        state = run([*client, "arcstat", *jobs, job], limit=60).out
        if "Finished" in state and seen.out == TOLD:
            run([*client, "arcclean", *jobs, "-f", job], limit=60)
            return Finding(NAME, OK, "a job came through A-REX to JIM, and its output came back")
        if "Failed" in state:
            return Finding(NAME, FAILED, f"the job failed: {' '.join(state.split())}", f"see arccat -l {job}")
        time.sleep(PAUSE)
    return Finding(NAME, FAILED, f"the job had not ended after {limit:.0f} s", f"see arcstat -l {job}")
