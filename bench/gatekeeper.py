"""Measures the requests that GRAM's job managers repeat: polls within one Perl process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from statistics import median

from bench.place import HOME, Place
from bench.taking import Figure

POLLS, STUBS, MODULE = HOME / "bench/polls.pl", HOME / "tests/globus_stubs", HOME / "shell/gram/samgrid.pm"
ACTIVE, EVERY_SECONDS = 1000, 10


def polls(jobs: int, rounds: int) -> Iterator[Figure]:
    """Poll grid jobs that wait, by the module that GRAM loads; what it inherits from GRAM is a stand-in."""
    with Place() as place:
        place.block()
        request = place.true_jobs(1)
        numbers = [place.submit(request) for _ in range(jobs)]
        place.until(lambda: all(place.answer(each).startswith("GRAM_SCRIPT_JOB_STATE:1\n") for each in numbers))
        command = ["perl", f"-I{STUBS}", str(POLLS), str(MODULE), str(rounds), *map(str, numbers)]
        done = subprocess.run(command, env=place.environment, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command[:4])}: {done.stderr}")
    *times, cpu = map(float, done.stdout.split())
    yield Figure(
        f"poll in GRAM's Perl process, {jobs:,} active", median(times) * 1000, "ms", 2, f"{len(times):,} polls"
    )
    cores = cpu * ACTIVE / EVERY_SECONDS
    yield Figure(
        f"{ACTIVE:,} active, each polled every {EVERY_SECONDS} s", cores, "cores", 0.2, f"{jobs:,} measured, scaled"
    )
