"""The commands of PBS that Slurm brings along: each local job by itself, for they list no arrays."""

from __future__ import annotations

from collections import Counter

from tests.live.site import CANCELLED, DONE, FAILED, LONG, until


def test_a_few_local_jobs(lab, make_site):
    lab("slurm")
    lab("pbs-wrappers")
    site = make_site("pbs_wrappers")
    job = site.submit(["true", "true", "true", "true"], body='eval "$1"')
    bad = site.submit(["true", "exit 7"], body='eval "$1"')
    assert site.ended(job) == DONE
    assert site.events("start", job) == site.events("end", job) == Counter({(n, 1): 1 for n in range(4)})
    assert site.ended(bad) == FAILED
    assert [site.tar(bad)[0][n]["reason"] for n in range(2)] == ["", "exit 7"]
    long = site.submit(2, body=LONG)
    until(lambda: len(site.events("start", long)) == 2, "both run")
    assert site.door("jim-cancel", str(long)).returncode == 0
    assert site.ended(long) == CANCELLED
    assert {each["state"] for each in site.tar(long)[0].values()} == {"killed"}
