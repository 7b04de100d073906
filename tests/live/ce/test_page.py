"""docs/htcondor-ce.md, word by word."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.live.site import LABS, PLAIN_PATH, ROOT, copy_of_the_source

pytestmark = pytest.mark.long

# HTCondor where Debian 13's package puts it, for this machine may be a Debian 12; and a systemd that starts only that.
LIKE_DEBIAN_13 = """
set -eu
mount --make-rprivate /
mount -t tmpfs none {apart}
for place in etc home root usr var; do
    mkdir -p {apart}/$place/upper {apart}/$place/work
    mount -t overlay none -o lowerdir=/$place,upperdir={apart}/$place/upper,workdir={apart}/$place/work /$place
done
mount -t tmpfs none /run
mkdir -p /run/lock /run/condor
rm -rf /etc/jim /var/lib/jim /usr/local/libexec/jim
programs={programs}
cp -R $programs/../etc/condor $programs/../etc/blah.config /etc/
mkdir -p /usr/libexec /usr/lib/condor
cp -R $programs/libexec/blahp /usr/libexec/
ln -sfn $programs/libexec/condor /usr/libexec/condor
for each in $programs/bin/condor_* $programs/bin/blahpd; do ln -sf $each /usr/bin/; done
for each in $programs/sbin/condor_* $programs/sbin/blah*; do ln -sf $each /usr/sbin/; done
getent passwd condor >/dev/null || useradd -r condor
chown condor /run/condor
for place in log/condor lock/condor spool/condor lib/condor/execute lib/condor/cred_dir; do
    install -d -o condor -m 755 /var/$place
done
"""
SYSTEMCTL = """#!/bin/sh
[ "$*" = "restart condor" ] || exit 1
condor_master
for _ in $(seq 60); do
    condor_q -totals >/dev/null 2>&1 && exit
    sleep 0.5
done
condor_q -totals >&2
tail -n 5 /var/log/condor/*Log >&2
exit 1
"""


def test_the_page_leads_from_nothing_to_a_first_job(lab, tmp_path):
    """Its commands, word by word, where nothing of them stays: mounts, network and processes of their own."""
    lab("condor-ce")  # for the programs
    found = (LABS / "condor-ce/settings").read_text().split()[1]
    page = (ROOT / "docs/htcondor-ce.md").read_text()
    chapter = page.partition("## From nothing to a first job\n")[2].partition("\n## ")[0]
    install, *blocks = re.findall(r"```sh\n(.*?)```", chapter, re.DOTALL)
    assert len(blocks) == 4
    for name in ("bin", "apart"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin/apt-get").symlink_to("/bin/true")
    (tmp_path / "bin/systemctl").write_text(SYSTEMCTL)
    (tmp_path / "bin/systemctl").chmod(0o755)
    copy = copy_of_the_source(tmp_path / "copy")
    alone = tmp_path / "alone"
    alone.write_text("set -eu\nip link set lo up\n" + "".join(blocks))
    like_debian = LIKE_DEBIAN_13.format(apart=tmp_path / "apart", programs=f"{found}/trixie/usr")
    (tmp_path / "script").write_text(
        f"{like_debian}cd {copy}\n{install}cd /\nrm -r {copy}\nexec unshare --net sh {alone}"
    )
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", str(tmp_path / "script")],
        env={"PATH": f"{tmp_path}/bin:{PLAIN_PATH}", "HOME": "/root", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a job came through the route to JIM, and its output came back" in done.stdout
    assert done.stdout.endswith("hello\n")
