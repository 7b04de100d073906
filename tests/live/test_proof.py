"""The quick proof on a real Slurm and a real Grid Engine, which test_faults.py hurts besides."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

from tests.live.site import CANCELLED, DONE, FAILED, LONG, SLOTS, until

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


def test_each_local_job_of_a_bundle_runs_once_and_ends_by_itself(site):
    """Four batch jobs with two lanes each. What fails is tried again in one more, and what is cancelled ends alone."""
    bundle = {"bundle": 10, "at_once": 2, "cores": 1, "memory_mb": 200}
    again = [{"when": "exit 7", "times": 1, "delay": "PT0S"}]
    before = site.called("submit")
    body = 'case $1.$JIM_ATTEMPT in 3.1) exit 7 ;; 39.*) sleep 600 ;; esac; [ -z "$JIM_CARRIER" ] || sleep 0.2'
    job = site.submit(40, body=body, retry=again, **bundle)
    until(lambda: site.events("start", job)[39, FIRST], "the last one runs")
    site.jim("cancel", f"{job}.39")
    assert site.ended(job) == DONE
    ends = {n: (each["state"], each["attempt"]) for n, each in site.tar(job)[0].items()}
    assert ends == dict.fromkeys(range(39), ("completed", FIRST)) | {3: ("completed", AGAIN), 39: ("killed", FIRST)}
    assert site.events("start", job) == Counter({(n, FIRST): 1 for n in range(40)} | {(3, AGAIN): 1})
    assert not site.overlaps(job)
    assert not site.alive(job, 39)
    assert site.called("submit") == before + 2
    assert ", carrier 1 " in site.jim("show", f"{job}.3")


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
def test_wrappers_killed_alone_leave_the_end_of_a_payload_or_its_death(site):
    """What touches the claim records a payload that comes to its end by itself, and ends any other."""
    body = """[ "$JIM_ATTEMPT" -gt 1 ] || { [ "$1" != 0 ] || sleep 600; until [ -e "$0.go" ]; do sleep 0.1; done; }"""
    job = site.submit(3, body=body)
    until(lambda: len(site.events("start", job)) == 3, "all run")
    until(lambda: len(list(site.state.glob(f"work/{job}/s1/toucher.*"))) == 3, "each has its toucher")
    for n in (0, 1):
        os.kill(site.wrapper(job, n), signal.SIGKILL)
    (site.place / f"payload-{site.number}.go").touch()
    assert site.ended(job) == DONE
    assert site.events("start", job) == Counter([(0, FIRST), (1, FIRST), (2, FIRST), (0, AGAIN)])
    assert site.events("end", job) == Counter([(0, AGAIN), (1, FIRST), (2, FIRST)])
    assert not site.overlaps(job)
    told, files = site.tar(job)
    assert [told[n]["attempt"] for n in range(3)] == [AGAIN, FIRST, FIRST]
    for n in range(3):
        assert files[f"{job}.{n}/out.txt"] == f"data {n} {told[n]['attempt']}\n".encode()
