"""Measures the preparation of a grid job's area: its directory, its package, and the submission of its local jobs."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.taking import Figure
from jim.model import Job
from jim.request import check
from jim.site.file import Site, make_state
from jim.workdir.submission import Line, prepare_grid_job, prepare_submission, submission_directory

JOBS = 80  # a usual D0 request: 20,000 events, 250 in each local job
VARIABLES = {"index": "I", "id": "B", "restart": ""}


def sandbox(megabytes: int, runs: int) -> Iterator[Figure]:
    """Prepare grid jobs that send little, then some that all send the same large file."""
    with tempfile.TemporaryDirectory(prefix="jim-bench-") as directory:
        site = Site(state=Path(directory, "state"))
        make_state(site)
        small, large = Path(directory, "card.txt"), Path(directory, "large.bin")
        small.write_text("mass 80\n")
        with large.open("wb") as file:
            for _ in range(megabytes):
                file.write(os.urandom(1_000_000))
        times = [_prepared(site, grid, small) for grid in range(1, runs + 1)]
        yield Figure(f"the area of {JOBS} local jobs prepared", median(times), "s", 0.3, f"{runs} runs")
        first, *others = (_prepared(site, grid, large) for grid in range(runs + 1, runs + 4))
        yield Figure(f"the same with {megabytes:,} MB sent along", first, "s", note="packed and written once")
        yield Figure("  by another grid job", median(others), "s", note="read and found to be there")


def _prepared(site: Site, grid: int, sent: Path) -> float:
    handler, request = check({"job_type": "pythia_monte_carlo", "events": 20_000, "inputs": [str(sent)]})
    began = time.perf_counter()
    place = site.work / str(grid)
    place.mkdir(exist_ok=True)
    prepare_grid_job(site, place, handler, request)
    lines = [Line(Job(grid, f"key-{grid}", n, 1), ("/bin/true", str(n))) for n in range(JOBS)]
    prepare_submission(submission_directory(place, 1), VARIABLES, [("mark", f"jim-1-{grid}-1")], lines)
    return time.perf_counter() - began
