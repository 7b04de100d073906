"""The real keeper and the real wrapper against a fake batch system that speaks through `[batch.commands]`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from jim import request
from jim.clock import Clock
from jim.doors import inbox
from jim.model import State, Step
from jim.site.file import make_state, read
from jim.statusdb.store import Store

ROOT = Path(__file__).parents[3]
LIMIT = 60.0
PROGRAMS = {
    "slurm": dict.fromkeys(("query", "history", "find"), "squeue")
    | {"submit": "sbatch", "cancel": "scancel", "change": "scontrol", "ping": "scontrol"},
    "pbs": dict.fromkeys(("query", "history", "find", "ping"), "qstat")
    | {"submit": "qsub", "cancel": "qdel", "hold": "qhold", "release": "qrls"},
}


class Ground:
    """A state directory whose site file names the fake commands."""

    def __init__(self, place: Path, dialect: str, lies: str) -> None:
        self.state, self.area, self.ran = place / "state", place / "area", place / "ran"
        self.area.mkdir()
        (self.area / "lies").write_text(lies)
        front = [sys.executable, "-P", "-s", "-m", "tests.fake_batch", str(self.area), dialect]
        commands = "".join(f"{verb} = {[*front, program]!r}\n" for verb, program in PROGRAMS[dialect].items())
        site = place / "site.toml"
        site.write_text(
            f'[batch]\nsystem = "{dialect}"\nquery_seconds = 0.3\nvisible_seconds = 0.3\ncommand_seconds = 2.0\n'
            f"[batch.commands]\n{commands}[keep]\nidle_seconds = 0.0\n"
        )
        make_state(read(site, self.state))
        (self.state / "site.toml").write_text(site.read_text())

    def run(self, pieces: int) -> None:
        """Hand in a grid job and keep it to its end."""
        program = self.state.parent / "payload"
        program.write_text(f'#!/bin/sh\necho "$JIM_LOCAL_JOB $JIM_ATTEMPT" >>{self.ran}\n')
        program.chmod(0o755)
        raw = {"job_type": "parametric", "executable": str(program), "argument_sets": [[str(n)] for n in range(pieces)]}
        inbox.deposit(self.state, "key", request.check(raw)[1] | {"key": "key"})
        command = [sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", str(self.state)]
        environment = {"PATH": os.environ["PATH"], "HOME": "/", "PYTHONPATH": str(ROOT)}
        subprocess.run(command, env=environment, timeout=LIMIT, check=True, capture_output=True)

    def check(self, pieces: int) -> None:
        """Hold what ran against what JIM says."""
        starts = Counter(self.ran.read_text().split("\n")[:-1])
        assert max(starts.values()) == 1
        with closing(Store(self.state / "status.db", Clock())) as store:
            assert store.grid_job(1).step is Step.FINISHED
            assert store.counts(1) == {State.COMPLETED: pieces}
            completed = {f"{each.n} {each.attempt}" for each in store.attempts(1) if each.verdict == "completed"}
        assert completed <= set(starts)

    def ledger(self, event: str) -> int:
        """Count the entries of one sort."""
        return sum(line.startswith(f"{event}|") for line in (self.area / "ledger").read_text().splitlines())


@pytest.mark.parametrize(
    ("dialect", "lies", "accepted"),
    [
        ("slurm", "submit lost 0\nask nothing 0\n", 1),  # accepted, and the answer is lost
        ("pbs", "submit twice 1\nask none 0\n", 2),
    ],
)
def test_a_lying_batch_system_behind_its_commands(tmp_path, dialect, lies, accepted):
    ground = Ground(tmp_path, dialect, lies)
    ground.run(3)
    ground.check(3)
    assert ground.ledger("accepted") == accepted


@pytest.mark.parametrize("words", [[], ["--help"], ["AREA", "slurm"]])
def test_without_a_command_it_says_how_it_is_called(words):
    front = [sys.executable, "-P", "-s", "-m", "tests.fake_batch", *words]
    done = subprocess.run(front, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 2
    assert done.stderr.startswith("The fake batch system as commands: `python -m tests.fake_batch AREA DIALECT COMMAND")
