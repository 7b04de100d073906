"""Installed for real: with libraries of PyPI and with Debian's, for another account, upgraded under a running job."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.live.accounts import ACCOUNT, PLAIN, processes, said
from tests.live.site import ROOT, copy_of_the_source, until

pytestmark = pytest.mark.usefixtures("debian")


@pytest.fixture
def prefix():
    """A prefix with a space that every account can enter."""
    place = Path("/opt/jim live")
    assert not place.exists()
    yield place
    shutil.rmtree(place, ignore_errors=True)


def install(prefix, **words):
    """Install a copy of this tree, and take the copy away."""
    copy = copy_of_the_source(prefix.with_name("jim live copy"))
    try:
        settings = {"PREFIX": prefix, "PYTHON": "/usr/bin/python3"} | words
        said("make", "-C", copy, "install", *(f"{name}={word}" for name, word in settings.items()), env=PLAIN)
    finally:
        shutil.rmtree(copy)


def as_account(prefix, door, *words):
    home = pwd.getpwnam(ACCOUNT).pw_dir
    return said("runuser", "-u", ACCOUNT, "--", "env", "-i", f"HOME={home}", prefix / "bin" / door, *words)


@pytest.mark.long
@pytest.mark.parametrize("libraries", ["own", "system"])
def test_another_account_uses_it_and_it_is_upgraded_under_a_running_job(prefix, account, libraries):
    install(prefix, LIBRARIES=libraries)
    state, go = Path(account.pw_dir) / ".local/state/jim", Path(account.pw_dir) / "go"
    checks = as_account(prefix, "jim", "site", "init") + as_account(prefix, "jim", "site", "check")
    assert "failed" not in checks
    request = Path(account.pw_dir) / "long.toml"
    script = f"until [ -e {go} ]; do sleep 0.2; done; echo done"
    request.write_text(f'job_type = "executable"\nexecutable = "/bin/sh"\narguments = ["-c", "{script}"]\n')
    assert as_account(prefix, "jim-submit", request).startswith("GRAM_SCRIPT_JOB_ID:1\n")
    active = "GRAM_SCRIPT_JOB_STATE:2\n\n"
    until(lambda: as_account(prefix, "jim-poll", "1") == active, "it runs")
    (old,) = processes("run_grid_job keeper")
    for _ in range(2 if libraries == "system" else 1):
        install(prefix, LIBRARIES=libraries)
    assert processes("run_grid_job keeper") == [old]  # it runs on, and its modules are there
    os.kill(old, signal.SIGTERM)
    until(lambda: not processes("run_grid_job keeper"), "the keeper has ended")
    as_account(prefix, "jim", "keeper", "--all")
    until(lambda: processes("run_grid_job keeper"), "a keeper of the new version runs")
    (new,) = processes("run_grid_job keeper")
    assert f"PYTHONPATH={(prefix / 'libexec/jim').resolve()}" in Path(f"/proc/{new}/environ").read_text().split("\0")
    go.touch()
    until(lambda: as_account(prefix, "jim-poll", "1") == "GRAM_SCRIPT_JOB_STATE:8\n\n", "it has ended")
    assert "/stdout\ndone\n" in as_account(prefix, "jim", "logs", "1.0")
    assert len(list(state.glob("work/1/s*"))) == 1  # sent once
    assert as_account(prefix, "jim", "xml", "1").startswith("<?xml")


@pytest.mark.long
def test_units_and_manual_page_are_read_as_they_were_meant(prefix):
    install(prefix, LIBRARIES="system")
    page = prefix / "share/man/man1/jim.1"
    done = subprocess.run(["man", "-l", "--warnings", page], env=PLAIN, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^ +explain$", done.stdout, re.MULTILINE)
    units = sorted((prefix / "lib/systemd/system").iterdir())
    environment = PLAIN | {"MANPATH": f"{prefix}/share/man"}
    assert said("systemd-analyze", "verify", *units, env=environment) == ""


def test_pip_installs_a_jim_whose_doors_work(tmp_path, account):
    place, source = Path("/opt/jim live pip"), copy_of_the_source(tmp_path / "source")
    try:
        said("/usr/bin/python3", "-m", "venv", place)
        said(place / "bin/pip", "install", "--quiet", "--disable-pip-version-check", source)
        shutil.rmtree(source)
        hello = Path(account.pw_dir) / "hello.toml"
        shutil.copy(ROOT / "examples/hello.toml", hello)
        hello.chmod(0o644)
        doors, (package,) = place / "bin", place.glob("lib/python3*/site-packages/jim")
        home = f"HOME={account.pw_dir}"
        become = ("runuser", "-u", ACCOUNT, "--", "env", "-i", home)
        assert said(*become, doors / "jim-submit", hello).startswith("GRAM_SCRIPT_JOB_ID:1\n")
        assert "1 completed" in said(*become, place / "bin/jim", "watch", "1")
        assert said(*become, doors / "jim-poll", "1") == "GRAM_SCRIPT_JOB_STATE:8\n\n"
        assert said(*become, package / "shell/jim-poll", "1") == "GRAM_SCRIPT_JOB_STATE:8\n\n"
        assert (package / "shell/gram/samgrid.pm").is_file()
    finally:
        shutil.rmtree(place, ignore_errors=True)


# The page for administrators, followed as it is written, where nothing of this machine can be changed by it

PLACES = "/etc /var/lib /usr/local /opt /home"
HIDDEN = f"""
set -eu
mount -t tmpfs tmpfs /mnt
for place in {PLACES}; do
    mkdir -p /mnt$place.new /mnt$place.work
    mount -t overlay overlay -o lowerdir=$place,upperdir=/mnt$place.new,workdir=/mnt$place.work $place
done
rm -rf /etc/jim /var/lib/jim /usr/local/libexec/jim*
useradd --create-home mc
useradd --create-home cms
cd "$1"
"""
# What `systemctl enable` would have made: it must be undone first.
ENABLED = "/etc/systemd/system/timers.target.wants/jim-keepers.timer"
REFUSED = (
    f"mkdir -p {ENABLED.rpartition('/')[0]}; ln -s /usr/local/lib/systemd/system/jim-keepers.timer {ENABLED}",
    "! make uninstall",
    f"rm {ENABLED}",
)
LEFT = "ls -d /usr/local/bin/jim* /usr/local/libexec/jim* /usr/local/share/jim 2>/dev/null || echo nothing is left"


def commands(section):
    """Give the commands of a section of the page."""
    text = (ROOT / "docs/installing.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = re.findall(r"^(?: {4}| {7})([a-z].*)$", re.sub(r" \\\n +", " ", text), re.MULTILINE)
    return [line for line in lines if not line.startswith(("systemctl", "condor_", "printf"))]


@pytest.mark.long
def test_the_page_holds_as_it_is_written(tmp_path):
    """Without systemd, which does not run everywhere, and without a gatekeeper."""
    copy = copy_of_the_source(tmp_path / "jim")
    (cron,) = re.findall(r"`(cp .*/etc/cron\.d/)`", (ROOT / "docs/installing.md").read_text())
    steps = [*commands("Install"), *commands("Make the site"), "mkdir -p /etc/cron.d", cron]
    steps += ["sudo -u mc jim submit /usr/local/share/jim/examples/hello.toml"]
    install = [line for line in commands("Install") if line.startswith("make install")]
    steps += [*install, *commands("Upgrade"), *commands("Advertise the site")[:1]]
    steps += REFUSED
    steps += ["rm /etc/cron.d/jim-keepers"]  # as the page says, where systemd is not
    steps += [line for line in commands("Remove") if not line.startswith("jim gram")]
    assert len(steps) >= 18
    script = tmp_path / "script"  # a file: what ends keepers by their words must not find them in a command line
    script.write_text(HIDDEN + "".join(map(here, steps)) + LEFT)
    told = said("unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", script, copy, env=PLAIN, limit=560)
    assert "JIM SITE OK" in told
    assert "/etc/cron.d/jim-keepers starts keepers" in told
    assert 'BatchSystem = "local"' in told
    assert 'SiteTestStatus = "ok"' in told
    assert "verified: its " in told  # the backup before the upgrade
    assert re.search(r"/var/lib/jim/mc continues as [0-9a-f]{8}; the next grid job is \d+ or above", told)
    assert "JIM is in use by its timer: systemctl disable --now jim-keepers.timer" in told
    assert told.endswith("nothing is left\n"), told[-2000:]


def here(line):
    """Do without sudo, answer for the reader, and keep backups where the rest of this machine is not."""
    done = line.replace("/backup/", "/home/mc/")
    done = done.replace("sudo -u mc", "runuser -u mc --").replace("apt-get install", "apt-get install --yes")
    if line.startswith("make uninstall"):  # the local batch system takes its minute
        done = f"for n in 1 2 3 4 5 6 7 8 9; do {done} && break; sleep 10; done"
    return f"echo; echo {shlex.quote(line)}\n{done} 2>&1\n"
