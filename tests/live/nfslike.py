"""Two clients of one file server: keepers work as `head`, local jobs as `node`; and what became of the local jobs.

The test itself is neither: it sees what the server has. So do the ledgers, which lie elsewhere.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jim.model import State
from tests.faults.real import LIMIT, Place, until
from tests.live.faults import Counts
from tests.live.site import LABS, ROOT
from tests.wrapper.worker import Site

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

    def __init__(
        self, place: Path, *, slots: int = 8, batch: str = "", per_submission: int = 4, attempts: int = 3
    ) -> None:
        work = LAB / "shared" / place.name
        work.mkdir()
        batch = f"touch_seconds = {TOUCH}\n{batch}"
        limits = f'per_submission = {per_submission}\nattempts = {attempts}\nretry_delay = "PT1S"\n'
        more = f'[site]\nwork = "{work}"\n[limits]\n{limits}'
        super().__init__(place, more, batch, slots, visible_seconds=CACHE + 1)
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

    def running(self, count: int) -> None:
        """Wait until so many payloads have started."""
        until(lambda: len(self.events("start")) >= count, f"{count} payloads run")

    def go(self) -> None:
        """Let the payloads that wait end."""
        (self.place / "payload.sh.go").touch()

    def touched(self) -> list[float]:
        """Tell when each claim was touched last, by the server's clock, which is this machine's."""
        return [each.stat().st_mtime for each in self.site.work.glob("*/s*/claim.*")]

    def finish(self) -> None:
        """Run keepers, which a file server may end, until nothing is left to do, and nothing to be seen late."""

        def finished() -> bool:
            return self.keep() == 0 and not list(self.site.work.glob("spool/[!.]*"))

        for keeper in self.started:
            keeper.communicate(timeout=LIMIT)
        until(finished, "nothing is left to do")

    def away(self, seconds: float, *, soft: int = 0, later: float = 0) -> float:
        """Let the server be away from now on, for the node a while longer; give the time when all are back."""
        back = time.time() + seconds
        says("head", {"away_until": f"{back:f}", "soft": soft})
        says("node", {"away_until": f"{back + later:f}", "soft": soft})
        return back + later

    def through(self, pieces: int, **request: Any) -> Counts:
        """Run a grid job to its end."""
        grid = self.submit(pieces, **request)
        self.finish()
        return self.counts(pieces, grid)

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


# Fences an index in a submission directory once a lock is to be had, and tells whether that was in time.
FENCE = """
import fcntl, sys
from pathlib import Path
from jim.workdir.claims import fence
directory, index, gate = Path(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3])
fcntl.flock(gate, fcntl.LOCK_SH)
sys.exit(0 if fence(directory, [index])[index].fence else 71)
"""


class Twins(Site):
    """A submission directory that both clients share, and starts of it at the same moment."""

    def __init__(self, place: Path) -> None:
        super().__init__(LAB / "shared" / place.name, [], os.defpath)
        self.ledger, self.gate = place / "ledger", place / "gate"
        self.ledger.touch()
        self.gate.touch()

    def both(self, index: int) -> list[int]:
        """Start the wrapper on both clients; give how it exits."""
        return self._at_once(*([by(client), *self._wrapper(index)] for client in CLIENTS))

    def fence_and_start(self, index: int) -> bool:
        """Take the claim on the head node and start the wrapper on the other; tell who was the first."""
        words = [str(self.here), str(index), str(self.gate)]
        fence, start = self._at_once(
            [by("head"), sys.executable, "-P", "-s", "-c", FENCE, *words], [by("node"), *self._wrapper(index)]
        )
        assert (fence, start) in ((0, 71), (71, 0)), "both know who has won"
        return fence == 0

    def _wrapper(self, index: int) -> list[str]:
        wait = 'flock -s "$0" true; exec /bin/sh "$@"'
        words = [str(self.here.parent / "local-job"), str(self.here), str(index)]
        return ["/bin/sh", "-c", wait, str(self.gate), *words]

    def _at_once(self, *commands: list[str]) -> list[int]:
        """Run commands that wait for the gate, once all of them wait; give how they exit."""
        quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        clean = {"PATH": os.defpath, "HOME": "/", "PYTHONPATH": str(ROOT)}
        with self.gate.open() as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            runs = [subprocess.Popen(each, env=clean, start_new_session=True, **quiet) for each in commands]
            self.started += runs
            waiting = f":{self.gate.stat().st_ino} "
            until(lambda: sum("->" in line and waiting in line for line in _locks()) == len(commands), "all wait", 30)
        return [each.wait(120) for each in runs]


def _locks() -> list[str]:
    return Path("/proc/locks").read_text().splitlines()
