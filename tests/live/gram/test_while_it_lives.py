"""What happens to a job that has been handed in: ended, held, lost sight of, and seen by nobody else."""

from __future__ import annotations

import json
import subprocess
import tarfile

import pytest

from tests.live.gram.gatekeeper import LAB, OTHER, OTHER_PROXY, SAMGRID, SLOTS, until
from tests.live.site import USER


def test_cancel_answers_when_nothing_lives(gate):
    file = gate.script("exec sleep 600")
    contact, job = gate.submit(f"&(executable={file})")
    until(lambda: gate.pids("sleep 600"), "it runs")
    assert gate.run("globusrun", "-kill", contact)[0] == 0
    assert not gate.pids("sleep 600")
    assert gate.answer(job).endswith("GRAM_SCRIPT_ERROR:8\n\n")


@pytest.mark.parametrize("words", ["globus-job-cancel", "globus-job-clean"])
def test_a_job_left_to_itself_is_ended(gate, words):
    contact = gate.run("globus-job-submit", SAMGRID, gate.script("exec sleep 600"))[1].strip()
    until(lambda: gate.pids("sleep 600"), "it runs")
    assert gate.run(words, "-f", contact)[0] == 0
    assert not gate.pids("sleep 600")
    assert gate.answer(gate.jobs()[-1]).endswith("GRAM_SCRIPT_ERROR:8\n\n")


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


def test_suspend_and_resume(gate):
    go = gate.home.parent / "go-on"
    file = gate.script(f"until [ -e {go} ]; do sleep 0.2; done")
    sets = "".join(f"({n})" for n in range(SLOTS))
    gate.submit(f"&(executable={file})(jim_job_type=parametric)(argument_sets={sets})")
    until(lambda: len(gate.pids(str(file))) >= SLOTS, "no slot is free")
    contact, job = gate.submit(f"&(executable={file})")
    assert gate.run("gram-signal", contact, "2")[0] == 0
    until(lambda: gate.status(contact) == "SUSPENDED", "it is suspended")
    assert gate.run("gram-signal", contact, "3")[0] == 0
    until(lambda: gate.answer(job) == "GRAM_SCRIPT_JOB_STATE:1\n\n", "it is resumed")
    assert gate.run("gram-signal", contact, "4", "high")[0] == 107
    assert gate.run("gram-signal", contact, "4", "10")[0] == 0
    until(lambda: '"priority": 10' in gate.jim("show", "--json", str(job), account=USER), "its priority is known")
    go.touch()
    until(lambda: gate.status(contact) == "DONE", "it is done")
    assert gate.answer(job) == "GRAM_SCRIPT_JOB_STATE:8\n\n"


def test_a_killed_job_manager_and_a_killed_keeper(gate):
    go = gate.home.parent / "go-on-after-all"
    file = gate.script(f"until [ -e {go} ]; do sleep 0.2; done; echo survived")
    out = gate.account / "survivor.out"
    out.unlink(missing_ok=True)
    _, job = gate.submit(f"&(executable={file})(stdout={out})")
    until(lambda: ":2\n" in gate.answer(job), "it runs")
    gate.end("globus-job-manager ", "run_grid_job keeper")
    go.touch()
    assert gate.run("globus-job-run", SAMGRID, "/bin/echo", "another")[1] == "another\n"
    until(lambda: out.read_text() == "survived\n", "the first one's output was delivered")
    assert gate.answer(job) == "GRAM_SCRIPT_JOB_STATE:8\n\n"


def test_a_hundred_at_once(gate):
    before = set(gate.jobs())
    clients = [
        subprocess.Popen(
            [str(LAB / "client"), "globusrun", "-b", "-F", "-r", SAMGRID, f"&(executable=/bin/echo)(arguments={n})"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for n in range(100)
    ]
    said = [each.communicate(timeout=180)[0] for each in clients]
    assert all(each.returncode == 0 for each in clients), said
    # In fast batch mode a client does not wait until its job manager has handed the job in.
    until(lambda: len(set(gate.jobs()) - before) >= 100, "all are handed in")
    jobs = set(gate.jobs()) - before
    assert len(jobs) == 100
    until(lambda: all(gate.answer(each) == "GRAM_SCRIPT_JOB_STATE:8\n\n" for each in jobs), "all are done")
    told = set()
    for each in jobs:
        with tarfile.open(gate.state / f"work/{each}/result/{each}.tar") as tar:
            told.add(int(tar.extractfile(f"{each}.0/stdout").read()))
    assert told == set(range(100))


def test_two_accounts_do_not_see_each_other_s(gate):
    file = gate.script("exec sleep 600")
    contact, job = gate.submit(f"&(executable={file})")
    until(lambda: gate.pids("sleep 600"), "it runs")
    said = gate.run("globus-job-run", SAMGRID, "/usr/bin/id", "-un", proxy=OTHER_PROXY)
    assert said == (0, f"{OTHER}\n", "")
    for words in (("-status",), ("-kill",)):
        assert gate.run("globusrun", *words, contact, proxy=OTHER_PROXY)[0] != 0, words
    assert gate.pids("sleep 600")
    look = ["runuser", "-u", OTHER, "--", "env", f"JIM_STATE={gate.state}", f"JIM_PYTHON={gate.python}"]
    seen = subprocess.run([*look, str(gate.home / "shell/jim"), "show", str(job)], capture_output=True, check=False)
    assert seen.returncode != 0
    assert b"sleep" not in seen.stdout + seen.stderr
    mine = gate.jim("status", "--json", account=OTHER)
    assert [each["owner"] for each in json.loads(mine)] == [OTHER]
    assert gate.run("globusrun", "-kill", contact)[0] == 0
