"""An account of this machine for one test, which installs JIM or uses what was installed, as people do."""

from __future__ import annotations

import os
import pwd
import subprocess
from contextlib import suppress
from pathlib import Path

ACCOUNT = "jimuser"
DEBIAN = ("python3-lxml", "python3-psutil", "python3-tenacity", "python3-rich", "python3-venv")
DEBIAN += ("man-db", "procps", "systemd")  # what the tests themselves ask
PLAIN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


def said(*command, limit=300, **more):
    """Run what must succeed, and give what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False, **({"cwd": "/"} | more))
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def have(*packages):
    """Install what is missing of these packages of Debian; whoever else installs something now is waited for."""
    ask = ("dpkg-query", "--show", "--showformat", "${db:Status-Status}\n", *packages)
    states = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.split()
    if states == ["installed"] * len(packages):
        return
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    patient = ("apt-get", "-o", "DPkg::Lock::Timeout=600", "-q")
    install = (*patient, "install", "--yes", "--no-install-recommends", *packages)
    if subprocess.run(install, env=quiet, capture_output=True, timeout=900, check=False).returncode:
        said(*patient, "update", env=quiet)
        said(*install, limit=900, env=quiet)


def processes(words):
    """Find processes of the account by words of their command line."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if words in line and each.stat().st_uid == pwd.getpwnam(ACCOUNT).pw_uid:
                found.append(int(each.name))
    return found
