"""Random histories of three tasks that feed one another: kills, failures, outputs that are not brought, and people.

In the end all goes well. Then each event is in the last store exactly once, by the files that are there, but for some
of those that a person has given up.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from jim.doors import inbox
from jim.model import State
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import is_given_up, to_retry
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.masks import Masks

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
        self.smaller = {"gen": "events_per_piece"} | ({"reco": "events_per_job"} if isinstance(ground, Masks) else {})
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
                ("recover", {"parameters": {self.smaller.get(name, "files_per_job"): 1}}),
                ("flush", {}),
                ("fix", {"changes": {"memory_mb": self.chance.randint(1, 9)}}),
            ]
        )
        inbox.task_wish(self.ground.site.state, verb, name, by="somebody", **content)

    def people_give_items_up(self) -> None:
        name = self.chance.choice(NAMES[1:])
        if items := sorted(self.ground.items(name)):
            self.ground.ask("drop", name, items=[self.chance.choice(items)], reason="broken")

    def people_touch_a_wave(self) -> None:
        if jobs := self.ground.store.grid_jobs():
            job = self.chance.choice(jobs)
            verb = self.chance.choice(("cancel", "retry", "suspend", "resume"))
            n = f".{self.chance.randrange(job.size)}" if job.size and verb in ("cancel", "retry") else ""
            inbox.wish(self.ground.site.state, verb, f"{job.id}{n}", by="somebody, by hand")

    def run(self) -> None:
        by_hand = self.chance.random() < 0.5
        for _ in range(STEPS):
            what = self.chance.random()
            if what < 0.5:
                self.nodes_work()
            elif what < 0.65:
                self.people()
            elif what < 0.75:
                self.ground.restart()
            elif what < 0.8 and by_hand:
                self.people_touch_a_wave()
            elif what < 0.85 and by_hand:
                self.people_give_items_up()
            self.ground.go(self.chance.randint(1, 3), self.chance.choice([0.0, 1.0, 20.0]))
        self.luck = False
        self.ground.until(self._ends_well, 20.0, 400)

    def _ends_well(self) -> bool:
        """Let all go well, and people bring in order what is not."""
        self.ground.work()
        for job in self.ground.store.grid_jobs():
            if job.wish == "suspend" or (not job.wish and self.ground.store.counts(job.id).get(State.HELD)):
                inbox.wish(self.ground.site.state, "resume", str(job.id))
        failed = []
        for name in NAMES:
            task = self.ground.task(name)
            failed += to_retry(self.ground.store, task, {})
            if task.state is TaskState.PAUSED:
                self.ground.ask("resume", name)
            elif to_retry(self.ground.store, task, {}):
                self.ground.ask(self.chance.choice(["retry", "recover"]), name)
            elif lost := self._lost(name):
                self.ground.ask("drop", name, items=lost, reason="nobody brings it")
        return not failed and all(self.ground.task(name).state is TaskState.FINISHED for name in NAMES)

    def _lost(self, name: str) -> list[str]:
        """Return the promised items of the last task whose pieces were given up in the task before."""
        store, before = self.ground.store, self.ground.task("reco")
        items = store.pools.find_items(self.ground.task(name).id, "*", "", -1) if name == "merge" else []
        lacking = [each for each in items if each.there < 1 and each.state in ("acquired", "promised")]
        makers = [(each.name, store.pieces.one(before.id, store.outputs.one(each.output).p)) for each in lacking]
        return [each for each, by in makers if by.state == "failed" and is_given_up(store, before, by)]


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


@pytest.fixture
def masks(tmp_path, monkeypatch):
    return Masks(tmp_path, monkeypatch)


def given_up(ground: Chain) -> set[int]:
    """Return the events of dropped items, through the pieces that have made them."""
    gen, reco = (ground.task(name).id for name in NAMES[:2])

    def of_gen(name: str) -> set[int]:
        first, count = ground.store.pieces.one(gen, int(name.partition("/")[2])).record["events"]
        return set(range(first, first + count))

    dropped = {name: [each for each, state in ground.items(name).items() if state == "dropped"] for name in NAMES[1:]}
    pieces = [int(each.partition("/")[2]) for each in dropped["merge"]]
    names = [*dropped["reco"], *(each for p in pieces for each in ground.items_of(reco, p))]
    return set().union(*map(of_gen, names))


def play(ground: Chain, seed: int) -> None:
    History(ground, seed).run()
    task = ground.task("merge")
    rows = (each for p in range(task.next_piece) for each in ground.store.outputs.of_piece(task.id, p))
    files = [Path(each.place) for each in rows if each.state in ("stored", "verified")]
    events = Counter(int(line) for path in files for line in path.read_text().split())
    assert events == Counter(range(1, EVENTS + 1)) - Counter(given_up(ground) - events.keys()), seed
    if ground.store.tasks.one(task.id).spec.outputs[0].store:
        assert {path.parent for path in files} == {ground.stores["merge"]}
        assert len(files) == len(list(ground.stores["merge"].iterdir()))


@pytest.mark.parametrize("seed", range(1))
def test_each_event_is_merged_once_whatever_happens(ground, seed):
    play(ground, seed)


@pytest.mark.parametrize("seed", [109])  # what brings such files is recovered while they are waited for
def test_each_event_of_parts_of_files_is_merged_once_whatever_happens(masks, seed):
    play(masks, seed)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 120))
def test_each_event_of_parts_of_files_is_merged_once_in_many_histories(masks, seed):
    play(masks, seed)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(1, 21))
def test_each_event_is_merged_once_in_many_histories(ground, seed):
    play(ground, seed)
