"""A real HTCondor loses a daemon while a local job runs, and may start the job again: JIM's claim does not."""

from __future__ import annotations

from contextlib import suppress

import psutil
import pytest

from tests.live.faults import Counts, count
from tests.live.site import DONE, LABS, operator, until

pytestmark = pytest.mark.long
# Some 25 s, whatever becomes of what it starts, and whatever it is told.
STUBBORN = "trap '' TERM\nfor _ in $(seq 125); do sleep 0.2; done"


def condor(*words):
    return operator("sh", "-c", f'. {LABS}/condor/env.sh && "$@"', "sh", *words)


def kill(name):
    """End the lab's daemons of this name: the only one, and copies by which it may answer questions just then."""
    killed = 0
    for each in psutil.process_iter(["name"]):
        with suppress(psutil.NoSuchProcess):
            if each.info["name"] == name and each.environ().get("JIM_LAB") == str(LABS / "condor"):
                each.kill()
                killed += 1
    assert killed


@pytest.fixture
def site(lab, make_site):
    """A site on a new lab: it has no other jobs."""
    lab("condor", anew=True)
    return make_site("condor")


def running(site, body):
    job = site.submit(1, body=body)
    until(lambda: site.events("start", job), "it runs")
    return job


def assert_done_once(site, job):
    assert site.ended(job, 300) == DONE
    until(lambda: not condor("condor_q", "-allusers", "-af", "ClusterId").strip(), "HTCondor has nothing to start")
    assert count(site, job, "completed", 1) == Counts(1, 0, 0, 0, 0)
    assert set(site.events("start", job).values()) == {1}


@pytest.mark.parametrize("body", ["sleep 25 || exit", STUBBORN], ids=["plain", "stubborn"])
@pytest.mark.parametrize("name", ["condor_shadow", "condor_starter", "condor_schedd"])
def test_a_daemon_is_killed(name, body, site):
    job = running(site, body)
    kill(name)
    assert_done_once(site, job)


@pytest.mark.parametrize("name", ["condor_shadow", "condor_starter"])
def test_what_was_killed_is_started_again(name, site):
    """JIM forbids it; an operator allows it all the same. The second start finds the claim of the first."""
    job = running(site, STUBBORN)
    id_ = until(lambda: site.batch_id(job), "its batch id is known")
    condor("condor_qedit", id_, "Requirements", "true", "PeriodicRemove", "false")
    kill(name)
    assert_done_once(site, job)
    assert list(site.state.glob(f"work/{job}/s1/refused.*")), "HTCondor has not started it again"
