"""A job manager that is told by log files, and does not ask."""

from __future__ import annotations

import subprocess
import time

import pytest

from tests.live.gram.gatekeeper import EVENTS, GATEKEEPER, LAB, OTHER_PROXY, QUERY_SECONDS, SAMGRID, until
from tests.live.site import PLAIN_PATH, USER

pytestmark = pytest.mark.long


def test_who_is_told_need_not_ask(told, capsys):
    assert "warning" not in told.jim("gram", "check")
    marker, out = told.account / "ended-at", told.account / "told.out"
    file = told.script(f"echo out; date +%s.%N >{marker}; exit $1")
    late = []
    for code in (0, 3, 0, 4, 0):
        rsl = f"&(executable={file})(arguments={code})(stdout={out})"
        said = told.run("globusrun", "-r", SAMGRID, rsl)[1]
        late.append(time.time() - float(marker.read_text()))
        assert said.endswith(f"ACTIVE\nGLOBUS_GRAM_PROTOCOL_JOB_STATE_DONE\nexit code: {code}\n")
        assert out.read_text() == "out\n"
    with capsys.disabled():
        print(f"\nend of the payload → client told: {', '.join(f'{each:.1f}' for each in sorted(late))} s")
    assert max(late) < QUERY_SECONDS + 3


def test_who_is_told_hears_the_reason_with_the_results(told):
    file = told.script('echo "$1"; [ "$1" -lt 3 ]')
    url = f"$(GLOBUSRUN_GASS_URL){told.ours()}/all.tar"
    rsl = f"&(executable={file})(jim_job_type=parametric)(argument_sets=(1)(5))"
    staged = f"(scratch_dir=/tmp)(directory=$(SCRATCH_DIRECTORY))(file_stage_out=(all.tar {url}))"
    code, _, err = told.run("globusrun", "-w", "-r", SAMGRID, rsl + staged)
    assert (code, "Details: 1 of 2 local jobs failed" in err) == (17, True)
    assert (told.ours() / "all.tar").read_bytes() == told.tar(told.jobs()[-1])
    done = told.raw("globusrun", "-s", "-r", SAMGRID, rsl)
    assert (done.returncode, done.stdout) == (17, b"1\n5\n")
    assert b"Details: 1 of 2 local jobs failed" in done.stderr
    # Where nothing is to be sent GRAM does not ask us any more: only the exit code tells.
    assert told.run("globusrun", "-r", SAMGRID, rsl)[1].endswith("DONE\nexit code: 1\n")


def test_whom_nobody_would_tell_is_refused(told):
    """An account whose keeper may not write there: its jobs would never end."""
    code, _, err = told.run("globusrun", "-r", SAMGRID, "&(executable=/bin/true)", proxy=OTHER_PROXY)
    assert (code, "Details: GRAM would not learn of the end" in err) == (3, True)


def test_who_is_told_hears_of_a_cancel(told):
    file = told.script("exec sleep 600")
    contact, job = told.submit(f"&(executable={file})")
    until(lambda: told.pids("sleep 600"), "it runs")
    assert told.run("globusrun", "-kill", contact)[0] == 0
    assert not told.pids("sleep 600")
    until(lambda: f";{job};4;0\n" in "".join(each.read_text() for each in EVENTS.glob("2*")), "it is told")


DAY = 86_400


@pytest.fixture
def before_midnight(told):
    """Gatekeeper, job manager and keeper for whom it is soon midnight, UTC; how many seconds they are ahead."""
    proxy = told.proxy("3-days.pem", "72:00")
    ahead = DAY - int(time.time()) % DAY - 12
    told.end("globus-job-manager ", "run_grid_job keeper")
    GATEKEEPER.kill()
    GATEKEEPER.start_again(JIM_LAB_AHEAD=ahead)
    keeper = ["-P", "-s", "-m", "jim.run_grid_job", "keeper", str(told.state)]
    variables = {"HOME": told.account, "PATH": PLAIN_PATH, "PYTHONPATH": told.home, "LD_PRELOAD": LAB / "ahead.so"}
    variables |= {"JIM_STATE": told.state, "JIM_LAB_AHEAD_PYTHON": ahead}
    become = ["runuser", "-u", USER, "--", "env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    process = subprocess.Popen([*become, told.python, *keeper], cwd="/", stdin=subprocess.DEVNULL)
    until(told.has_keeper, "the keeper has its lock")
    yield ahead, proxy
    told.end("globus-job-manager ", "run_grid_job keeper")
    process.wait(20)
    GATEKEEPER.kill()
    GATEKEEPER.start_again()


def test_it_is_midnight(told, before_midnight):
    ahead, proxy = before_midnight
    midnight = (int(time.time()) + ahead) // DAY * DAY + DAY
    today, tomorrow = (EVENTS / time.strftime("%Y%m%d", time.gmtime(midnight - 1 + n * DAY)) for n in range(2))
    go = told.home.parent / "go-tomorrow"
    file = told.script(f"until [ -e {go} ]; do sleep 0.1; done; exit 3")
    client = told.start("globusrun", "-r", SAMGRID, f"&(executable={file})", proxy=proxy)
    until(lambda: ";2;0\n" in today.read_text(), "it is told that it runs")
    assert tomorrow.read_text() == ""
    until(lambda: time.time() + ahead > midnight + 3, "it is tomorrow, and the job manager has looked")
    began = time.monotonic()
    go.touch()
    said, _ = client.communicate(timeout=60)
    assert said.endswith("DONE\nexit code: 3\n")
    assert time.monotonic() - began < QUERY_SECONDS + 3
    assert told.run("globusrun", "-r", SAMGRID, f"&(executable={file})", proxy=proxy)[1].endswith("exit code: 3\n")
    ends = [line.split(";")[3:] for line in tomorrow.read_text().splitlines()]
    assert [each for each in ends if each[0] == "8"] == [["8", "3"]] * 2
    assert ";8;" not in today.read_text()


def test_a_keeper_killed_before_it_told(told):
    go = told.home.parent / "go-and-tell"
    file = told.script(f"until [ -e {go} ]; do sleep 0.2; done; echo told")
    out = told.account / "told-late.out"
    contact, _ = told.submit(f"&(executable={file})(stdout={out})")
    until(lambda: told.status(contact) == "ACTIVE", "it runs")
    told.end("run_grid_job keeper")
    go.touch()
    told.jim("keeper", "--all", account=USER)
    until(lambda: told.status(contact) == "DONE", "it is done")
    assert out.read_text() == "told\n"
