"""The examples of tasks, with real processes: in small here; as they stand, and with keepers killed, by torture."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from contextlib import suppress

import pytest

from jim.doors import inbox
from jim.reading.quantities import how_many
from jim.site.lock import holder
from jim.statusdb.task_rows import PieceState, TaskState
from jim.tasks.file import creating
from tests.faults.real import LIMIT, PLAIN, ROOT, until

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
        return self.state() is TaskState.FINISHED

    def state(self) -> TaskState | None:
        """Return the state of the task; None: it is not taken in yet."""
        try:
            with self.at.store() as store:
                return store.tasks.named(self.name).state
        except Exception:  # no store yet
            return None

    def outputs(self) -> list[str]:
        """Return the lines of all outputs in the tars."""
        with self.at.store() as store:
            tars = [job.result["tar"] for job in store.grid_jobs()]
            assert not any(store.tasks.wrong().values())
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
    assert len(there) > 1  # how many, the load of the machine decides
    assert Counter(example.outputs()) == Counter(f"{path} {events}" for path, events in there.items())


FAST = {"every_seconds = 1\n": "every_seconds = 0.2\n", "stable_seconds = 2 ": "stable_seconds = 1.2 "}


def test_files_that_arrive_are_each_counted_once(place):
    arrive(place, 2, {**FAST, "every_seconds = 5": "every_seconds = 0"})


@pytest.mark.torture
def test_files_that_arrive_for_two_minutes_are_each_counted_once_though_keepers_are_killed(place):
    arrive(place, 120, {}, kill_every=5.0)


def recover(place, seconds: int, damaged: int, change: dict[str, str], kill_every: float = 0.0) -> None:
    """Let files arrive of which some are damaged, and do again what has failed, as the example says."""
    example = Example(lambda name: place(name, settings="[limits]\nattempts = 1\n"), "arrivals")
    incoming = example.here / "incoming"
    incoming.mkdir()
    example.start(change)
    dropping = subprocess.Popen([example.here / "drop-files", incoming, str(seconds), str(damaged)])
    more = {"PATH": f"{ROOT / 'shell'}:{os.environ['PATH']}", "JIM_PYTHON": sys.executable}
    command = [*PLAIN, example.here / "recover", incoming]
    environment = example.at.environment() | more
    example.at.start_keeper()
    until(lambda: example.state() is TaskState.RUNNING, "the task runs")
    script = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while kill_every and script.poll() is None:
        time.sleep(random.uniform(0.2, kill_every))
        if keeper := holder(example.at.state):
            with suppress(ProcessLookupError):
                os.kill(keeper, signal.SIGKILL)
    told, _ = script.communicate(timeout=LIMIT)
    assert script.returncode == 0, told
    assert dropping.wait(LIMIT) == 0
    until(lambda: not holder(example.at.state), "the last keeper has gone")
    there = {str(path): len(path.read_text().splitlines()) for path in incoming.glob("*.raw")}
    bad = len(there) // damaged
    assert bad > 0
    assert Counter(example.outputs()) == Counter(f"{path} {events}" for path, events in there.items())
    with example.at.store() as store:
        task = store.tasks.named("arrivals")
        assert (task.outcome, store.tasks.counts(task.id, "items")["completed"]) == ("completed", len(there))
        again = [store.pieces.one(task.id, p) for p in range(task.next_piece)]
        spoilt = [each for each in again if each.state is PieceState.REPLACED]
        assert 0 < len(spoilt) <= bad
        assert f"failed: {how_many(len(spoilt), 'piece')}, " in told
        # A piece for each file of those that had failed, and no other piece was made anew.
        assert sum(each.turn == 0 for each in again) == sum(
            len(store.pieces.parts_of(task.id, each.p)) for each in spoilt
        )


FEW = {
    **FAST,
    "every_seconds = 5": "every_seconds = 0",
    "max_wait_seconds = 60": "max_wait_seconds = 1",
    "probe_seconds = 10": "probe_seconds = 1",
}


@pytest.mark.torture
def test_exactly_what_failed_is_recovered(place):
    recover(place, 2, 3, FEW)  # a busy machine drops four files in that time


@pytest.mark.torture
def test_exactly_what_failed_of_two_minutes_is_recovered_though_keepers_are_killed(place):
    recover(place, 120, 25, {}, kill_every=5.0)


class Chain(Example):
    """An example with several tasks and with stores."""

    def __init__(self, place, name: str, names: tuple[str, ...], stores: tuple[str, ...], **settings) -> None:
        self.at, self.name, self.names = place(name, **settings), name, names
        self.here = self.at.place / "tasks"
        shutil.copytree(EXAMPLES, self.here)
        for each in stores:
            (self.here / each).mkdir()

    def start(self, change: dict[str, str]) -> None:
        file = self.here / f"{self.name}.toml"
        text = file.read_text()
        for old, new in change.items():
            assert old in text, old
            text = text.replace(old, new)
        file.write_text(text)
        creating.create(file, self.at.site, "somebody")
        for each in self.names:
            inbox.task_wish(self.at.state, "start", each, by="somebody", untested=True)

    def is_finished(self) -> bool:
        try:
            with self.at.store() as store:
                return all(store.tasks.named(each).state is TaskState.FINISHED for each in self.names)
        except Exception:  # no store yet
            return False

    def run(self, kill_every: float = 0.0) -> None:
        """Let keepers work until all is done, one after the other if they are killed."""
        keeper = self.at.start_keeper()
        while kill_every and not self.is_finished():
            time.sleep(random.uniform(0.2, kill_every))
            keeper.kill()
            keeper.communicate(timeout=LIMIT)
            keeper = self.at.start_keeper()
        until(self.is_finished, "all tasks are finished")
        keeper.communicate(timeout=LIMIT)
        with self.at.store() as store:
            assert not any(store.tasks.wrong().values())
            assert {store.tasks.named(each).outcome for each in self.names} == {"completed"}

    def stored(self, store: str) -> list[str]:
        return [path.read_text() for path in sorted((self.here / store).iterdir())]


def make_a_peak(place, events: int, change: dict[str, str], kill_every: float = 0.0) -> None:
    """Let the chain make one mass peak, and read its events."""
    names = ("generate", "reconstruct", "merge")
    chain = Chain(place, "chain", names, ("generated", "reconstructed", "peak"))
    chain.start(change)
    chain.run(kill_every)
    (peak,) = chain.stored("peak")
    assert peak.startswith(f"{events} events from 1 to {events}, each once; the peak is between ")
    numbers = [int(line.split("\t")[0]) for each in chain.stored("reconstructed") for line in each.splitlines()]
    assert Counter(numbers) == Counter(range(1, events + 1))


def test_a_chain_ends_in_one_mass_peak(place):
    few = {"events = 2_000": "events = 60", "events_per_piece = 100": "events_per_piece = 20", "_job = 5": "_job = 2"}
    make_a_peak(place, 60, few)


@pytest.mark.torture
def test_a_chain_ends_in_one_mass_peak_though_keepers_are_killed(place):
    make_a_peak(place, 2_000, {}, kill_every=5.0)


def merge_campaigns(place, events: int, change: dict[str, str], kill_every: float = 0.0) -> None:
    """Let four campaigns be made and merged, and read the events of the merged files."""
    catalogue = place("catalogue").place / "catalogue"
    shutil.copytree(ROOT / "examples/catalogue", catalogue)
    settings = f'[site]\ncatalogue = "{catalogue}"\n[payload]\ntools = "{ROOT}/examples/standins"\n'
    campaigns = Chain(place, "mc-13669", ("mc-13669", "merge-13669"), ("reco", "merged"), settings=settings)
    campaigns.start({"events = 200_000": f"events = {events}", **change})
    campaigns.run(kill_every)
    merged = campaigns.stored("merged")
    assert len(merged) == 4
    each = [sorted(int(line[:9]) for line in text.splitlines()) for text in merged]
    size = events // 4
    assert sorted(each) == [list(range(n * size + 1, (n + 1) * size + 1)) for n in range(4)]


@pytest.mark.torture
def test_campaigns_are_each_merged_into_one_file(place):
    merge_campaigns(place, 80, {"events_per_piece = 250": "events_per_piece = 10"})


@pytest.mark.torture
def test_campaigns_are_each_merged_into_one_file_though_keepers_are_killed(place):
    merge_campaigns(place, 200_000, {}, kill_every=5.0)
