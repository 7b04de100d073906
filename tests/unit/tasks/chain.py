"""Three tasks that feed one another: generate, reconstruct and merge, on a clock that is set."""

from __future__ import annotations

from pathlib import Path

from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import Ground

RUN = """
[[task]]
name = "{0}"
request = {{ job_type = "executable", executable = "/bin/echo", arguments = ["{0}", {1}], outputs = ["{2}.dat"] }}
"""
GEN = RUN.format("gen", '"$FirstEvent", "$LastEvent"', "gen")
RECO = RUN.format("reco", '"$InputFiles"', "reco")
MERGE = RUN.format("merge", '"$InputFiles"', "all")


class Chain(Ground):
    """Three tasks: what a payload leaves is what it was given, so that the last files tell all that is in them."""

    def __init__(self, place: Path, monkeypatch, **settings) -> None:
        super().__init__(place, monkeypatch, **settings)
        self.brings = self._brings
        self.stores = {}
        for name in ("gen", "reco", "merge"):
            self.stores[name] = place / f"store-{name}"
            self.stores[name].mkdir()

    def _brings(self, words):
        task, given = words[0], words[1:]
        if task == "gen":
            return {"gen.dat": "".join(f"{n}\n" for n in range(int(given[0]), int(given[1]) + 1)).encode()}
        content = b"".join(Path(each).read_bytes() for each in given[0].split(","))
        return {"reco.dat" if task == "reco" else "all.dat": content}

    def text(
        self, *, events=40, each=2, campaigns=1, promises=True, files=5, when="full", store=True, more="", broken="wait"
    ):
        stores = {name: f', store = "{self.stores[name]}"' if store else "" for name in self.stores}
        told = str(promises).lower()
        return f"""
{GEN}
source = [ {{ events = {events}, events_per_piece = {each}, campaigns = {campaigns} }} ]
output = [ {{ name = "gen", files = "gen.dat"{stores["gen"]} }} ]
release = {{ every_seconds = 0 }}
{RECO}
source = [ {{ task = "gen", output = "gen", promises = {told}, when_broken = "{broken}" }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = {files} }}, when = "{when}" }}
output = [ {{ name = "reco", files = "reco.dat"{stores["reco"]} }} ]
release = {{ every_seconds = 0 }}
{MERGE}
source = [ {{ task = "reco", output = "reco", promises = {told} }} ]
split = {{ splitter = "MinFileBased", parameters = {{ files_per_job = 1_000 }}, when = "closed" }}
output = [ {{ name = "all", files = "all.dat"{stores["merge"]} }} ]
release = {{ every_seconds = 0 }}
{more}
"""

    def chain(self, **how):
        self.start(self.text(**how), "gen", "reco", "merge")

    def finish(self, name="merge", rounds=600):
        def finished():
            self.work()
            return self.task(name).state is TaskState.FINISHED

        self.until(finished, 2.0, rounds)

    def merged(self) -> list[int]:
        """Return the events in the files of the last store, sorted."""
        lines = [line for path in self.stores["merge"].iterdir() for line in path.read_text().split()]
        return sorted(map(int, lines))

    def fail(self, *tasks) -> None:
        """Start all that is in the queue; end what these tasks run badly, and the rest well."""
        for key in self.begin():
            if self.words(key)[1] in tasks:
                self.batch.finish(*key, code=3)
        self.end()

    def items_of(self, task: int, p: int) -> set[str]:
        """Return the names of the items of a piece."""
        return {
            each.name for each in self.store.pools.items(task, self.store.pieces.one(task, p).record["files"]).values()
        }

    def words(self, key):
        return [value for _, word, value in self.batch._job_lines(self.batch.tasks[key]) if word == "arg"]
