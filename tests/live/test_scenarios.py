"""The same scenarios on each real batch system: what a site expects of JIM when nothing is broken."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.live.site import CANCELLED, DONE, FAILED, LONG, operator, until

pytestmark = pytest.mark.long

# How many local jobs, in how many submissions at most: the commands of PBS that Slurm brings along list no arrays.
SYSTEMS = {"slurm": (1000, 3), "sge": (1000, 3), "pbs_wrappers": (100, 100)}
GO = 'while [ ! -e "$0.go" ]; do sleep 0.2; done'  # until a test says so


@pytest.fixture(scope="module", params=list(SYSTEMS))
def site(request, lab, make_site):
    """One site on each system, and on it a grid job whose local job outlives its limit, which takes some minutes."""
    if request.param == "pbs_wrappers":
        lab("slurm")
        lab("pbs-wrappers")
    else:
        lab(request.param)
    late = make_site(request.param, more="[limits]\nattempts = 1\n")
    site = make_site(request.param)
    site.late = late, late.submit(1, body="sleep 300 || exit", wall_seconds=60)
    return site


def state_of(site, job, n=0):
    """Give a local job's state, empty while there is none."""
    return site.states(job).get(n, "")


def running(site, job, n=0):
    until(lambda: site.events("start", job)[n, 1] and state_of(site, job, n) == "running", f"{job}.{n} runs")


def test_many_local_jobs_each_once(site):
    count, submissions = SYSTEMS[site.system]
    before = site.called("submit")
    job = site.submit(count)
    assert site.ended(job, 900) == DONE  # Grid Engine starts some 3 a second on a machine that is busy
    once = Counter({(n, 1): 1 for n in range(count)})
    assert site.events("start", job) == site.events("end", job) == once
    assert not site.events("overlap", job)
    assert site.called("submit") - before <= submissions
    told, files = site.tar(job)
    assert {n: (each["state"], each["attempt"]) for n, each in told.items()} == dict.fromkeys(
        range(count), ("completed", 1)
    )
    assert {name: text for name, text in files.items() if name.endswith("out.txt")} == {
        f"{job}.{n}/out.txt": f"data {n} 1\n".encode() for n in range(count)
    }


def test_exit_codes_and_signals(site):
    job = site.submit(["true", "exit 7", "kill -KILL $$", "kill -SEGV $$", "exit 99"], body='eval "$1"')
    assert site.ended(job) == FAILED
    told, _ = site.tar(job)
    ends = [(told[n]["state"], told[n]["reason"]) for n in range(5)]
    assert ends == [
        ("completed", ""),
        ("failed", "exit 7"),
        ("failed", "killed by signal 9: by the site or for want of memory (attempt 3 of 3)"),
        ("failed", "signal 11"),
        ("failed", "exit 99"),
    ]
    again = {(2, 2): 1, (2, 3): 1}
    assert site.events("start", job) == Counter({(n, 1): 1 for n in range(5)} | again)


def test_a_queue_that_is_not_there(site):
    job = site.submit(2, queue="nosuch")
    assert site.ended(job) == FAILED
    assert not site.events("start", job)
    reasons = {each["reason"] for each in site.tar(job)[0].values()}
    words = 'unknown queue "nosuch"' if site.system == "sge" else "Invalid partition name specified"
    assert len(reasons) == 1
    assert words in reasons.pop()


@pytest.mark.parametrize("site", ["slurm"], indirect=True)
def test_what_can_never_start_is_named(site):
    job = site.submit(1, queue="short", wall_seconds=6000)  # which the queue never gives
    until(lambda: "can never start as it was asked for: " in site.jim("explain", str(job)), "explain names it")
    assert site.door("jim-cancel", str(job)).returncode == 0
    assert site.ended(job) == CANCELLED


def test_cancel_what_runs_and_what_waits(site):
    slots = 80  # more than there is room for
    job = site.submit(slots, body=LONG)
    until(lambda: len(site.events("start", job)) >= 60, "the first ones run")
    assert site.door("jim-cancel", str(job)).returncode == 0
    assert site.ended(job) == CANCELLED
    told, _ = site.tar(job)
    assert Counter(each["state"] for each in told.values()) == {"killed": slots}
    assert set(site.events("start", job).values()) == {1}
    assert not site.events("end", job)


def test_suspend_and_resume(site):
    job = site.submit(80, body=GO)
    until(lambda: len(site.events("start", job)) >= 60, "the first ones run")
    site.jim("suspend", str(job))
    until(lambda: "held" in site.states(job).values(), "what waited is held")
    release = site.place / f"payload-{site.number}.go"
    release.touch()
    # What was not sent yet goes on waiting.
    until(lambda: set(site.states(job).values()) <= {"completed", "held", "waiting"}, "what ran has ended")
    ended = {n for n, state in site.states(job).items() if state == "completed"}
    assert {n for n, _ in site.events("start", job)} == ended, "something held has started"
    site.jim("resume", str(job))
    assert site.ended(job) == DONE
    assert site.events("start", job) == Counter({(n, 1): 1 for n in range(80)})


def test_put_back_into_the_queue_while_it_runs(site):
    """JIM forbids it; an operator does it all the same. Then it is another attempt, after the first one's end."""
    job = site.submit(1, body='[ "$JIM_ATTEMPT" -gt 1 ] || sleep 60')
    running(site, job)
    id_ = site.batch_id(job)
    if site.system == "sge":
        operator("qmod", "-f", "-rj", f"{id_}.1")
    else:
        task = f"{id_}_1" if site.system == "slurm" else id_
        operator("scontrol", "update", f"jobid={task}", "requeue=1")
        operator("scontrol", "requeue", task)
    assert site.ended(job, 240) == DONE
    starts = site.events("start", job)
    assert set(starts.values()) == {1}
    assert not site.events("overlap", job)
    told, files = site.tar(job)
    assert told[0]["state"] == "completed"
    attempt = told[0]["attempt"]
    assert site.events("end", job)[0, attempt] == 1
    assert files[f"{job}.0/out.txt"] == f"data 0 {attempt}\n".encode()


def test_the_keeper_is_killed(site):
    job = site.submit(40, body="sleep 2")
    until(lambda: len(site.events("start", job)) >= 5, "some run")
    old = site.keeper
    os.kill(old, 9)
    (site.state / "woken").unlink(missing_ok=True)
    site.door("jim-wake", str(site.state))
    assert site.ended(job) == DONE
    assert site.keeper != old
    assert site.events("start", job) == Counter({(n, 1): 1 for n in range(40)})


def test_over_the_time_limit(site):
    late, job = site.late
    assert late.ended(job, 300) == FAILED
    told, _ = late.tar(job)
    assert told[0]["state"] == "failed"
    assert late.events("start", job) == Counter({(0, 1): 1})
    assert not late.events("end", job)
    assert "limit" in told[0]["reason"] or "signal" in told[0]["reason"]
