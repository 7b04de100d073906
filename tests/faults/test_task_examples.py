"""The examples of tasks, with real processes: in small here; as they stand, and with keepers killed, by torture."""

from __future__ import annotations

import random
import shutil
import subprocess
import tarfile
import time
from collections import Counter

import pytest

from jim.doors import inbox
from jim.statusdb.task_rows import TaskState
from jim.tasks import creating
from tests.faults.real import LIMIT, ROOT, until

EXAMPLES = ROOT / "examples/tasks"


class Example:
    """An example in a directory of its own."""

    def __init__(self, place, name: str) -> None:
        self.at, self.name = place(name), name
        self.here = self.at.place / "tasks"
        shutil.copytree(EXAMPLES, self.here)

    def start(self, change: dict[str, str]) -> None:
        file = self.here / f"{self.name}.toml"
        text = file.read_text()
        for old, new in change.items():
            assert old in text
            text = text.replace(old, new)
        file.write_text(text)
        creating.create(file, self.at.site, "somebody")
        inbox.task_wish(self.at.state, "start", self.name, by="somebody", untested=True)

    def is_finished(self) -> bool:
        try:
            with self.at.store() as store:
                return store.task_named(self.name).state is TaskState.FINISHED
        except Exception:  # no store yet
            return False

    def outputs(self) -> list[str]:
        """Return the lines of all outputs in the tars."""
        with self.at.store() as store:
            tars = [job.result["tar"] for job in store.grid_jobs()]
            assert not any(store.wrong_in_tasks().values())
        lines = []
        for each in tars:
            with tarfile.open(each) as tar:
                for name in tar.getnames():
                    if "/counts_" in name:
                        lines += tar.extractfile(name).read().decode().splitlines()
        return lines


def arrive(place, seconds: int, change: dict[str, str], kill_every: float = 0.0) -> None:
    """Let files arrive, and compare what payloads have counted with what the directory holds."""
    example = Example(place, "arrivals")
    incoming = example.here / "incoming"
    incoming.mkdir()
    example.start(change)
    dropping = subprocess.Popen([example.here / "drop-files", incoming, str(seconds)])
    keeper = example.at.start_keeper()
    while kill_every and not example.is_finished():
        time.sleep(random.uniform(0.2, kill_every))
        if dropping.poll() is not None and example.is_finished():
            break
        keeper.kill()
        keeper.communicate(timeout=LIMIT)
        keeper = example.at.start_keeper()
    assert dropping.wait(LIMIT) == 0
    until(example.is_finished, "the task is finished")
    keeper.communicate(timeout=LIMIT)
    there = {str(path): len(path.read_text().splitlines()) for path in incoming.glob("*.raw")}
    assert len(there) > 3 * seconds // 2
    assert Counter(example.outputs()) == Counter(f"{path} {events}" for path, events in there.items())


FAST = {"every_seconds = 1\n": "every_seconds = 0.2\n", "stable_seconds = 2 ": "stable_seconds = 1.2 "}


def test_files_that_arrive_are_each_counted_once(place):
    arrive(place, 2, {**FAST, "every_seconds = 5": "every_seconds = 0"})


@pytest.mark.torture
def test_files_that_arrive_for_two_minutes_are_each_counted_once_though_keepers_are_killed(place):
    arrive(place, 120, {}, kill_every=5.0)
