"""docs/arc.md, word by word."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.live.site import PLAIN_PATH, ROOT, copy_of_the_source

pytestmark = pytest.mark.long

# Where nothing that the page makes stays.
APART = """
set -eu
mount --make-rprivate /
mount -t tmpfs none {apart}
for place in etc home root usr var; do
    mkdir -p {apart}/$place/upper {apart}/$place/work
    mount -t overlay none -o lowerdir=/$place,upperdir={apart}/$place/upper,workdir={apart}/$place/work /$place
done
mount -t tmpfs none /run
rm -rf /etc/jim /var/lib/jim /usr/local/libexec/jim /etc/grid-security /etc/arc.conf
"""
# A systemd that starts only A-REX. Diffie-Hellman parameters of its own would take minutes.
SYSTEMCTL = """#!/bin/sh
[ "$*" = "start arc-arex arc-arex-ws" ] || exit 1
mkdir -p /var/spool/arc/jobstatus
openssl genpkey -genparam -algorithm DH -pkeyopt group:ffdhe3072 2>/dev/null |
    openssl dhparam -out /var/spool/arc/jobstatus/dhparam.pem 2>/dev/null
for each in arc-arex-start arc-arex-ws-start; do setsid /usr/share/arc/$each </dev/null >/var/log/$each 2>&1 & done
for _ in $(seq 120); do
    curl -sk -o /dev/null "https://$(hostname -f):443/arex"
    [ $? = 7 ] || exit 0 # who shows no certificate is refused, once somebody listens
    sleep 0.5
done
tail -n 5 /var/log/arc-arex-*start /var/log/arc/*.log >&2
exit 1
"""


def test_the_page_leads_from_nothing_to_a_first_job(lab, tmp_path):
    """Its commands, word by word, with mounts, network and processes of their own."""
    lab("arc")  # for the packages
    page = (ROOT / "docs/arc.md").read_text()
    chapter = page.partition("## From nothing to a first job\n")[2].partition("\n## ")[0]
    install, *blocks = re.findall(r"```sh\n(.*?)```", chapter, re.DOTALL)
    assert len(blocks) == 3
    for name in ("bin", "apart"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin/apt-get").symlink_to("/bin/true")
    (tmp_path / "bin/systemctl").write_text(SYSTEMCTL)
    (tmp_path / "bin/systemctl").chmod(0o755)
    copy = copy_of_the_source(tmp_path / "copy")
    alone = tmp_path / "alone"
    alone.write_text("set -eu\nip link set lo up\n" + "".join(blocks))
    (tmp_path / "script").write_text(
        f"{APART.format(apart=tmp_path / 'apart')}cd {copy}\n{install}cd /\nrm -r {copy}\nexec unshare --net sh {alone}"
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
    assert "a job came through A-REX to JIM, and its output came back" in done.stdout
    assert done.stdout.endswith("hello\n")
