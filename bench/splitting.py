"""Measures the processor time of splitters: for a list, for a long stream, their memory, and their linearity.

Started as a program, it runs one split in a process of its own and prints the measurements.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by `python -P`, which leaves it out

from bench.taking import Figure, most_memory
from jim.splitting.files_and_jobs import File
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription

AT = frozenset({"T1_Disk"})
SITES = {"T1_Disk": ("site",)}
COST = {"performance": {"timePerEvent": 12, "sizePerEvent": 400, "memoryRequirement": 2300}}
EVENTS, LUMIS, EVENTS_PER_LUMI = 250, 100, 100


def splitting(pieces: int, many: int, files: int, runs: int) -> Iterator[Figure]:
    """Split events into a list and into long streams, and lumis of many files in the default way and in jobs of ten."""
    times = [_seconds_of_list(pieces) for _ in range(runs)]
    yield Figure(f"EventBased, {pieces:,} pieces in memory", median(times), "s", 0.06, f"{runs} runs")
    fewer = [_alone("EventBased", many // 10) for _ in range(runs)]
    more = [_alone("EventBased", many) for _ in range(runs)]
    seconds, memory = median(each["seconds"] for each in more), max(each["memory"] for each in more)
    yield Figure(f"EventBased, {many:,} pieces streamed", seconds, "s", 5, f"{runs} runs")
    yield Figure(f"EventBased, {many:,} pieces: peak memory", memory, "MB", 100, "of the whole process")
    growth = seconds / median(each["seconds"] for each in fewer)
    yield Figure("ten times the pieces", growth, "×", 12, f"{many:,} against {many // 10:,}")
    for name in ("LumiBased", "EventAwareLumiBased"):
        for lumis in (1, 10):
            seconds = median(_alone(name, files, lumis)["seconds"] for _ in range(runs))
            yield Figure(f"{name}, {files:,} files × {LUMIS} lumis", seconds, "s", 0.5, f"jobs of {lumis} lumis")


def _seconds_of_list(pieces: int) -> float:
    work = _events(pieces)
    began = time.process_time()
    jobs = list(split("EventBased", {"events_per_job": EVENTS} | COST, work))
    took = time.process_time() - began
    if len(jobs) != pieces:
        raise RuntimeError(f"{len(jobs)} pieces instead of {pieces}")
    return took


def _events(pieces: int) -> Subscription:
    return Subscription((File("/data/file", events=pieces * EVENTS, locations=AT),), storage_to_sites=SITES)


def _lumis(files: int) -> Subscription:
    runs = [((n // 10, tuple(range(n * LUMIS, (n + 1) * LUMIS))),) for n in range(files)]
    each = (File(f"/data/{n:06}", 0, LUMIS * EVENTS_PER_LUMI, 0, run, AT) for n, run in enumerate(runs))
    return Subscription(tuple(each), storage_to_sites=SITES)


def _alone(name: str, amount: int, lumis: int = 1) -> dict[str, float]:
    command = [sys.executable, "-P", "-s", __file__, name, str(amount), str(lumis)]
    took: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return took


def main(name: str, amount: str, lumis: str) -> None:
    """Run one splitting as a stream, and print its seconds and the megabytes of this process."""
    if name == "EventBased":
        work, given, expected = _events(int(amount)), {"events_per_job": EVENTS}, int(amount)
    else:
        size = {"LumiBased": "lumis_per_job", "EventAwareLumiBased": "events_per_job"}[name]
        given = {size: int(lumis) * (1 if name == "LumiBased" else EVENTS_PER_LUMI)}
        work, expected = _lumis(int(amount)), int(amount) * LUMIS // int(lumis)
    began = time.process_time()
    jobs = sum(1 for _ in split(name, given | COST, work))
    took = time.process_time() - began
    if jobs != expected:
        raise RuntimeError(f"{jobs} pieces instead of {expected}")
    print(json.dumps({"seconds": took, "memory": most_memory(os.getpid())}))


if __name__ == "__main__":
    main(*sys.argv[1:])
