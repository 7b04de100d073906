"""Measures the local batch system alone: very many short tasks on two slots, beside GNU parallel where that is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from statistics import median

from bench.place import HOME, LIMIT_SECONDS, Place
from bench.taking import Figure, alternate
from jim.clock import Clock
from jim.localbatch.area import connect
from jim.localbatch.queue import Queue

SLOTS, TASK = "2", "/bin/true"


def short_tasks(tasks: int, runs: int) -> Iterator[Figure]:
    """Run an array of /bin/true; let GNU parallel do the same in alternating runs."""
    parallel = shutil.which("parallel")
    with Place() as place, closing(connect(place.directory / "area")) as db:
        _call(place, "init", "--slots", SLOTS)
        ours = partial(_by_us, place, Queue(db, Clock()), tasks)
        taken = alternate(runs, ours, *([partial(_by_parallel, parallel, tasks)] if parallel else []))
    took = [median(each) for each in taken]
    told = f"wall, {tasks / took[0]:,.0f} a second, {runs} runs"
    yield Figure(f"local batch, {tasks:,} × {TASK} on {SLOTS} slots, each", took[0] / tasks * 1000, "ms", 10, told)
    if parallel:
        told = f"{took[0]:.1f} s ÷ {took[1]:.1f} s, medians of {runs} alternating runs"
        yield Figure("  of GNU parallel's time", took[0] / took[1], "×", 1, told)
    else:
        yield Figure("  of GNU parallel's time", 0, "×", note="not compared: there is no command `parallel` here")


def _call(place: Place, *words: str) -> None:
    command = [sys.executable, "-s", "-m", "jim.localbatch", "--area", str(place.directory / "area"), *words]
    subprocess.run(command, env=place.environment, cwd=HOME, stdout=subprocess.DEVNULL, timeout=60, check=True)


def _by_us(place: Place, queue: Queue, tasks: int) -> float:
    began = time.perf_counter()
    _call(place, "submit", "--name", "bench", "--array", str(tasks), TASK)
    while queue.counts():
        if time.perf_counter() - began > LIMIT_SECONDS:
            raise RuntimeError(f"still in the queue: {queue.counts()}")
        time.sleep(0.01)
    return time.perf_counter() - began


def _by_parallel(parallel: str, tasks: int) -> float:
    began = time.perf_counter()
    command = [parallel, "--will-cite", "-j", SLOTS, TASK, ":::", *map(str, range(tasks))]
    subprocess.run(command, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, check=True)
    return time.perf_counter() - began
