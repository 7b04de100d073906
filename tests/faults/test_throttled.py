"""A story of the throttle with real processes, at a hundredth of the time.

An hour is 36 s here, and ten minutes between two probes are 6 s. What is judged is the payloads' own diary.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter

import pytest

from jim.doors import inbox
from jim.errors import StoreError, UnknownJob
from jim.statusdb.task_rows import Task, TaskState
from jim.tasks.file import creating
from jim.tasks.throttle_row import ThrottleRow, read
from tests.faults.real import LIMIT, until

HOUR = 36.0
AT_ONCE = 60
TASK = """
[[task]]
name = "t"
source = [ {{ events = {events}, events_per_piece = 1 }} ]
release = {{ at_once = {at_once}, queued = {at_once}, first = 5, every_seconds = 0.6, probe_seconds = 6 }}
[task.request]
job_type = "executable"
executable = "payload.sh"
inputs = ["payload.sh"]
arguments = ["$FirstEvent"]
{retry}
"""


class Throttled:
    """A task whose payloads write into a diary how they have ended: badly, if they begin while a storage is away."""

    def __init__(self, place, events: int, *, away: bool = False, retry: str = "") -> None:
        self.at = place("t", slots=AT_ONCE, settings='[limits]\nattempts = 1\nretry_delay = "PT1S"\n')
        self.diary = self.at.place / "diary"
        self.diary.touch()
        program = self.at.place / "payload.sh"
        self.away = self.at.place / "away"
        if away:
            self.away.touch()
        away, diary = (shlex.quote(str(each)) for each in (self.away, self.diary))
        program.write_text(
            f'#!/bin/sh\nif [ -e {away} ]; then echo "failed $1" >>{diary}; exit 3; fi\n'
            f'sleep $((4 + $1 % 9)); echo "done $1" >>{diary}\n'
        )
        program.chmod(0o755)
        file = self.at.place / "task.toml"
        file.write_text(TASK.format(events=events, at_once=AT_ONCE, retry=retry))
        creating.create(file, self.at.site, "somebody")
        self.ask("start", untested=True)
        self.keeper = self.at.start_keeper()

    def ask(self, verb: str, **content: object) -> None:
        inbox.task_wish(self.at.state, verb, "t", by="somebody, by hand", **content)

    def task(self) -> Task | None:
        try:
            with self.at.store() as store:
                return store.tasks.named("t")
        except (StoreError, UnknownJob, OSError):
            return None

    def ends(self, how: str) -> Counter[int]:
        """Count how often the payloads of each event have ended so."""
        lines = (line.split() for line in self.diary.read_text().splitlines())
        return Counter(int(event) for word, event in lines if word == how)

    def throttle(self) -> ThrottleRow:
        return read(self.task().throttle)

    def room(self) -> int:
        """Return how many local jobs of its grid jobs may be in the batch system."""
        with self.at.store() as store:
            taken = set(store.numbers.all())
            jobs = [store.grid_job(each.grid) for each in store.waves.live(1) if each.grid in taken]
        return sum(each.size if each.room is None else each.room for each in jobs)

    def is_in(self, state: TaskState) -> bool:
        task = self.task()
        return task is not None and task.state is state

    def told(self) -> str:
        with self.at.store() as store:
            return "\n".join(f"{line.at} {line.what}: {line.reason}" for line in store.tasks.journal(1))


STARTED = "start requested: somebody, by hand, untested"
RETRY = 'retry = [ { when = "exit 3", times = 30, delay = "PT1S" } ]'


@pytest.mark.torture
@pytest.mark.parametrize("retry", ["", RETRY])
def test_a_storage_that_dies_costs_few_attempts_and_what_failed_meanwhile_is_tried_again(place, retry):
    events = 400
    throttled = Throttled(place, events, retry=retry)
    until(lambda: throttled.is_in(TaskState.RUNNING), "the keeper has taken it")
    until(
        lambda: throttled.throttle().allowance == AT_ONCE and throttled.ends("done").total() > AT_ONCE, "it has grown"
    )
    throttled.away.touch()
    time.sleep(HOUR)  # the storage is away so long
    failed, task = throttled.ends("failed"), throttled.throttle()
    print(f"{failed.total()} failed, allowance {task.allowance}, room {throttled.room()}")
    assert failed.total() <= 1.5 * AT_ONCE, throttled.told()
    assert retry or max(failed.values()) == 1, "each has one attempt in the bad time"
    # Pieces that are tried again fill the allowance, and go at the pace of probes, which halve it one by one.
    assert task.allowance <= (6 if retry else 2), throttled.told()
    throttled.away.unlink()
    until(lambda: throttled.is_in(TaskState.FINISHED), "all is done", 3 * LIMIT)
    assert throttled.task().outcome == "completed", throttled.told()
    assert throttled.ends("done") == dict.fromkeys(range(1, events + 1), 1)
    again = [line for line in throttled.told().splitlines() if "tried again" in line]
    assert len(again) == (0 if retry else 1), "with a rule for that, no piece has failed"
    asked = [line for line in throttled.told().splitlines() if " requested: " in line]
    assert {line.split(" ", 1)[1] for line in asked} <= {STARTED}, "nobody did anything else"


@pytest.mark.torture
def test_a_task_of_which_all_fails_spends_few_pieces_and_pauses_late(place):
    began = time.monotonic()
    throttled = Throttled(place, 10_000, away=True)
    until(lambda: throttled.is_in(TaskState.PAUSED), "the task has paused by itself", 3 * LIMIT)
    took, spent = time.monotonic() - began, throttled.ends("failed").total()
    print(f"{spent} pieces spent, paused after {took:.0f} s")
    task = throttled.task()
    assert task.reason.startswith("by itself: 20 in a row: exit 3"), task.reason
    assert spent <= 40, throttled.told()
    assert took >= 3.3 * HOUR * 0.75, "probes come a quarter earlier at most"
    throttled.ask("resume")
    throttled.at.start_keeper()  # none stays for what is paused
    until(lambda: throttled.ends("failed").total() > spent, "it goes on")
    assert throttled.ends("failed").total() - spent <= 5
    assert read(throttled.task().throttle).limits.first == 5
