"""A chain of tasks whose keeper dies at a writing call: python mortal.py PLACE COUNT AT..., preloaded with the shim.

The keeper lives in this process, and is driven by hand. To die means here: from that call on, the disk takes nothing
more, and no command reaches the batch system; then all that was in memory is forgotten. So one death costs as much as
a test on a clock that is set, and each writing call of a chain can be the last one. AT is the number of that call; `0`
only counts them. COUNT is the file that the shim counts in.
"""

from __future__ import annotations

import mmap
import struct
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from jim.doors import inbox
from jim.site.file import Limits
from jim.statusdb.task_rows import TaskState
from tests.faults.real import LAST_CALL
from tests.support.stand_ins import StandInBatch, World
from tests.unit.tasks.chain import Chain

EVENTS = 8
NAMES = ("gen", "reco", "merge")
SAFE = -LAST_CALL  # so far from the last call that none of them is counted


class Disk:
    """The shim's count of writing calls: from LAST_CALL on, all fail."""

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as opened:
            self._memory = mmap.mmap(opened.fileno(), 8)
        self.count = SAFE

    @property
    def count(self) -> int:
        return int(struct.unpack("=q", self._memory[:8])[0])

    @count.setter
    def count(self, calls: int) -> None:
        self._memory[:8] = struct.pack("=q", calls)

    @property
    def dead(self) -> bool:
        return self.count >= LAST_CALL


class Killed(BaseException):
    """The keeper is dead, and says nothing more to the batch system."""


class Mortal(Chain):
    """A chain whose keeper dies at one writing call; all calls before that, and those of others, are as ever."""

    def __init__(self, place: Path, patch: pytest.MonkeyPatch, disk: Disk, at: int) -> None:
        self.disk, self.left = disk, at or LAST_CALL
        self.said = set[str]()  # what people have asked for, each once
        super().__init__(place, patch, limits=Limits(attempts=1))
        self.brings, self._left = self._first_without, self.brings
        answer = StandInBatch.run

        def run(batch, command, **how):
            if disk.dead:
                raise Killed
            return answer(batch, command, **how)

        patch.setattr(StandInBatch, "run", run)

    def go(self, rounds: int = 1, seconds: float = 0.0) -> None:
        for _ in range(rounds):
            self.disk.count = LAST_CALL - self.left
            try:
                World.go(self, 1, seconds)
            except BaseException:
                if not self.disk.dead:
                    raise
            died, self.left = self.disk.dead, LAST_CALL - self.disk.count
            if died:
                self.left = 2 * LAST_CALL
                self.keeper.store.close()
            self.disk.count = SAFE
            if died:
                self.restart()
            self.check()

    # What happens

    def _first_without(self, words):
        """Let the first payload of reco leave nothing."""
        if words[0] == "reco" and self._once("leaves nothing"):
            return {}
        return self._left(words)

    def _once(self, what: str) -> bool:
        first = what not in self.said
        self.said.add(what)
        return first

    def nodes(self) -> None:
        """Let payloads run; one of gen fails for good."""
        for key in self.begin():
            self.end_one(*key, code=3 * (self.words(key)[1:] == ["gen", "5", "6"]))

    def people(self) -> None:
        """Pause and kill once; later retry what reco lacks, recover what gen has not made, and do one piece again."""
        gen, reco = self.task("gen"), self.task("reco")
        if self.counts("pieces", "gen").get("sent") and self._once("pause"):
            self._ask("pause", "gen", kill=True)
        elif gen.state is TaskState.PAUSED:
            self._ask("resume", "gen")
        elif self.counts("pieces", "gen").get("failed") and self._once("fix"):
            self._ask("fix", "gen", changes={"memory_mb": 7})
        elif self.counts("pieces", "gen").get("failed") and gen.state is TaskState.FINISHED:
            self._ask("recover", "gen", parameters={"events_per_piece": 1})
        elif self.counts("pieces", "reco").get("failed") and not reco.throttle["retry"]:
            self._ask("retry", "reco")
        elif self._all_finished() and self._once("redo"):
            self._ask("redo", "gen", numbers=[0], with_all=True)

    def _all_finished(self) -> bool:
        return all(self.task(name).state is TaskState.FINISHED for name in NAMES)

    def _ask(self, verb: str, name: str, **content: object) -> None:
        if not self._wished():
            inbox.task_wish(self.site.state, verb, name, by="somebody, by hand", **content)

    def _wished(self) -> bool:
        return any(each.startswith("wish-") for each in inbox.names(self.site.state))

    def live(self) -> None:
        self.chain(events=EVENTS, each=2, files=2)

        def finished() -> bool:
            self.people()
            if not self._wished():
                self.nodes()
            return self._all_finished() and "redo" in self.said and not self._wished()

        self.until(finished, 2.0, 200)

    def hold(self) -> None:
        """Hold the tasks against their promise, by the files in the stores."""
        assert {self.task(name).outcome for name in NAMES} == {"completed"}
        for name, store in self.stores.items():
            files = {path.name: path.read_text() for path in store.iterdir()}
            old = {each: text for each, text in files.items() if "withdrawn" in each}
            lines = Counter(int(line) for each, text in files.items() if each not in old for line in text.split())
            assert lines == Counter(range(1, EVENTS + 1)), (name, self.journal(name))
            assert sorted(old.items()) == [
                (f"{each}.withdrawn.1", text) for each, text in sorted(files.items()) if f"{each}.withdrawn.1" in old
            ]
            assert len(old) == 1, (name, files.keys())
        assert [len(list(store.iterdir())) for store in self.stores.values()] == [6, 3, 2]
        assert max(Counter(self.seeds).values()) == 1, "two attempts had the same seed"
        assert self.said == {"pause", "fix", "leaves nothing", "redo"}


def main(place: str, count: str, *ats: str) -> None:
    disk = Disk(Path(count))
    for at in map(int, ats):
        with TemporaryDirectory(dir=place) as own, pytest.MonkeyPatch.context() as patch:
            chain = Mortal(Path(own), patch, disk, at)
            try:
                chain.live()
                chain.hold()
            except BaseException as error:
                told = "\n".join(line for name in NAMES for line in (name, *chain.journal(name)[-15:]))
                raise AssertionError(f"killed at writing call {at}: {error}\n{told}") from error
            print(LAST_CALL - chain.left)


if __name__ == "__main__":
    main(*sys.argv[1:])
