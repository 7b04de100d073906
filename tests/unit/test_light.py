"""What starts often stays light: the submit door imports nothing heavy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jim.clock import Clock

HOME = Path(__file__).parents[2]
HEAVY = {"lxml", "psutil", "tenacity", "rich", "asyncio"}
# Of the standard library, what a door has no use for while all goes well.
NEEDLESS = {"dataclasses", "inspect", "difflib", "logging", "sqlite3", "subprocess", "argparse", "tempfile"}


def loaded(tmp_path, call):
    """Run a call in a fresh interpreter; give its exit code, and the packages it has loaded."""
    program = f"import sys\n{call}\nprint(*{{name.partition('.')[0] for name in sys.modules}}, file=sys.stderr)"
    environment = {**os.environ, "JIM_STATE": str(tmp_path / "state"), "PYTHONPATH": str(HOME)}
    command = [sys.executable, "-P", "-s", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout, set(done.stderr.split())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("request.toml", 'job_type = "pythia_monte_carlo"\nevents = 1000\n'),
        ("request.jdf", "job_type = pythia_monte_carlo\nevents = 1000\n"),
        ("request.rsl", "&(jobType=pythia_monte_carlo)(events=1000)"),
    ],
)
def test_the_submit_door_loads_nothing_heavy(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    # The keeper that a door starts is another process; here none is wanted.
    call = f"""
from jim import run_grid_job
run_grid_job.wake = lambda state: __import__("jim.keeper.waking")
assert run_grid_job.main(["submit", {str(file)!r}]) == 0
"""
    out, names = loaded(tmp_path, call)
    assert out == "GRAM_SCRIPT_JOB_ID:1\nGRAM_SCRIPT_JOB_STATE:32\n\n"
    assert names & (HEAVY | NEEDLESS) == set()


def test_the_doors_load_few_modules_of_jim(tmp_path):
    """Each costs a look into every place where modules lie, and half a millisecond on a cold disk."""
    opened = "import jim.run_grid_job\njim.run_grid_job.door_of()\n"
    call = opened + "print(sum(name.partition('.')[0] == 'jim' for name in sys.modules))"
    assert int(loaded(tmp_path, call)[0]) <= 19


def test_the_cancel_door_loads_nothing_heavy(tmp_path):
    call = """
from jim import run_grid_job
assert run_grid_job.main(["cancel", "7"]) == 4
"""
    out, names = loaded(tmp_path, call)
    assert "GRAM_SCRIPT_ERROR:156\n" in out
    assert names & (HEAVY | NEEDLESS) == set()


def test_a_look_at_all_grid_jobs_loads_what_shows_them_and_nothing_else(tmp_path):
    """Root's monitoring asks often, and people wait for the answer."""
    call = """
from jim import run_grid_job
from jim.cli import main
run_grid_job.wake = lambda state: None
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()):
    assert main(["submit", "request.toml"]) == 0
before = set(sys.modules)
"""
    (tmp_path / "request.toml").write_text('job_type = "pythia_monte_carlo"\nevents = 1000\n')
    loaded(tmp_path, f"import os; os.chdir({str(tmp_path)!r}){call}")
    out, names = loaded(tmp_path, "from jim.cli import main\nassert main(['status']) == 0")
    assert "pythia_monte_carlo" in out
    of_shutil = {"shutil", "bz2", "lzma"}
    of_inspect = {"ast", "dis", "inspect", "tokenize"}
    unused = (
        (NEEDLESS - {"argparse", "sqlite3"}) | of_inspect | of_shutil | {"copy", "csv", "socket", "threading", "xml"}
    )
    assert names & (HEAVY | unused) == set()
    out, _ = loaded(tmp_path, "from jim.cli import main\nassert main(['status']) == 0\nprint(*sys.modules)")
    rooms = {name.split(".")[1] for name in out.split() if name.startswith("jim.")}
    assert (
        rooms & {"request", "handlers", "work", "workdir", "splitting", "keeper", "adapters", "admin", "pages"} == set()
    )


def test_a_poll_loads_no_python_at_all(tmp_path):
    (tmp_path / "state/answers").mkdir(parents=True)
    (tmp_path / "state/answers/1").write_text("GRAM_SCRIPT_JOB_STATE:2\n\n")
    (tmp_path / "state/heartbeat").write_text(f"{Clock().boot_id()} {int(Clock().boot())}\n")
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n: >{tmp_path}/ran\n")
    python.chmod(0o755)
    environment = {"PATH": str(tmp_path), "JIM_STATE": str(tmp_path / "state"), "JIM_PYTHON": str(python)}
    poll = [str(HOME / "shell/jim-poll"), "1"]
    done = subprocess.run(poll, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, (tmp_path / "ran").exists()) == ("GRAM_SCRIPT_JOB_STATE:2\n\n", False)


def test_the_people_s_door_loads_only_the_verb_it_runs(tmp_path):
    call = """
from jim.cli import main
assert main(["status", "--json"]) == 0
assert not {"jim.cli.show", "jim.cli.watch", "jim.cli.xml"} & set(sys.modules)
"""
    out, names = loaded(tmp_path, call)
    assert out == "[]\n"
    assert names & HEAVY == set()
