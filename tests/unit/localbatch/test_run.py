"""jim run, with a real keeper and the local batch system."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

JIM = Path(__file__).resolve().parents[3] / "shell/jim"


@pytest.fixture
def run(tmp_path):
    """Run `jim run` in a directory with a script; return its exit code, stdout and stderr."""
    script = tmp_path / "ok.sh"
    script.write_text('#!/bin/sh\nprintf "%s|" "$@"; printf "\\377\\033"; echo complaint >&2\n')
    script.chmod(0o755)
    environment = {**os.environ, "JIM_STATE": str(tmp_path / "state")}

    def call(*words):
        done = subprocess.run([JIM, "run", *words], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
        return done.returncode, done.stdout, done.stderr.decode()

    return call


def test_a_script_is_sent_along_and_its_bytes_come_back(run):
    code, out, err = run("./ok.sh", "a", "b c", "--name")
    assert (code, out) == (0, b"a|b c|--name|\xff\x1b")
    assert err.startswith("grid job 1; `jim explain 1` says what it waits for\n")
    assert "\n1 completed\n" in err
    assert err.endswith("complaint\n")


def test_each_word_is_a_local_job_and_the_first_failure_is_the_exit_code(run):
    code, out, err = run("--each", "0 7 9", "sh", "-c", 'echo "no $1"; exit "$1"', "me")
    assert (code, out) == (7, b"no 0\nno 7\nno 9\n")
    assert "2 of 3 local jobs failed" in err
    assert err.splitlines()[-3:] == ["1.0 (0) completed", "1.1 (7) failed: exit 7", "1.2 (9) failed: exit 9"]


@pytest.mark.parametrize(("script", "code"), [("kill -TERM $$", 143), ("exit 255", 255)])
def test_the_exit_code_is_that_of_the_program(run, script, code):
    assert run("sh", "-c", script)[0] == code


def test_exit_127_names_the_program(run):
    code, _, err = run("sh", "-c", "nosuch")
    assert code == 127
    assert "exit 127, as of a program that is not found: sh" in err
