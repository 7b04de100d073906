"""Installed as Python programs are, for an account that has nothing of JIM: by pip for itself, by pipx, and by uv."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.live.accounts import ACCOUNT, processes, said
from tests.live.site import ROOT, copy_of_the_source, until

ENDED = "GRAM_SCRIPT_JOB_STATE:8\n\n"
PYTHON = "/usr/bin/python3"
CERTIFICATES = "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"  # uv brings its own, which know no proxy of a site
# As a distribution's Python is installed by its owner, who may be told not to.
WAYS = {
    "pip --user": ("pip", f"pip --python {PYTHON} install --quiet --user --break-system-packages ./source"),
    "pipx": ("pipx", "pipx install --quiet ./source"),
    "uv": ("uv", f"uv tool install --quiet --python {PYTHON} ./source"),
}


@pytest.fixture
def become(account):
    """The words that run a shell line as the account, in its home, with nothing of this session."""
    home = account.pw_dir
    path = f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin"
    return ("runuser", "-u", ACCOUNT, "--", "env", "-i", f"HOME={home}", f"PATH={path}", CERTIFICATES, "sh", "-ec")


@pytest.mark.parametrize("way", ["pip --user", *(pytest.param(way, marks=pytest.mark.long) for way in ("pipx", "uv"))])
def test_what_an_account_installs_for_itself_runs_its_jobs(account, become, way):
    home = Path(account.pw_dir)
    copy_of_the_source(home / "source")
    said("chown", "-R", ACCOUNT, home / "source")
    installer, line = WAYS[way]
    said(*become, f"cd; {PYTHON} -m venv own && own/bin/pip install --quiet --upgrade {installer} && own/bin/{line}")
    shutil.rmtree(home / "source")
    shutil.copy(ROOT / "examples/hello.toml", home)
    assert said(*become, "cd; jim-submit hello.toml").startswith("GRAM_SCRIPT_JOB_ID:1\n")
    assert "1 completed" in said(*become, "jim watch 1")
    assert said(*become, "jim-poll 1") == ENDED
    assert said(*become, "jim run /bin/echo hello") == "hello\n"
    assert said(*become, "jim-cancel 1") == ENDED
    said(*become, "jim keeper --end")
    assert "failed" not in said(*become, "jim site check")
    assert said(*become, "cd; jim-submit hello.toml").startswith("GRAM_SCRIPT_JOB_ID:3\n")  # its keeper is the script's
    assert "3 completed" in said(*become, "jim watch 3")


@pytest.mark.long
def test_a_keeper_survives_that_pip_replaces_it_under_forty_running_jobs(account, become):
    """It is killed meanwhile, too. Nothing is lost, run twice, or fails."""
    home, pip = Path(account.pw_dir), f"own/bin/pip --python {PYTHON} install --quiet --user --break-system-packages"
    source, state = copy_of_the_source(home / "source"), home / ".local/state/jim"
    said("chown", "-R", ACCOUNT, source)
    said(*become, f"cd; {PYTHON} -m venv own && {pip} ./source")
    state.mkdir(parents=True)
    (state / "site.toml").write_text("[batch]\nslots = 40\n")
    sets = json.dumps([["-c", f"until [ -e {home}/go ]; do sleep 0.3; done; echo {n} >>{home}/ran"] for n in range(40)])
    (home / "forty.toml").write_text(f'job_type = "parametric"\nexecutable = "/bin/sh"\nargument_sets = {sets}\n')
    said("chown", "-R", ACCOUNT, home / ".local", home / "forty.toml")
    assert said(*become, "cd; jim-submit forty.toml").startswith("GRAM_SCRIPT_JOB_ID:1\n")
    until(lambda: "running: 40 of 40" in said(*become, "jim status 1 || :"), "all run")
    assert len(processes("run_grid_job keeper")) == 1
    upgrade = subprocess.Popen([*become, f"cd; {pip} --force-reinstall --no-deps ./source"], cwd="/")
    killed = 0
    while upgrade.poll() is None:
        for pid in processes("run_grid_job keeper"):
            killed += 1
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.4)
        subprocess.run([*become, "jim-poll 1"], capture_output=True, cwd="/", check=False)  # starts the next one
    assert upgrade.returncode == 0
    assert killed >= 1
    (home / "go").touch()
    until(lambda: said(*become, "jim-poll 1") == ENDED, "it has ended")
    assert sorted(map(int, (home / "ran").read_text().split())) == list(range(40))
    assert "1 completed" in said(*become, "jim watch 1")
