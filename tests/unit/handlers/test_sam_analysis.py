"""The job type sam_analysis."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from jim.model import Job, Piece
from jim.request import check, read
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
    pieces = herd_of(handler, request, 12, "here", 100)
    return [list(handler.command_and_arguments(request, JOB._replace(n=n), piece)) for n, piece in enumerate(pieces)]


def test_an_analysis_runs_over_the_files_of_its_dataset(tmp_path):
    counting = ["sh", "-c", 'cd "${SAM_STORAGE:-.}" && exec wc -w "$@"', "count"]
    commands = split("d0/analysis.toml")
    assert commands == [[*counting, "a1", "a2"], [*counting, "b1"]]
    (tmp_path / "b1").write_text("two words\n")
    delivered, stored = run(tmp_path, commands[1]), run(HOME, commands[1], SAM_STORAGE=str(tmp_path))
    assert (delivered.stdout, stored.stdout) == ("2 b1\n", "2 b1\n")
    handler, request = check(read(EXAMPLES / "d0/analysis.toml"))
    again = handler.command_and_arguments(
        request, JOB._replace(recovery=("-x",)), Piece(arguments=("-w",), files=("f",))
    )
    assert list(again) == ["sh", "-w", "-x", "f"]
    assert handler.environment(request)["SAM_STATION"] == "manhep"
