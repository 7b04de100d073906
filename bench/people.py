"""Measures what people's commands cost, where very much is stored: time, and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.place import HOME
from bench.taking import Figure
from jim.clock import Clock
from jim.jobs import Change
from jim.model import Piece, State, Step, SubmissionState, Witness
from jim.request import check
from jim.site.file import Site, make_state
from jim.statusdb import open_store

PER_SUBMISSION = 1000


# The memory of a child that the kernel tells begins with that of its parent.
MEMORY = """
import sys
from jim.cli import main
code = main(sys.argv[2:])
with open("/proc/self/status") as status, open(sys.argv[1], "w") as told:
    told.write(status.read())
sys.exit(code)
"""


class Cost(NamedTuple):
    """What a command took."""

    wall: float
    cpu: float


def command(state: Path, *words: str) -> Cost:
    """Run `jim`, and return what it took."""
    environment = {"PATH": "/usr/bin:/bin", "JIM_STATE": str(state), "JIM_PYTHON": sys.executable}
    nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.perf_counter()
    pid = os.posix_spawn(HOME / "shell/jim", ["jim", *words], environment, file_actions=nothing)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"jim {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(time.perf_counter() - began, used.ru_utime + used.ru_stime)


def most_memory(state: Path, *words: str) -> float:
    """Run `jim`, and return the most memory that it had, in MB."""
    environment = {"PATH": "/usr/bin:/bin", "JIM_STATE": str(state), "PYTHONPATH": str(HOME)}
    told = state / "told"
    program = [sys.executable, "-P", "-s", "-c", MEMORY, str(told), *words]
    subprocess.run(program, env=environment, stdout=subprocess.DEVNULL, check=True)
    line = next(line for line in told.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1000


def often(state: Path, *words: str, runs: int = 15) -> Cost:
    """Return the median times of several runs; one run before them does not count."""
    command(state, *words)
    walls, cpus = zip(*(command(state, *words) for _ in range(runs)), strict=True)
    return Cost(median(walls), median(cpus))


def start_up(state: Path, ended: int) -> Iterator[Figure]:
    """Ask for all grid jobs, of which very many have ended, and for the version."""
    status, version = often(state, "status"), often(state, "--version")
    yield Figure(f"jim status with {ended:,} ended", status.wall * 1000, "ms", 70, f"CPU {status.cpu * 1000:.0f} ms")
    yield Figure("jim --version", version.wall * 1000, "ms", 15)


def reading(place: Path, count: int) -> Iterator[Figure]:
    """Show all of a grid job, and a single local job of it."""
    large, small = _stored(place / "large", count), _stored(place / "small", 10)
    memory = most_memory(large, "show", "1", "--all", "--json")
    yield Figure(f"jim show --all --json of {count:,}: memory", memory, "MB", 64)
    for words in (("explain", f"1.{count - 1}"), ("show", f"1.{count - 1}")):
        one, few = often(large, *words), often(small, words[0], "1.9")
        note = f"{one.cpu * 1000:.0f} ms ÷ {few.cpu * 1000:.0f} ms of a grid job of 10"
        yield Figure(f"jim {words[0]} G.n of {count:,}: CPU", one.cpu / few.cpu, "×", 1.2, note)
    one, few = often(large, "explain", "1"), often(small, "explain", "1")
    note = f"{one.cpu * 1000:.0f} ms ÷ {few.cpu * 1000:.0f} ms of a grid job of 10"
    yield Figure(f"jim explain G of {count:,}: CPU", one.cpu / few.cpu, "×", note=note)


def _stored(state: Path, count: int) -> Path:
    """Store a grid job of which a third has completed, a third has failed, and a third runs; return its directory."""
    sets = [[str(n)] for n in range(2)]
    asked = check({"job_type": "parametric", "executable": "/bin/true", "argument_sets": sets})[1]
    site = Site(state=state)
    make_state(site)
    with closing(open_store(state, Clock(), write=True)) as store, store.transaction():
        store.add_grid_job(1, "k", "me", store.clock.utc(), asked)
        store.set_grid_job(1, step=Step.RESOLVED, place="1")
        store.add_pieces(1, 0, (Piece(arguments=(str(n),)) for n in range(count)))
        store.end_split(1, count)
        for k, first in enumerate(range(0, count, PER_SUBMISSION), 1):
            store.intend(1, k, f"jim-cafe0001-1-{k}", store.local_jobs(1, (State.WAITING,), limit=PER_SUBMISSION))
            store.set_submission(1, k, state=SubmissionState.CONFIRMED, batch_id=str(k))
            numbers = range(first, min(first + PER_SUBMISSION, count))
            for now, those in zip((State.COMPLETED, State.FAILED, State.RUNNING), _thirds(numbers), strict=True):
                store.change([Change(1, 1, State.SUBMITTING, now, Witness.CLAIM, those)])
        store.set_grid_job(1, step=Step.ACTIVE)
    return state


def _thirds(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    return (numbers[third::3] for third in range(3))
