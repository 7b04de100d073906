"""docs/htcondor-ce.md, word by word."""

from __future__ import annotations

import pytest

from tests.live.pasting import Page
from tests.live.site import LABS

pytestmark = pytest.mark.long

# HTCondor where Debian 13's package puts it, for this machine may be a Debian 12; and a systemd that starts only that.
LIKE_DEBIAN_13 = """
mkdir -p /run/lock /run/condor
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
    lab("condor-ce")  # for the programs
    found = (LABS / "condor-ce/settings").read_text().split()[1]
    page = Page("htcondor-ce.md", tmp_path)
    assert len(page.blocks) == 4
    page.tool("systemctl", SYSTEMCTL)
    told = page.paste(LIKE_DEBIAN_13.format(programs=f"{found}/trixie/usr"))
    assert "a job came through the route to JIM, and its output came back" in told
    assert told.endswith("hello\n")
