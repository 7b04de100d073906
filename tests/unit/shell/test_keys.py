"""One key, handed in by many doors at once, while a keeper takes what they leave."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from jim.doors import inbox
from tests.support.sampled import sampled
from tests.unit.shell.place import HOME

DOORS = 6


# What may come between two steps of a door or of the keeper is tried in tests/unit/doors/test_inbox.py, step by step;
# here it comes by chance, with real processes, and 60 doors take more than most modules do.
@pytest.mark.parametrize("keys", [2, pytest.param(40, marks=pytest.mark.torture)])
@pytest.mark.parametrize("door", sampled(["condor", "gram"]))
def test_one_key_handed_in_by_many_doors_at_once_is_one_grid_job(tmp_path, keys, door):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "site.toml").write_text("[keep]\nidle_seconds = 60.0\n[batch]\nslots = 1\n")
    environment = {"PATH": "/usr/bin:/bin", "JIM_STATE": str(state), "JIM_PYTHON": sys.executable}

    def hand_in(key):
        call = {
            "gram": ("jim-submit", f"{tmp_path}/{key}.toml"),
            "condor": ("condor/jim_submit.sh", "-c", "/bin/true", "-w", str(tmp_path), "-D", f"home_bl_{key}"),
        }[door]
        command = [str(HOME / "shell" / call[0]), *call[1:]]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
        return re.search(r"(?:JOB_ID:|jim/\d+/)(\d+)", done.stdout)[1]

    module = [sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", str(state)]
    keeper = subprocess.Popen(module, env=environment | {"PYTHONPATH": str(HOME)})
    try:
        with ThreadPoolExecutor(DOORS) as doors:
            for n in range(keys):
                text = f'job_type = "executable"\nexecutable = "/bin/true"\nkey = "key-{n}"\n'
                (tmp_path / f"key-{n}.toml").write_text(text)
                printed = set(doors.map(hand_in, [f"key-{n}"] * DOORS))
                assert len(printed) == 1, f"key-{n}: {printed}"
        end = time.monotonic() + 60
        while left := [path.name for path in (state / "inbox").glob("request-*")]:
            assert time.monotonic() < end, left
            time.sleep(0.1)
        kept = {json.loads((state / "keys" / inbox.request_name(f"key-{n}")).read_bytes())["id"] for n in range(keys)}
        assert len(kept) == keys
        assert {int(path.name) for path in (state / "answers").iterdir() if path.name.isdigit()} == kept
    finally:
        keeper.kill()
        keeper.wait()
