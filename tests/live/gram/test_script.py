"""GRAM's own script, with our module in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from statistics import median

import pytest

from tests.live.gram.gatekeeper import CUT_SHORT, until
from tests.live.site import USER

pytestmark = pytest.mark.long


class Script:
    """GRAM's own script, with our module in it, as a job manager runs it: one process, many commands."""

    def __init__(self, gate):
        self.jobdir = gate.account / "jobdir"
        shutil.rmtree(self.jobdir, ignore_errors=True)
        self.jobdir.mkdir()
        shutil.chown(self.jobdir, USER, USER)
        script = ["/usr/share/globus/globus-job-manager-script.pl", "-m", "samgrid", "-c", "interactive"]
        variables = [f"HOME={gate.account}", f"LOGNAME={USER}", f"JIM_PYTHON={gate.python}", "GLOBUS_LOCATION=/usr"]
        self.process = subprocess.Popen(
            ["runuser", "-u", USER, "--", "env", "-i", "PATH=/usr/bin:/bin", *variables, "perl", *script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, word, *, seconds="600", more="", job=1):
        """Give one command about one job, and the answer: all lines but those for the log."""
        told = {
            "uniqid": f"{job}.{os.getpid()}",
            "executable": "/bin/sleep",
            "directory": "/tmp",
            "jobtype": "multiple",
        }
        told |= {"jobdir": str(self.jobdir), "stdout": "/dev/null", "stderr": "/dev/null", "count": "1"}
        told |= {"savejobdescription": "no", "jimjobtype": "executable", "arguments": seconds}
        description = "".join(f"'{name}' => ['{value}'] ,\n" for name, value in told.items())
        self.process.stdin.write(f"{word}\n$description =\n{{\n{description}{more}}};\n\n")
        self.process.stdin.flush()
        lines = iter(lambda: self.process.stdout.readline().rstrip("\n"), "")
        return [line.removeprefix("GRAM_SCRIPT_") for line in lines if not line.startswith("GRAM_SCRIPT_LOG:")]

    def quit(self):
        """End it, and give what it had to say then."""
        rest, _ = self.process.communicate("quit\n", timeout=20)
        assert self.process.returncode == 0
        return rest


def test_every_byte_of_the_script_is_accounted_for(gate, capsys):
    script = Script(gate)
    known = script.ask("submit")
    assert known == [f"JOB_ID:{gate.jobs()[-1]}", "JOB_STATE:1"]
    assert script.ask("submit") == known
    until(lambda: script.ask("poll") == ["JOB_STATE:2"], "it runs")
    took = []
    for _ in range(1000):
        began = time.perf_counter()
        assert script.ask("poll") == ["JOB_STATE:2"]
        took.append(1000 * (time.perf_counter() - began))
    assert script.ask("signal", more="'signal' => ['9'],\n") == ["ERROR:27"]
    assert script.ask("submit", seconds="6\n\n00") == ["ERROR:21", f"GT3_FAILURE_MESSAGE:{CUT_SHORT}", "ERROR:48"]
    assert script.ask("cancel") == ["JOB_STATE:4"]
    reason = "GT3_FAILURE_MESSAGE:cancelled: 1 of 1 local job killed: cancelled (signal 15)"
    assert script.ask("poll") == script.ask("stage_out") == [reason, "ERROR:8"]
    here, there = gate.account / "sent.dat", gate.account / "got.dat"
    here.write_text("42\n")
    sent = f"'filestageout' => [['{here}', 'file://{there}']],\n"
    assert script.ask("submit", job=2, seconds="0", more=sent)[1:] == ["JOB_STATE:1"]
    until(lambda: script.ask("poll", job=2, more=sent) == ["JOB_STATE:8"], "it is done")
    assert script.ask("stage_out", job=2, more=sent) == [f"STAGED_OUT:{here} file://{there}"]
    assert there.read_text() == "42\n"
    assert script.quit() == ""
    with capsys.disabled():
        print(f"\na poll within GRAM's script: {median(took):.2f} ms (1,000 polls, question and answer)")
    assert median(took) <= 2
