"""docs/arc.md, word by word."""

from __future__ import annotations

import pytest

from tests.live.pasting import Page

pytestmark = pytest.mark.long

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
    lab("arc")  # for the packages
    page = Page("arc.md", tmp_path)
    assert len(page.blocks) == 3
    page.tool("systemctl", SYSTEMCTL)
    told = page.paste("rm -rf /etc/grid-security /etc/arc.conf")
    assert "a job came through A-REX to JIM, and its output came back" in told
    assert told.endswith("hello\n")
