"""Debian's packages in a copy of this machine: installed, used, upgraded under a running job, removed, purged.

With systemd, and on a Debian that has nothing but JIM, `test_debian.py` tries more of this.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.accounts import have
from tests.live.debian import OF_PAGES, Copy, packages
from tests.live.site import until

OLD, NEW = "7.0.0", "7.0.1"
INSTALL = "dpkg -i /opt/jim_{0}_all.deb /opt/jim-pages_{0}_all.deb"
KEEPERS = "pgrep -f 'jim[.]run_grid_job keeper' || :"
TREES = "cd /usr/lib/jim; stat -c %i dist/jim/__init__.py jim/jim/__init__.py; readlink jim"
REQUEST = {
    "job_type": "executable",
    "executable": "/bin/sh",
    "arguments": ["-c", "until [ -e ~/go ]; do sleep 0.2; done"],
}
# The same files as the next version, without a second build.
NEXT = f"""
for name in jim jim-pages; do
    dpkg-deb -R /opt/${{name}}_{OLD}_all.deb /tmp/$name
    sed -i '/^Version: /s/{OLD}/{NEW}/; s/(= {OLD})/(= {NEW})/' /tmp/$name/DEBIAN/control
done
sed -i 's/{OLD}/{NEW}/' /tmp/jim/usr/lib/jim/dist/jim/__init__.py
for name in jim jim-pages; do dpkg-deb -Zgzip -z1 -b /tmp/$name /opt/${{name}}_{NEW}_all.deb; done
"""


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    have(*OF_PAGES)
    copy = Copy(tmp_path)
    yield copy
    copy.close()


def test_packages_are_installed_upgraded_under_a_running_job_and_removed(tmp_path: Path, copy: Copy) -> None:
    for path in packages(tmp_path, OLD):
        shutil.copy(path, copy.root / "opt")
    copy.run(INSTALL.format(OLD))
    assert copy.run("dpkg --verify jim jim-pages") == "", "all files are there, as they were built"
    assert copy.run("jim --version") == f"jim {OLD}\n"
    of_dist, of_tree, name = copy.run(TREES).split()
    assert (of_dist, name) == (of_tree, f"jim-{OLD}.1")

    copy.run("useradd --create-home mc; jim site init --account mc")
    assert copy.run("jim run /bin/echo hello", "mc").endswith("\nhello\n")
    copy.run(f"echo '{json.dumps(REQUEST)}' >request.json; jim submit request.json", "mc")
    until(lambda: "running: 1 of 1" in copy.run("jim status", "mc"), "it runs")
    (keeper,) = copy.run(KEEPERS).split()
    copy.run(NEXT)
    copy.run(INSTALL.format(NEW))
    assert copy.run("jim --version") == f"jim {NEW}\n"
    of_dist, of_tree, name = copy.run(TREES).split()
    assert (of_dist, name) == (of_tree, f"jim-{NEW}.1")
    assert copy.run(KEEPERS).split() == [keeper]
    assert f"PYTHONPATH=/usr/lib/jim/jim-{OLD}.1\0" in copy.run(f"cat /proc/{keeper}/environ")
    copy.run("touch go", "mc")
    until(lambda: "running" not in copy.run("jim status", "mc"), "it has ended")
    assert copy.run("jim run /bin/echo still here", "mc").endswith("\nstill here\n")

    copy.run("dpkg --remove jim-pages jim")
    assert copy.run(KEEPERS) == "", "whoever removes JIM ends its keepers"
    copy.run("jim --version", code=127)
    told = copy.run("dpkg --purge jim-pages jim")
    assert "jim: /etc/jim stays: it has the site's settings, or results of people; remove it yourself" in told
    assert "jim: /var/lib/jim stays" in told
    assert copy.run("ls /etc/jim/site.toml /var/lib/jim/mc/status.db").count("\n") == 2
