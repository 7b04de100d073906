"""Judges of stories of tasks: the diary that payloads keep, and the files in the stores.

Payloads write each event that they work on, with the name of their attempt: so a line of a merged file tells which
attempts made it, one of each task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.faults.real import Place, until

NAMES = ("gen", "reco", "merge")


class Run(NamedTuple):
    """What a payload wrote when it began or ended."""

    word: str
    task: str
    piece: str
    attempt: str
    seed: str
    events: tuple[int, ...]


class Judged:
    """A place whose payloads keep a diary."""

    at: Place
    here: Path
    stores: dict[str, Path]

    def told(self) -> str:
        """Return what a reader wants to know once a story has failed."""
        raise NotImplementedError

    def runs(self, word: str = "begin", task: str = "") -> list[Run]:
        """Return what payloads have written, in that order."""
        lines = (line.split() for line in (self.here / "diary").read_text().splitlines())
        found = (Run(*line[:5], tuple(map(int, line[5].split(",")))) for line in lines if line[0] == word)
        return [each for each in found if task in ("", each.task)]

    def times(self, task: str) -> Counter[int]:
        """Count how often the payloads of a task have begun with each event."""
        return Counter(event for run in self.runs(task=task) for event in run.events)

    def files(self, name: str) -> dict[str, str]:
        return {each.name: each.read_text() for each in sorted(self.stores[name].iterdir())}

    def snapshot(self) -> dict[str, dict[str, str]]:
        return {name: self.files(name) for name in self.stores}

    def lines(self, name: str = "merge") -> dict[int, dict[str, str]]:
        """Return by which attempt of each task each event of the stored files was made; each is there once."""
        found = [
            line.split()
            for each, text in self.files(name).items()
            if ".withdrawn." not in each
            for line in text.splitlines()
        ]
        assert max(Counter(line[0] for line in found).values(), default=1) == 1, found
        return {int(line[0]): dict(stamp.split(":", 1) for stamp in line[1:]) for line in found}

    def lasts(self, task: str) -> dict[int, str]:
        """Return the last attempt of each event, which has ended well."""
        ended = {each.attempt for each in self.runs("end", task)}
        last = {event: run.attempt for run in self.runs(task=task) for event in run.events}
        assert set(last.values()) <= ended, self.told()
        return last

    def hold(self, events: int, *, stale: bool = False, of: Iterable[str] = NAMES) -> None:
        """Hold the merged files and the diary against the promise."""
        self.calm()
        lines = self.lines()
        assert sorted(lines) == list(range(1, events + 1)), self.told()
        for task in () if stale else of:
            made = {event: stamps[task].rpartition(":")[0] for event, stamps in lines.items()}
            assert made == self.lasts(task), (task, self.told())
        assert stale or not any("wrong" in stamp for each in lines.values() for stamp in each.values()), self.told()

    def calm(self) -> None:
        """Nothing ran twice at once, no attempt twice, no seed twice; nothing is left half done in the stores."""
        assert not self.runs("overlap"), self.told()
        begun = self.runs()
        for each in ("attempt", "seed"):
            assert max(Counter(getattr(run, each) for run in begun).values()) == 1, (each, self.told())
        assert not [name for files in self.snapshot().values() for name in files if name.startswith(".")]
        until(lambda: not self.at.of_tasks(), "no process is left")

    def moved(self, before: dict[str, dict[str, str]]) -> dict[str, list[str]]:
        """Return which files of the stores were moved aside since; all old bytes are there, under one of two names."""
        moved: dict[str, list[str]] = {}
        for store, files in before.items():
            now, old = self.files(store), {name: text for name, text in files.items() if ".withdrawn." not in name}
            for name, text in files.items():
                if ".withdrawn." in name:
                    assert now[name] == text, name
            for name, text in old.items():
                aside = [each for each in now if each.startswith(f"{name}.withdrawn.") and each not in files]
                assert len(aside) <= 1, aside
                assert now[aside[0] if aside else name] == text, (name, aside, self.told())
                moved.setdefault(store, []).extend([name] if aside else [])
        return moved
