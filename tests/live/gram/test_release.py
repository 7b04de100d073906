"""Another release is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.live.gram.gatekeeper import SAMGRID, SLOTS, until
from tests.live.site import PLAIN_PATH, USER, copy_of_the_source

pytestmark = pytest.mark.long


@pytest.fixture
def release(gate, tmp_path):
    """Put JIM there by `make install`, behind the gatekeeper; what it gives starts to install another release."""
    prefix, home, python = Path("/opt/jim live gram"), gate.home, gate.python
    source = copy_of_the_source(tmp_path / "source")

    def install(version):
        (source / "jim/__init__.py").write_text(f'__version__ = "{version}"\n')
        words = [f"PREFIX={prefix}", "PYTHON=/usr/bin/python3", "LIBRARIES=system"]
        return subprocess.Popen(["make", "-s", "-C", source, "install", *words], env={"PATH": PLAIN_PATH})

    assert not prefix.exists()
    assert install("9.1").wait(120) == 0
    gate.let_poll()  # no process of the JIM before is left
    gate.home, gate.python = prefix / "libexec/jim", "/usr/bin/python3"
    gate.jim("gram", "register")
    yield install
    gate.end("jim.localbatch --area")
    gate.home, gate.python = home, python
    gate.let_poll()
    shutil.rmtree(prefix)


def test_another_release_is_installed_while_jobs_are_in_the_middle(gate, release):
    started, go = gate.account / "started", gate.payloads / "go-upgraded"
    started.unlink(missing_ok=True)
    file = gate.script(f'echo "$1" >>{started}; until [ -e {go} ]; do sleep 0.2; done; echo "$1"')
    told = gate.account / "upgraded.out"
    client = gate.start("globusrun", "-s", "-r", SAMGRID, f"&(executable={file})(arguments=one)")
    until(lambda: gate.pids(str(file)), "it runs")
    sets = "".join(f"({n})" for n in range(SLOTS + 4))
    gate.submit(f"&(executable={file})(jim_job_type=parametric)(argument_sets={sets})(stdout={told})")
    until(lambda: len(gate.pids(str(file))) >= SLOTS, "no slot is free, and some wait")
    handed_in = []
    for version in ("9.2", "9.3"):  # the second one removes what the job manager began with, but for what runs
        process = release(version)
        while process.poll() is None:
            handed_in.append(gate.submit("&(executable=/bin/echo)(arguments=meanwhile)")[1])
        assert process.wait() == 0
        assert gate.jim("--version", account=USER) == f"jim {version}\n"
    assert len(handed_in) >= 2
    keeper = (gate.state / "keeper.lock").read_text()
    gate.end("run_grid_job keeper")
    go.touch()
    assert client.communicate(timeout=90) == ("one\n", "")
    each_stdout = "".join(f"{n}\n" for n in range(SLOTS + 4))
    until(lambda: told.read_text() == each_stdout, "each stdout was delivered")
    assert (gate.state / "keeper.lock").read_text() != keeper
    until(lambda: all(gate.answer(each) == "GRAM_SCRIPT_JOB_STATE:8\n\n" for each in handed_in), "all are done")
    assert sorted(started.read_text().split()) == sorted(["one", *map(str, range(SLOTS + 4))])
    assert "failed" not in gate.jim("gram", "check")
