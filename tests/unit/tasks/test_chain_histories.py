"""Random histories of three tasks that feed one another: kills, failures, outputs that are not brought, and people.

In the end all goes well. Then each event is in the last store exactly once, by the files that are there.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from jim.doors import inbox
from jim.model import State
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.chain import Chain

STEPS = 30
EVENTS = 24
NAMES = ("gen", "reco", "merge")


class History:
    """A chain and what happens to it, drawn from a seed."""

    def __init__(self, ground: Chain, seed: int) -> None:
        self.ground, self.chance = ground, random.Random(seed)
        self.left = ground.brings
        ground.brings = self._brings
        self.luck = True  # things go wrong
        choose = self.chance.choice
        ground.chain(
            events=EVENTS,
            each=choose([1, 2, 3]),
            campaigns=choose([1, 2, 3]),
            promises=choose([True, True, False]),
            files=choose([1, 2, 3]),
            store=choose([True, False]),
            broken=choose(["wait", "fail"]),
        )

    def _brings(self, words):
        return {} if self.luck and self.chance.random() < 0.08 else self.left(words)

    def nodes_work(self) -> None:
        batch = self.ground.batch
        for (id_, index), task in list(batch.tasks.items()):
            if task.state is State.SUBMITTED and self.chance.random() < 0.7:
                self.ground.begin_one(id_, index)
            elif task.state is State.RUNNING and self.chance.random() < 0.8:
                self.ground.end_one(id_, index, code=3 if self.luck and self.chance.random() < 0.15 else 0)

    def people(self) -> None:
        name = self.chance.choice(NAMES)
        verb, content = self.chance.choice(
            [
                ("pause", {"kill": True}),
                ("pause", {}),
                ("resume", {}),
                ("resume", {}),
                ("retry", {}),
                ("recover", {}),
                ("recover", {"parameters": {"events_per_piece" if name == "gen" else "files_per_job": 1}}),
                ("flush", {}),
            ]
        )
        inbox.task_wish(self.ground.site.state, verb, name, by="somebody", **content)

    def run(self) -> None:
        for _ in range(STEPS):
            what = self.chance.random()
            if what < 0.5:
                self.nodes_work()
            elif what < 0.65:
                self.people()
            elif what < 0.75:
                self.ground.restart()
            self.ground.go(self.chance.randint(1, 3), self.chance.choice([0.0, 1.0, 20.0]))
        self.luck = False
        self.ground.until(self._ends_well, 20.0, 400)

    def _ends_well(self) -> bool:
        """Let all go well, and people bring in order what is not."""
        self.ground.work()
        for name in NAMES:
            task = self.ground.task(name)
            if task.state is TaskState.PAUSED:
                self.ground.ask("resume", name)
            elif self.ground.counts("pieces", name).get("failed"):
                self.ground.ask(self.chance.choice(["retry", "recover"]), name)
        return all(self.ground.task(name).outcome == "completed" for name in NAMES)


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


def play(ground: Chain, seed: int) -> None:
    History(ground, seed).run()
    task = ground.task("merge")
    rows = (each for p in range(task.next_piece) for each in ground.store.outputs_of(task.id, p))
    files = [Path(each.place) for each in rows if each.state in ("stored", "verified")]
    events = Counter(int(line) for path in files for line in path.read_text().split())
    assert events == Counter(range(1, EVENTS + 1)), seed
    if ground.store.task(task.id).streams[0]["store"]:
        assert {path.parent for path in files} == {ground.stores["merge"]}
        assert len(files) == len(list(ground.stores["merge"].iterdir()))


@pytest.mark.parametrize("seed", range(2))
def test_61_each_event_is_merged_once_whatever_happens(ground, seed):
    play(ground, seed)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 400))
def test_61_each_event_is_merged_once_in_many_histories(ground, seed):
    play(ground, seed)
