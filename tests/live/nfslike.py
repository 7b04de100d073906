"""Two clients of one file server: keepers work as `head`, local jobs as `node`; and what became of the local jobs.

The test itself is neither: it sees what the server has. So do the ledgers, which lie elsewhere.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jim.model import State
from tests.faults.real import DONE, KEEPER, Place, until
from tests.live.faults import Counts
from tests.live.site import LABS, ROOT

LAB = LABS / "nfslike"
CLIENTS = ("head", "node")
BOTH, HEAD, NODE = CLIENTS, CLIENTS[:1], CLIENTS[1:]
CACHE = 3  # seconds that a client believes what it has seen
TOUCH = 2
VERBS = ("submit", "query", "history", "find", "cancel", "change", "ping")
# Before each command that asks for jobs: while there is a file `hidden`, there seem to be none.
COUNT = 'echo >>"$place/calls.${0##*-}"\n'
HIDE = COUNT + "[ ! -e $place/hidden ] || { printf 'jobs 0\\nend\\n'; exit; }\n"
GO = 'until [ -e "$0.go" ]; do sleep 0.05; done'


def by(client: str) -> str:
    """Give the command that runs another one as this client sees the work directory."""
    return str(LAB / client)


def take_down() -> None:
    """End both clients; nothing stays mounted."""
    down = ROOT / "tests/live/labs/nfslike/down.sh"
    subprocess.run([str(down)], capture_output=True, timeout=60, check=True)


def says(client: str, words: dict[str, object]) -> None:
    """Tell a client what goes wrong from now on; no words: nothing does."""
    file = LAB / f"{client}.ctl"
    new = file.with_suffix(".new")
    new.write_text("".join(f"{word} {value}\n" for word, value in words.items()))
    new.rename(file)


@contextmanager
def faulty(clients: tuple[str, ...], **words: object) -> Iterator[None]:
    """Let something go wrong with these clients for a while."""
    for client in clients:
        says(client, words)
    try:
        yield
    finally:
        for client in clients:
            says(client, {})


def faults_made(*clients: str) -> int:
    """Count the answers that were spoilt since the lab came up."""
    journals = [LAB / f"{client}.ctl.journal" for client in clients or CLIENTS]
    return sum(each.read_text(errors="replace").count("\n") for each in journals)


class SharedPlace(Place):
    """A state directory of its own, on the head node, with a work directory that both clients share."""

    keeper_by = (by("head"),)
    batch_by = (by("node"),)
    # The payload of a person who knows their file server.
    writes = f"until {Place.writes}; do sleep 0.1; done 2>/dev/null"

    def __init__(self, place: Path, *, slots: int = 8, batch: str = "") -> None:
        work = LAB / "shared" / place.name
        work.mkdir()
        batch = f"touch_seconds = {TOUCH}\n{batch}"
        super().__init__(place, f'[site]\nwork = "{work}"\n', batch, slots, visible_seconds=CACHE + 1)
        for verb in VERBS:
            self.command(verb, HIDE + '"$@"' if verb in ("query", "find") else COUNT + '"$@"')

    @property
    def hidden(self) -> Path:
        """While it is there, no job is listed."""
        return self.place / "hidden"

    def called(self, verb: str) -> int:
        """Count the batch commands of a kind."""
        calls = self.place / f"calls.{verb}"
        return calls.read_text().count("\n") if calls.exists() else 0

    def is_called(self, verb: str, times: int = 2) -> None:
        """Wait until a batch command was called so often from now on."""
        wanted = self.called(verb) + times
        until(lambda: self.called(verb) >= wanted, f"{verb} is called {times} times")

    def started(self, count: int) -> None:
        """Wait until so many payloads have started."""
        until(lambda: len(self.events("start")) >= count, f"{count} payloads run")

    def go(self) -> None:
        """Let the payloads that wait end."""
        (self.place / "payload.sh.go").touch()

    def touched(self) -> list[float]:
        """Tell when each claim was touched last, by the server's clock, which is this machine's."""
        return [each.stat().st_mtime for each in self.site.work.glob("*/s*/claim.*")]

    def through(self, pieces: int, **request: Any) -> Counts:
        """Run a grid job to its end."""
        self.submit(pieces, **request)
        self.finish()
        return self.counts(pieces)

    def counts(self, pieces: int, grid: int = 1) -> Counts:
        """Hold what JIM tells in the end against what the payloads wrote down, and against the promise."""
        self.held(grid)
        starts, ends = Counter(self.events("start", grid)), Counter(self.events("end", grid))
        with self.store() as store:
            states = Counter(each.state for each in store.local_jobs(grid))
        done = Counter(n for n, _ in ends.elements())
        lost = pieces - sum(count for state, count in states.items() if state.final)
        twice = sum(starts.values()) - len(starts)
        again = sum(done.values()) - len(done)
        wrong = pieces - lost - states[State.COMPLETED]
        return Counts(pieces, lost, twice, again, wrong)
