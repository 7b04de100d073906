"""What happens to a job that has been handed in: ended, held, lost sight of, and seen by nobody else."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.live.gram.gatekeeper import OTHER, OTHER_PROXY, SAMGRID, SLOTS, until
from tests.live.site import USER

pytestmark = pytest.mark.long


@pytest.mark.parametrize("words", ["globus-job-cancel", "globus-job-clean"])
def test_a_job_left_to_itself_is_ended(gate, words):
    contact = gate.run("globus-job-submit", SAMGRID, gate.script("exec sleep 600"))[1].strip()
    until(lambda: gate.pids("sleep 600"), "it runs")
    assert gate.run(words, "-f", contact)[0] == 0
    assert not gate.pids("sleep 600")
    assert gate.answer(gate.jobs()[-1]).endswith("GRAM_SCRIPT_ERROR:8\n\n")


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
