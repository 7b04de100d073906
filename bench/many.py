"""Measures a real keeper with very many local jobs of one grid job, from the request to the tar, on a stub of Slurm."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import pairwise

from bench import scale_page, stub_slurm
from bench.place import HOME, Place
from bench.taking import Cpu, Figure, most_memory
from jim.clock import Clock
from jim.errors import JimError
from jim.model import State, Step
from jim.statusdb import open_store

SLOTS = 4000
MILLION = 1_000_000
SITE = """\
[batch]
system = "slurm"
commands.submit = ["{sbatch}"]
commands.query = ["{squeue}"]
commands.history = ["{squeue}"]
commands.find = ["{squeue}"]
commands.cancel = ["{scancel}"]
commands.change = ["{scontrol}"]
commands.ping = ["{scontrol}"]
[limits]
local_jobs = 10000000
"""
PARTS = 10


def through(count: int, limit: float) -> Iterator[Figure]:
    """Send local jobs through the stub, and wait for the tar, at most `limit` seconds for each part."""
    with Place() as place:
        stub = place.directory / "slurm"
        (place.state / "site.toml").write_text(SITE.format(**stub_slurm.install(stub)))
        play = [sys.executable, "-P", "-s", "-m", "bench.stub_slurm", str(stub), str(SLOTS)]
        with subprocess.Popen(play, cwd=HOME, env=place.environment | {"PYTHONPATH": str(HOME)}):
            try:
                yield from _through(place, count, limit)
            finally:
                (stub / "listing").unlink()


def _through(place: Place, count: int, limit: float) -> Iterator[Figure]:
    job = place.submit(place.herd(count))
    place.until(lambda: place.step(job) != "")
    pid, spent, memory = place.keeper(), [0.0], []
    place.until(lambda: place.step(job) not in ("accepted", "resolved"), 0.2, limit)
    for wanted in range(0, count + 1, count // PARTS):
        place.until(lambda wanted=wanted: _ended(place, job) >= wanted, 0.2, limit)
        spent.append(Cpu.of(pid).own)
        memory.append(most_memory(pid))
    place.until(lambda: place.step(job) == Step.FINISHED.value, 0.2, limit)
    spent.append(Cpu.of(pid).own)
    if pid != place.keeper():
        raise RuntimeError("the keeper was replaced meanwhile")
    size = sum(each.stat().st_size for each in place.state.glob("status.db*"))
    parts = [(after - before) / (count / PARTS) * 1000 for before, after in pairwise(spent[1:-1])]
    share = MILLION / count
    note = f"for 1,000,000: {spent[-1] * share / 60:.1f} min" if count < MILLION else ""
    yield Figure(f"{count:,} local jobs, request to tar: CPU", spent[-1] / 60, "min", 12 / share, note)
    told, points = ", ".join(f"{each:.2f}" for each in parts), [(10 * at, each) for at, each in enumerate(parts, 1)]
    yield Figure("  each, without split and tar", max(parts), "ms", None, told, scale_page.COMING[1], points)
    yield Figure("  the last tenth ÷ the first", parts[-1] / max(parts[0], 0.01), "×", 1.5)
    yield Figure("  split", spent[1] / count * 1000, "ms", note="each")
    yield Figure("  tar", (spent[-1] - spent[-2]) / count * 1000, "ms", note="each")
    yield Figure(
        "  peak memory",
        most_memory(pid),
        "MB",
        200,
        f"{memory[0]:.0f} after the split, {memory[-1]:.0f} before the tar",
    )
    yield Figure("  status DB", size / count / 1000, "kB", note="each, without the tar")


def _ended(place: Place, job: int) -> int:
    with suppress(JimError), closing(open_store(place.state, Clock())) as store:
        return store.counts(job).get(State.COMPLETED, 0)
    return 0
