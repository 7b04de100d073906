"""What starts often stays light: the submit door imports nothing heavy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert int(loaded(tmp_path, call)[0]) <= 22


def test_the_cancel_door_loads_nothing_heavy(tmp_path):
    call = """
from jim import run_grid_job
assert run_grid_job.main(["cancel", "7"]) == 4
"""
    out, names = loaded(tmp_path, call)
    assert "GRAM_SCRIPT_ERROR:156\n" in out
    assert names & (HEAVY | NEEDLESS) == set()


def test_the_people_s_door_loads_only_the_verb_it_runs(tmp_path):
    call = """
from jim.cli import main
assert main(["status", "--json"]) == 0
assert not {"jim.cli.show", "jim.cli.watch", "jim.cli.xml"} & set(sys.modules)
"""
    out, names = loaded(tmp_path, call)
    assert out == "[]\n"
    assert names & HEAVY == set()
