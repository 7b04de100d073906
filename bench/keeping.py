"""Measures a real keeper: time and memory to split, and processor time of each local job."""

from __future__ import annotations

import os
from collections.abc import Iterator
from statistics import median

from bench.place import Place
from bench.taking import Cpu, Figure, cpu_of, most_memory

TRUE = ("/bin/true",)
# A new file on ext4 costs up to twice as much after thousands of files were removed: for a minute, and for five where
# the disk has not taken the removal yet, ext4 does not use their inodes again, and looks at each of them.
IN_MEMORY = "/dev/shm"
# With half a millisecond to spare on two quiet processors.
BOUNDS = {"wrapper, without its payload": 11.0}


def split(pieces: int, runs: int) -> Iterator[Figure]:
    """Hand in very many pieces, and wait until they are stored as local jobs."""
    kinds = {"events": "pieces", "true_jobs": "argument sets", "herd": "pieces of a splitter"}
    for kind, words in kinds.items():
        with Place(queued=1) as place:
            place.block()  # and so none of them is sent
            idle = most_memory(place.keeper())
            file = getattr(place, kind)(pieces)
            times = [_until_split(place, file) for _ in range(runs)]
            memory = most_memory(place.keeper())
        name = f"{pieces:,} {words}"
        each = ", ".join(f"{seconds:.2f}" for seconds in times)
        yield Figure(f"{name} split and stored", median(times), "s", 5, f"from the id printed; runs: {each}")
        yield Figure(f"{name}: keeper's peak memory", memory, "MB", 200, f"{idle:.0f} MB before; {runs} grid jobs")


def _until_split(place: Place, file: str) -> float:
    job = place.submit(file)
    return place.until(lambda: place.step(job) == "split")


def short_jobs(jobs: int) -> Iterator[Figure]:
    """Run /bin/true very often; what this costs beyond the payload's own process is JIM's."""
    below = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    with Place(slots=2, below=below) as place:
        _finish(place, 4)  # keeper and daemon run now, and have loaded what they need
        processes = place.keeper(), place.daemon()
        before = [Cpu.of(pid) for pid in processes]
        payload = median(cpu_of(TRUE) for _ in range(jobs // 2 + 1))
        took = _finish(place, jobs)
        payload = median((payload, median(cpu_of(TRUE) for _ in range(jobs // 2 + 1))))
        keeper, daemon = (Cpu.of(pid).since(was) for pid, was in zip(processes, before, strict=True))
        if processes != (place.keeper(), place.daemon()):
            raise RuntimeError("the keeper or the daemon was replaced meanwhile")
    parts = {
        "wrapper, without its payload": daemon.children / jobs - payload,
        "keeper": keeper.own / jobs,
        "keeper's batch commands": keeper.children / jobs,
        "local batch daemon": daemon.own / jobs,
    }
    without = f"the payload's {payload * 1000:.2f} ms not counted"
    note = f"{jobs} × /bin/true on 2 slots in {took:.1f} s, below {place.directory.parent}; {without}"
    yield Figure("CPU per local job, all of JIM", sum(parts.values()) * 1000, "ms", 25, note)
    for name, seconds in parts.items():
        yield Figure(f"  of it {name}", seconds * 1000, "ms", BOUNDS.get(name))


def _finish(place: Place, jobs: int) -> float:
    """Run a grid job to its end, which must be a good one."""
    job = place.submit(place.true_jobs(jobs))
    took = place.until(lambda: place.step(job) == "finished", pause=0.1)
    place.until(lambda: place.answer(job) == "GRAM_SCRIPT_JOB_STATE:8\n\n")
    return took
