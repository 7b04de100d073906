"""Three tasks that feed one another, of which the second reads parts of files that are promised."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

from tests.unit.tasks.chain import Chain

NAMES = ("gen", "reco", "merge")
EXPECTED = 4  # events of each file that is promised


class Masks(Chain):
    """A generator, and what reads parts of its files; each file may have a number of events of its own."""

    def __init__(self, place: Path, monkeypatch) -> None:
        super().__init__(place, monkeypatch)
        self.whole = self.brings
        self.brings = self._parts
        self.told: dict[int, int] = {}  # the events that a file has, by the first event that was asked for
        self.about = True

    def _parts(self, words):
        if words[0] == "gen":
            first, last = map(int, words[1:])
            last = first + self.told.get(first, last - first + 1) - 1
            left = self.whole(("gen", str(first), str(last)))
            return left | ({"gen.dat.json": json.dumps({"events": last - first + 1}).encode()} if self.about else {})
        if words[0] == "reco":
            lines = Path(words[1]).read_text().splitlines(keepends=True)
            return {"reco.dat": "".join(lines[int(words[2]) : int(words[3]) + 1]).encode()}
        return self.whole(words)

    def by_events(self, text: str, expected: int, per_job: int) -> str:
        """Let the second task of a chain read so many events in each piece."""
        text = text.replace('outputs = ["gen.dat"]', 'outputs = ["gen.dat", "gen.dat.json"]')
        told = f"expects = {{ events = {expected} }}" + (', about = ".json"' if self.about else "")
        text = text.replace('files = "gen.dat"', f'files = "gen.dat", {told}')
        how = f'"EventBased", parameters = {{ events_per_job = {per_job} }}'
        text = re.sub(r'"FileBased", parameters = \{ files_per_job = \d+ \}', how, text)
        return text.replace('["reco", "$InputFiles"]', '["reco", "$InputFiles", "$FirstEvent", "$LastEvent"]')

    def chain(self, *, each=2, files=5, **how):
        """Start a chain in which most files have several pieces."""
        self.start(self.by_events(self.text(each=each + 2, **how), each + 2, files), *NAMES)

    def begins(self, *, events=8, broken="wait", per_job=2, about=True):
        """Start a chain; its pieces of promised files are planned."""
        self.about = about
        text = self.by_events(self.text(events=events, each=EXPECTED, broken=broken), EXPECTED, per_job)
        self.start(text.replace("promises = true }", f'promises = true, when_broken = "{broken}" }}'), *NAMES)
        planned = -(-events // EXPECTED) * -(-EXPECTED // per_job)
        self.until(lambda: self.counts("pieces", "reco").get("waiting") == planned)
        self.until(lambda: len(self.batch.tasks) == events // EXPECTED)

    def breaks_the_first(self):
        """Let the first piece of the generator fail, and all others complete."""
        self.begin()
        keys = [key for key in self.batch.tasks if self.words(key)[1:3] == ["gen", "1"]]
        self.batch.finish(*keys[-1], code=3)
        self.until(lambda: self.work() or self.counts("output gen", "gen").get("broken") == 1)

    def completes(self) -> None:
        """Let all that is sent end well, until each task is completed."""
        self.until(lambda: self.work() or [self.task(each).outcome for each in NAMES] == ["completed"] * 3, 2.0)

    def work_but_for(self, *part: str) -> None:
        """Start and end all, but let those fail that read this part of a file."""
        for key in self.begin():
            if self.words(key)[3:] == [*part]:
                self.batch.finish(*key, code=3)
        self.end()

    def given(self) -> dict[str, list[int]]:
        """Return which events of each file payloads have read, by the diary."""
        found: dict[str, list[int]] = {}
        for words in (each for each in self.diary if each[0] == "reco"):
            found.setdefault(words[1], []).extend(range(int(words[2]), int(words[3]) + 1))
        return {name: sorted(those) for name, those in found.items()}

    def check_each_once(self, events: int) -> None:
        """Check that each event of each file was given once, and is in the last store once."""
        for name, those in self.given().items():
            assert max(Counter(those).values()) == 1
            assert set(range(len(Path(name).read_text().split()))) <= set(those)
        assert self.merged() == list(range(1, events + 1))
