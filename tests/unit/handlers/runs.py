"""Input files by run, and how CDF's job types split them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from jim.model import Job
from jim.request import check, read
from jim.site.settings import General
from jim.work.pieces import herd_of

HOME = Path(__file__).parents[3]
EXAMPLES, STANDINS = HOME / "examples", HOME / "examples/standins"
JOB = Job(grid_job=12, key="k", n=3, attempt=1)

RUNS = [
    {"lfn": "b1", "size": 10, "events": 1, "runs": {"2": [1]}},
    {"lfn": "a1", "size": 10, "events": 1, "runs": {"1": [1]}},
    {"lfn": "a2", "size": 10, "events": 1, "runs": {"1": [2]}},
]


def run(place, command, **environment):
    path = f"{STANDINS}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=place, env={"PATH": path, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


def split(name, **more):
    """Split an example whose dataset was looked up; give what its local jobs run."""
    handler, request = check(read(EXAMPLES / name) | {"dataset": None, "input_files": RUNS, **more})
    pieces = herd_of(handler, request, 12, General(), 100)
    return [list(handler.command_and_arguments(request, JOB._replace(n=n), piece)) for n, piece in enumerate(pieces)]
