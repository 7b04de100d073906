"""Measures the two commands that a gatekeeper waits for: poll and submit."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.place import HOME, Place
from bench.taking import Figure, alternate, cpu_of, ratio, seconds_of
from jim.admin import ce_service
from jim.doors import inbox

POLL, SUBMIT = str(HOME / "shell/jim-poll"), str(HOME / "shell/jim-submit")
BARE_SHELL = ("/bin/sh", "-c", ":")
BARE_PYTHON = (sys.executable, "-I", "-S", "-c", "pass")


# Poll


def poll(pieces: int, runs: int) -> Iterator[Figure]:
    """Poll a grid job that a keeper keeps, against a shell that does nothing."""
    with Place() as place:
        place.block()
        job = place.submit(place.true_jobs(pieces))
        place.until(lambda: place.answer(job).startswith("GRAM_SCRIPT_JOB_STATE:1\n"))
        trap, ran = _trap(place.directory)
        environment = place.environment | {"JIM_PYTHON": trap}
        shown = place.directory / "shown"
        times = alternate(
            runs,
            partial(seconds_of, (POLL, str(job)), environment),
            partial(seconds_of, BARE_SHELL, environment),
        )
        seconds_of((POLL, str(job)), environment, str(shown))  # by itself: a file takes longer to write than a pipe
        if shown.read_text() != place.answer(job):
            raise RuntimeError(f"a poll printed {shown.read_text()!r} instead of {place.answer(job)!r}")
        starts = len(ran.read_text().splitlines()) if ran.exists() else 0
        _prove(place, environment, ran, starts)
    yield ratio(f"poll of {pieces:,} pieces", 2, times, "sh -c :")
    yield Figure("Pythons started by these polls", starts, "", 0, "trapped by JIM_PYTHON; the trap was proved to work")


def _trap(directory: Path) -> tuple[str, Path]:
    """Make a Python that only tells that it was started: every start of one by the doors goes by JIM_PYTHON."""
    trap, ran = directory / "python-trap", directory / "python-ran"
    trap.write_text(f"#!/bin/sh\necho ran >>'{ran}'\n")
    trap.chmod(0o700)
    return str(trap), ran


def _prove(place: Place, environment: dict[str, str], ran: Path, starts: int) -> None:
    """Poll where no heart beats: now the trap must speak."""
    dead = place.directory / "dead"
    for name in ("inbox", "answers"):
        (dead / name).mkdir(parents=True)
    seconds_of((POLL, "1"), environment | {"JIM_STATE": str(dead)})
    place.until(lambda: ran.exists() and len(ran.read_text().splitlines()) > starts)


# The status call of HTCondor-CE, which calls it for each job: 5 times a second, however many jobs there are

CALLS_A_SECOND = 5  # GRIDMANAGER_JOB_PROBE_RATE
FIRST_LINE = 'IFS= read -r line <"$1"; printf "%s\n" "$line"'


def condor(calls: int) -> Iterator[Figure]:
    """Ask for the state of a job as blahpd does, by a script as `jim ce register` writes it."""
    with Place() as place:
        place.block()
        submitted = [
            str(HOME / "shell/condor/jim_submit.sh"),
            "-j",
            "ce#1.0",
            "-c",
            "/bin/true",
            "-w",
            str(place.directory),
        ]
        seconds_of(submitted, place.environment)
        place.until(lambda: "JobStatus=1" in place.answer(2))
        script = place.directory / "jim_status.sh"
        script.write_text(ce_service.script("status", ""))
        script.chmod(0o700)
        command, answer = (str(script), "jim/20261123/2"), str(place.state / "answers/2")
        times = alternate(
            calls,
            partial(seconds_of, command, place.environment),
            partial(seconds_of, ("/bin/sh", "-c", FIRST_LINE, "sh", answer), place.environment),
        )
        used = sum(cpu_of(command, place.environment) for _ in range(calls)) / calls
    yield ratio("status call of HTCondor-CE", 2, times, "sh -c that prints one line of a file")
    cores = used * CALLS_A_SECOND
    yield Figure(
        "1,000 jobs of HTCondor-CE asked about", cores, "cores", 0.2, f"{used * 1000:.2f} ms of CPU for a call"
    )


# The scan of ARC: one call for all jobs

SCAN_SECONDS = 10.0  # between two scans of A-REX
LOOK = 'for file in "$1"/processing/job.*.status; do { read -r word <"$file"; } 2>/dev/null; done; :'


def arc(jobs: int, calls: int) -> Iterator[Figure]:
    """Ask for the ends of jobs as A-REX does: of none, and of very many that run."""
    with Place() as place:
        place.block()
        control = place.directory / "control"
        (control / "processing").mkdir(parents=True)
        scan = (str(HOME / "shell/arc/scan-jim-job"), "--config", "none", str(control))
        times = alternate(
            calls,
            partial(seconds_of, scan, place.environment),
            partial(seconds_of, ("/bin/sh", "-c", LOOK, "sh", str(control)), place.environment),
        )
        for number in range(2, jobs + 2):
            _hand_to_jim(place, control, number)
        used = min(cpu_of(scan, place.environment) for _ in range(5))
    yield ratio("scan of ARC without jobs", 2, times, "sh -c that reads a directory")
    told = f"{used * 1000:.0f} ms of CPU for a scan, every {SCAN_SECONDS:.0f} s"
    yield Figure(f"{jobs:,} jobs of ARC asked about", used / SCAN_SECONDS, "cores", 0.2, told)


def _hand_to_jim(place: Place, control: Path, number: int) -> None:
    """Write the files of a job of A-REX that runs in JIM."""
    name = f"{number:08d}"
    (control / f"processing/job.{name}.status").write_text("INLRMS\n")
    (control / f"job.{name}.local").write_text(f"localid={os.getuid()}.{number}\nsessiondir={control}/{name}\n")
    (place.state / "answers" / str(number)).write_text("running\n1 of 1 local job runs\n")
    (place.state / "keys" / inbox.request_name(name)).write_text(json.dumps({"id": number}))


# Submit


def submit(pieces: int, runs: int) -> Iterator[Figure]:
    """Submit one piece and very many, with a keeper and without, against a Python that does nothing."""
    bare = partial(seconds_of, BARE_PYTHON, {})
    with Place(queued=1) as place:
        place.block()  # and so nothing else is sent
        one, many = _requests(place, pieces)
        times = alternate(runs, partial(seconds_of, (SUBMIT, one), place.environment), bare)
        yield ratio("submit 1 piece, warm", 10, times, "python -I -S -c pass")
        # It holds its lock, but must not split on one of our processors what was handed in a moment ago.
        os.kill(place.keeper(), signal.SIGSTOP)
        times = alternate(runs, partial(seconds_of, (SUBMIT, many), place.environment), bare)
        yield ratio(f"submit {pieces:,} pieces, warm", 10, times, "the same; keeper stopped meanwhile")
    for which, count in enumerate((1, pieces)):
        times = alternate(runs, partial(_cold, which, pieces), bare)
        yield ratio(f"submit {count:,} piece{'s' * (count > 1)}, cold", 10, times, "the same; starts a keeper")


def _requests(place: Place, pieces: int) -> tuple[str, str]:
    return place.request("one", job_type="executable", executable="/bin/true"), place.events(pieces)


def _cold(which: int, pieces: int) -> float:
    """Submit into a new state directory; the keeper that this starts is ended before it gets far."""
    with Place() as place:
        return seconds_of((SUBMIT, _requests(place, pieces)[which]), place.environment)
