"""The quick proof on a real gatekeeper."""

from __future__ import annotations

import subprocess
import tarfile

import pytest

from tests.live.gram.gatekeeper import LAB, SAMGRID, until


def test_hello(gate):
    assert gate.run("globus-job-run", SAMGRID, "/bin/echo", "hello", "two  words") == (0, "hello two  words\n", "")


def test_the_exit_code_of_a_program_comes_back(gate):
    file = gate.script("echo out; echo err >&2; exit 7")
    code, out, err = gate.run("globusrun", "-s", "-r", SAMGRID, f"&(executable={file})")
    assert (code, out) == (17, "out\n")
    assert "err\n" in err
    assert "exit 7" in err


def test_cancel_answers_when_nothing_lives(gate):
    file = gate.script("exec sleep 600")
    contact, job = gate.submit(f"&(executable={file})")
    until(lambda: gate.pids("sleep 600"), "it runs")
    assert gate.run("globusrun", "-kill", contact)[0] == 0
    assert not gate.pids("sleep 600")
    assert gate.answer(job).endswith("GRAM_SCRIPT_ERROR:8\n\n")


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.long)])
def test_so_many_at_once(gate, count):
    before = set(gate.jobs())
    clients = [
        subprocess.Popen(
            [str(LAB / "client"), "globusrun", "-b", "-F", "-r", SAMGRID, f"&(executable=/bin/echo)(arguments={n})"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for n in range(count)
    ]
    said = [each.communicate(timeout=180)[0] for each in clients]
    assert all(each.returncode == 0 for each in clients), said
    # In fast batch mode a client does not wait until its job manager has handed the job in.
    until(lambda: len(set(gate.jobs()) - before) >= count, "all are handed in")
    jobs = set(gate.jobs()) - before
    assert len(jobs) == count
    until(lambda: all(gate.answer(each) == "GRAM_SCRIPT_JOB_STATE:8\n\n" for each in jobs), "all are done")
    told = set()
    for each in jobs:
        with tarfile.open(gate.state / f"work/{each}/result/{each}.tar") as tar:
            told.add(int(tar.extractfile(f"{each}.0/stdout").read()))
    assert told == set(range(count))


@pytest.mark.long
def test_a_killed_job_manager_hands_in_again_what_is_one_job(gate):
    """Killed while the door has the request, and killed while the door has an answer that nobody hears."""
    door, hold, held = gate.home / "shell/jim-submit", gate.home.parent / "hold-door", gate.account / "held-door"
    real, before = door.read_text(), set(gate.jobs())
    wait = f"while [ -e {hold} ]; do : >{held}; sleep 0.1; done"
    says = "printf '%s\\n\\n' \"$out\""
    for number, text in enumerate([f'{wait}\nexec "$0.real" "$@"', f'out=$("$0.real" "$@")\n{wait}\n{says}']):
        out = gate.account / f"one-{number}.out"
        for each in (out, held):
            each.unlink(missing_ok=True)
        hold.touch()
        (gate.home / "shell/jim-submit.real").write_text(real)
        (gate.home / "shell/jim-submit.real").chmod(0o755)
        door.write_text(f"#!/bin/sh\n{text}\n")
        client = gate.start("globusrun", "-b", "-r", SAMGRID, f"&(executable=/bin/echo)(arguments=once)(stdout={out})")
        try:
            until(held.exists, "the door has it")
            gate.end("globus-job-manager ")
        finally:
            door.write_text(real)
            hold.unlink()
            client.kill()
            client.communicate()
        assert gate.run("globus-job-run", SAMGRID, "/bin/echo", "another")[1] == "another\n"
        until(lambda out=out: out.exists() and out.read_text() == "once\n", "its output was delivered")
    (gate.home / "shell/jim-submit.real").unlink()
    assert len(set(gate.jobs()) - before) == 4
