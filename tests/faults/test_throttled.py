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
from jim.tasks import creating
from jim.tasks.throttle import read
from tests.faults.real import LIMIT, until

HOUR = 36.0
AT_ONCE = 200
TASK = """
[[task]]
name = "t"
request = {{ job_type = "executable", executable = "payload.sh", inputs = ["payload.sh"], arguments = ["$FirstEvent"] }}
source = [ {{ events = {events}, events_per_piece = 1 }} ]
release = {{ at_once = {at_once}, queued = {at_once}, first = 5, every_seconds = 0.6, probe_seconds = 6 }}
"""


class Throttled:
    """A task whose payloads all fail, and write so into a diary."""

    def __init__(self, place, events: int) -> None:
        self.at = place("t", slots=AT_ONCE, settings='[limits]\nattempts = 1\nretry_delay = "PT1S"\n')
        self.diary = self.at.place / "diary"
        self.diary.touch()
        program = self.at.place / "payload.sh"
        program.write_text(f'#!/bin/sh\necho "failed $1" >>{shlex.quote(str(self.diary))}\nexit 3\n')
        program.chmod(0o755)
        file = self.at.place / "task.toml"
        file.write_text(TASK.format(events=events, at_once=AT_ONCE))
        creating.create(file, self.at.site, "somebody")
        self.ask("start", untested=True)
        self.keeper = self.at.start_keeper()

    def ask(self, verb: str, **content: object) -> None:
        inbox.task_wish(self.at.state, verb, "t", by="somebody, by hand", **content)

    def task(self) -> Task | None:
        try:
            with self.at.store() as store:
                return store.task_named("t")
        except (StoreError, UnknownJob, OSError):
            return None

    def counts(self) -> Counter[str]:
        """Count how payloads have ended."""
        return Counter(line.split()[0] for line in self.diary.read_text().splitlines())

    def is_in(self, state: TaskState) -> bool:
        task = self.task()
        return task is not None and task.state is state

    def told(self) -> str:
        with self.at.store() as store:
            return "\n".join(f"{line.at} {line.what}: {line.reason}" for line in store.task_journal(1))


@pytest.mark.torture
def test_36_a_task_of_which_all_fails_spends_few_pieces_and_pauses_late(place):
    began = time.monotonic()
    throttled = Throttled(place, 10_000)
    until(lambda: throttled.is_in(TaskState.PAUSED), "the task has paused by itself", 3 * LIMIT)
    took, spent = time.monotonic() - began, throttled.counts()["failed"]
    print(f"{spent} pieces spent, paused after {took:.0f} s")
    task = throttled.task()
    assert task.reason.startswith("by itself: 20 in a row: exit 3"), task.reason
    assert spent <= 40, throttled.told()
    assert took >= 3.3 * HOUR * 0.75, "probes come a quarter earlier at most"
    throttled.ask("resume")
    throttled.at.start_keeper()  # none stays for what is paused
    until(lambda: throttled.counts()["failed"] > spent, "it goes on")
    assert throttled.counts()["failed"] - spent <= 5
    assert read(throttled.task().throttle).first == 5
