"""`jim site test` on the local batch system, and what it says when something is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]


@pytest.fixture
def state(tmp_path):
    place = tmp_path / "state"
    place.mkdir(mode=0o700)
    (place / "site.toml").write_text("[batch]\nslots = 2\nquery_seconds = 0.2\ntouch_seconds = 1\n")
    return place


def site_test(state, *words):
    environment = {"PATH": os.environ["PATH"], "JIM_STATE": str(state), "JIM_PYTHON": sys.executable}
    command = [str(HOME / "shell/jim"), "site", "test", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("levels", "jobs", "checks"),
    [
        (("config", "batch", "array"), 21, 5),
        pytest.param(("config", "batch", "array", "glitch"), 33, 9, marks=pytest.mark.torture),
    ],
)
def test_a_good_site_passes_and_nothing_is_left(state, levels, jobs, checks):
    done = site_test(state, *levels)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"submits {jobs} local jobs to local, and cleans up after itself"
    assert [line.split()[0] for line in lines[1:-1]] == ["ok"] * checks
    assert lines[-1] == f"JIM SITE OK - {checks} checks, {jobs} local jobs"
    assert [each for each in state.iterdir() if each.name.startswith("site-test-")] == []
    # What `jim advertise` tells of it.
    stored = json.loads((state / "site-test.json").read_text())
    assert (stored["status"], stored["line"], stored["levels"]) == (
        "ok",
        lines[-1],
        list(levels),
    )
    assert (state / "site-test.json").stat().st_mode & 0o777 == 0o640


def test_outputs_codes_and_signals_come_back(state):
    done = site_test(state, "--load", "10", "--json")
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert (report["status"], report["jobs"]) == ("ok", 10)
    assert [(each["test"], each["name"], each["level"]) for each in report["checks"]] == [
        ("load", "load of 10", "ok"),
        ("load", "exactly once", "ok"),
    ]


def test_a_missing_command_is_named(state):
    (state / "site.toml").write_text('[batch.commands]\nsubmit = ["/nowhere/submit"]\n')
    done = site_test(state, "config")
    assert done.returncode == 2
    assert "failed   commands: not found: /nowhere/submit; install them" in done.stdout
    assert done.stdout.splitlines()[-1] == "JIM SITE CRITICAL - 1 checks, 0 local jobs"


def test_a_batch_system_that_refuses_is_told_with_its_own_words(state):
    (state / "site.toml").write_text(
        '[batch.commands]\nsubmit = ["/bin/sh", "-c", "echo localbatch: argument wrong >&2; exit 2"]\n'
    )
    done = site_test(state, "batch")
    assert done.returncode == 2
    assert "refused by the batch system" in done.stdout
    assert "localbatch: argument wrong" in done.stdout


def test_a_broken_site_file_is_neither_good_nor_bad(state):
    (state / "site.toml").write_text("[batch]\nslotz = 2\n")
    done = site_test(state)
    assert done.returncode == 3
    assert done.stdout.startswith(f"JIM SITE UNKNOWN - {state}/site.toml:2: batch.slotz: unknown key; did you mean")


def test_an_unknown_level_is_refused(state):
    done = site_test(state, "roundtrop")
    assert done.returncode == 2
    assert "did you mean 'roundtrip'" in done.stderr
