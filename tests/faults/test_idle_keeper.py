"""A keeper without work ends, though it looks at disks and hosts every ten seconds meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.faults.real import ROOT

IDLE = 12  # longer than from one look to the next


@pytest.mark.torture
def test_a_keeper_without_work_ends_when_its_time_has_come(tmp_path):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "site.toml").write_text(f"[keep]\nidle_seconds = {IDLE}\n")
    began = time.monotonic()
    command = [sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", str(state)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JIM_STATE": str(state)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert IDLE <= time.monotonic() - began < IDLE + 15
    assert f"ends: nothing to do for {IDLE} s" in (state / "keeper.log").read_text()
