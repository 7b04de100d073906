"""A real HTCondor: each local job once, also where the answer to its submission was lost, and a cancel of all of it."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

from tests.live.faults import Counts, count
from tests.live.site import CANCELLED, DONE, LABS, LONG, operator, until

CPUS = 8  # of the lab
QUEUE = f". {LABS}/condor/env.sh && condor_q -allusers -af ClusterId"


@pytest.fixture(scope="module")
def site(lab, make_site):
    lab("condor", CONDOR_LAB_CPUS=CPUS)
    return make_site("condor")


def assert_each_once(site, job, pieces):
    assert site.ended(job) == DONE
    once = Counter({(n, 1): 1 for n in range(pieces)})
    assert site.events("start", job) == site.events("end", job) == once
    assert count(site, job, "completed", pieces) == Counts(pieces, 0, 0, 0, 0)


def test_each_local_job_once(site):
    job = site.submit(3)
    assert_each_once(site, job, 3)
    _, files = site.tar(job)
    assert {name: text for name, text in files.items() if name.endswith("out.txt")} == {
        f"{job}.{n}/out.txt": f"data {n} 1\n".encode() for n in range(3)
    }


def test_the_keeper_is_killed_before_it_has_the_answer(site):
    before = site.called("submit")
    with site.held("after", "submit") as hold:
        job = site.submit(3, body="sleep 2")
        hold.there()
        os.kill(site.keeper, signal.SIGKILL)
        hold.go()
    site.wake()
    assert_each_once(site, job, 3)
    assert site.called("submit") - before == 1


def test_the_answers_are_lies(lab, make_site):
    lab("condor", CONDOR_LAB_CPUS=CPUS)
    site = make_site("condor", more="[limits]\nper_submission = 2\n")
    (site.place / "lying").touch()
    job = site.submit(4, body="sleep 3")
    assert site.ended(job) == DONE
    assert count(site, job, "completed", 4) == Counts(4, 0, 0, 0, 0)
    assert set(site.events("start", job).values()) == {1}


def test_cancel_what_runs_and_what_waits(site):
    pieces = CPUS + 4
    job = site.submit(pieces, body=LONG)
    until(lambda: len(site.events("start", job)) == CPUS, "the first ones run")
    assert site.door("jim-cancel", str(job)).returncode == 0
    assert site.ended(job) == CANCELLED
    assert count(site, job, "killed", pieces) == Counts(pieces, 0, 0, 0, 0)
    until(lambda: not operator("sh", "-c", QUEUE).strip(), "HTCondor has nothing that it could start")
    assert set(site.events("start", job).values()) == {1}
    assert not site.events("end", job)
