"""Processes of running attempts are killed or stopped at random on a real Slurm, under payloads of many kinds.

`JIM_KILLS` says how many (60 by default), `JIM_SEED` in which order. The counts are printed: see docs/glitches.md.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress

import psutil
import pytest

from tests.live.faults import PIECES, Counts, count
from tests.live.site import ROOM, LiveSite, until

FEW = 10
ACTIVE = "GRAM_SCRIPT_JOB_STATE:2\n\n"
KILLS = int(os.environ.get("JIM_KILLS", "60"))
MORE = '[limits]\nattempts = 50\nretry_delay = "PT1S"\n'
# What starts the payload, and what it does for some seconds.
KINDS = {
    "plain": ((), "sleep {seconds}"),
    "own group": (("/usr/bin/timeout", "300"), "sleep {seconds}"),
    "own session": (("/usr/bin/setsid", "-w"), "sleep {seconds}"),
    "double fork": ((), '(setsid sh -c "sleep {seconds}; : >done" &) ; until [ -e done ]; do sleep 0.1; done'),
    "no environment": ((), "setsid -w env -i /bin/sleep {seconds}"),
    "deaf to TERM": ((), "trap '' TERM; sleep {seconds} || sleep 1"),
    "another name": ((), "perl -e '$0 = \"solver\"; sleep $ARGV[0]' {seconds}"),
}
# `stop`: for some seconds, then it goes on.
HOW = ("kill", "kill", "kill", "stop")
WHO = ("wrapper", "wrapper", "toucher", "payload", "parent", "group")


# Four batch jobs, with four lanes in each; and what is there besides wrappers and their own.
BUNDLED = {"bundle": -(-PIECES // 4), "at_once": 4, "cores": 1, "memory_mb": 200}
OF_CARRIERS = ("lane", "lane's keeper", "carrier")


class Attempt:
    """The processes of an attempt that runs."""

    def __init__(self, payload: int, *, carried: bool) -> None:
        chain = [psutil.Process(payload), *psutil.Process(payload).parents()]
        above = next(n for n, each in enumerate(chain) if each.name().startswith("slurmstepd"))
        self.carrier = dict(zip(OF_CARRIERS, reversed(chain[above - 3 : above]), strict=False)) if carried else {}
        above -= len(self.carrier)
        self.payload, self.parent, self.wrapper = chain[0], chain[above - 2], chain[above - 1]
        self.key = self.wrapper.pid, self.wrapper.create_time()
        self.touchers = [
            each
            for each in psutil.process_iter()
            if "local-job" in " ".join(_words(each)) and str(self.wrapper.pid) in _words(each)
        ]

    def of(self, who: str) -> list[psutil.Process]:
        """Give one kind of its processes, or all that its wrapper has started."""
        if who == "group":
            with suppress(psutil.Error):
                return [*self.wrapper.children(recursive=True), self.wrapper]
            return []
        return self.touchers if who == "toucher" else [self.carrier.get(who) or getattr(self, who)]


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def running(
    site: LiveSite, job: int, chance: random.Random, known: set[object], *, carried: bool = False
) -> Attempt | None:
    """Choose an attempt that runs and to which nothing was done yet: wrapper and toucher are not to be hurt both."""
    living = site.living(job)
    if len(living) < FEW:  # else the last one would be hurt again and again, and be waited for each time longer
        return None
    for payload in chance.sample(living, len(living)):
        with suppress(psutil.Error, StopIteration):
            attempt = Attempt(payload, carried=carried)
            if attempt.key not in known:
                known.add(attempt.key)
                return attempt
    return None


def hurt(attempt: Attempt, chance: random.Random) -> str:
    """Kill or stop one of an attempt's processes, or all that its wrapper has started; say what was done."""
    who, how = chance.choice((*WHO, *attempt.carrier)), chance.choice(HOW)
    processes = attempt.of(who)
    done = [each for each in processes if send(each, signal.SIGKILL if how == "kill" else signal.SIGSTOP)]
    if how == "stop":
        time.sleep(chance.uniform(0, 3))
        for each in done:
            send(each, signal.SIGCONT)
    return f"{how} {who}" if done else "nothing"


def send(process: psutil.Process, number: int) -> bool:
    """Send a signal; tell whether the process was still there."""
    with suppress(psutil.Error):
        process.send_signal(number)
        return True
    return False


@pytest.mark.long
@pytest.mark.parametrize("carried", [False, True], ids=["alone", "carried"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_killed_at_random_ends_well_once(kind, carried, lab, make_site, capsys):
    lab("slurm", **ROOM["slurm"])
    site = make_site("slurm", more=MORE)
    chance, by_kind = random.Random(f"{os.environ.get('JIM_SEED', '1')} {kind}"), KINDS[kind]
    told, total, known = Counter[str](), Counter[str](), set[object]()
    while told.total() - told["nothing"] < KILLS / len(KINDS):
        bundle = BUNDLED if carried else {}
        job = site.submit(PIECES, by=by_kind[0], body=by_kind[1].format(seconds="$((2 + $1 % 5))"), **bundle)
        until(lambda job=job: site.living(job), f"some of {job} run", 90)
        while told.total() - told["nothing"] < KILLS / len(KINDS):
            attempt = running(site, job, chance, known, carried=carried)
            if attempt:
                told[hurt(attempt, chance)] += 1
            elif len(site.events("start", job)) >= PIECES or not site.poll(job).endswith(ACTIVE):
                break
            time.sleep(chance.uniform(0, 0.1))
        site.ended(job, 300)
        total.update(count(site, job, "completed")._asdict())
    counts = Counts(**{name: total[name] for name in Counts._fields})
    with capsys.disabled():
        print(f"\n{kind}{', carried' * carried}: {counts}; {dict(sorted(told.items()))}")
    assert (counts.lost, counts.twice, counts.wrong) == (0, 0, 0)
    assert counts.again <= max(2, counts.local_jobs // 400)
