"""The quick proof on a real Slurm and a real Grid Engine, which test_faults.py hurts besides."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

from tests.live.site import CANCELLED, DONE, FAILED, LONG, SLOTS, operator, until

MANY = {"slurm": 300, "sge": 60}
FIRST, AGAIN = (1, 2)


@pytest.fixture(scope="module", params=list(MANY))
def site(request, lab, make_site):
    lab(request.param)
    return make_site(request.param)


def test_each_of_many_local_jobs_runs_once(site):
    count = MANY[site.system]
    job = site.submit(count)
    assert site.ended(job) == DONE
    assert site.called("submit") == 1
    assert site.events("start", job) == site.events("end", job) == Counter({(n, FIRST): 1 for n in range(count)})
    assert not site.overlaps(job)
    told, files = site.tar(job)
    ends = {n: (each["state"], each["attempt"]) for n, each in told.items()}
    assert ends == dict.fromkeys(range(count), ("completed", FIRST))
    assert {name: text for name, text in files.items() if name.endswith("out.txt")} == {
        f"{job}.{n}/out.txt": f"data {n} 1\n".encode() for n in range(count)
    }


def test_a_cancel_ends_what_runs_and_what_waits(site):
    count = SLOTS + 16
    job = site.submit(count, body=LONG)
    until(lambda: len(site.events("start", job)) >= SLOTS // 2, "some run")
    assert site.door("jim-cancel", str(job)).returncode == 0
    assert site.ended(job) == CANCELLED
    told, _ = site.tar(job)
    assert Counter(each["state"] for each in told.values()) == {"killed": count}
    assert set(site.events("start", job).values()) == {1}
    assert not site.events("end", job)
    assert not [n for n in range(count) if site.alive(job, n)]


@pytest.mark.parametrize("site", ["slurm"], indirect=True)
def test_exit_codes_and_signals_are_told(site):
    job = site.submit(["true", "exit 7", "kill -SEGV $$"], body='eval "$1"')
    assert site.ended(job) == FAILED
    told, _ = site.tar(job)
    ends = [(told[n]["state"], told[n]["reason"]) for n in range(3)]
    assert ends == [("completed", ""), ("failed", "exit 7"), ("failed", "signal 11")]
    assert site.events("start", job) == Counter({(n, FIRST): 1 for n in range(3)})


@pytest.mark.parametrize("site", ["slurm"], indirect=True)
def test_a_wrapper_killed_alone_gets_a_next_attempt_when_its_payload_is_dead(site):
    """Nobody records the end of a payload whose wrapper is dead, so the piece is done again, but not before."""
    job = site.submit(4, body='[ "$JIM_ATTEMPT" -gt 1 ] || until [ -e "$0.go" ]; do sleep 0.1; done')
    until(lambda: len(site.events("start", job)) == 4, "all run")
    for n in (0, 1):
        os.kill(site.wrapper(job, n), signal.SIGKILL)
    queue = ("squeue", "-h", "-r", f"--job={site.batch_id(job)}")
    until(lambda: len(operator(*queue).splitlines()) == 2, "Slurm shows only the other two")
    (site.place / f"payload-{site.number}.go").touch()
    assert site.ended(job) == DONE
    starts = [(n, FIRST) for n in range(4)] + [(0, AGAIN), (1, AGAIN)]
    assert site.events("start", job) == Counter(starts)
    assert not site.overlaps(job)
    told, files = site.tar(job)
    assert [told[n]["attempt"] for n in range(4)] == [AGAIN, AGAIN, FIRST, FIRST]
    for n in range(4):
        assert files[f"{job}.{n}/out.txt"] == f"data {n} {told[n]['attempt']}\n".encode()
