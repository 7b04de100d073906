"""A state directory with real processes: keeper, local batch, wrappers, payloads; and ways to hurt them.

The oracles are two append-only ledgers that JIM does not read: one that every payload writes when it
starts and ends, and the local batch system's own.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path

from jim import inbox, request
from jim.clock import Clock
from jim.model import Step
from jim.site import make_state, read
from jim.statusdb.store import Store

ROOT = Path(__file__).resolve().parents[2]
KEEPER = (sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper")
BATCH = (sys.executable, "-P", "-s", "-m", "jim.localbatch", "--area")
LIMIT = 60.0


def build_shim(place: Path) -> Path:
    """Compile the shim that counts writing system calls."""
    library = place / "shim.so"
    source = ROOT / "tests/faults/shim.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True, timeout=LIMIT)
    return library


def until(true, what: str, limit: float = LIMIT):
    """Wait for something to hold, looking often."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = true()
        if found:
            return found
        os.sched_yield()
        os.posix_spawnp("sleep", ["sleep", "0.02"], os.environ) and os.wait3(0)
    raise AssertionError(f"not within {limit} s: {what}")


class Place:
    """One state directory and its ledger of payloads."""

    def __init__(self, place: Path, settings: str = "", batch: str = "") -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.place, self.state, self.ledger = place, place / "state", place / "ledger"
        self.ledger.touch()
        site = place / "site.toml"
        site.write_text(
            f"[batch]\nslots = 2\nquery_seconds = 0.2\nvisible_seconds = 0.3\n{batch}\n"
            f"[keep]\nidle_seconds = 0.0\n{settings}"
        )
        self.site = read(site, self.state)
        make_state(self.site)
        (self.state / "site.toml").write_text(site.read_text())
        self.started: list[subprocess.Popen[bytes]] = []

    def payload(self, *, body: str = "") -> Path:
        """Write a payload that tells the ledger when it starts and ends."""
        script = self.place / "payload.sh"
        ledger = shlex.quote(str(self.ledger))
        script.write_text(
            "#!/bin/sh\n"
            f'echo "start $JIM_LOCAL_JOB $JIM_ATTEMPT" >>{ledger}\n'
            f'{body}\necho "data $JIM_LOCAL_JOB" >out.txt\n'
            f'echo "end $JIM_LOCAL_JOB $JIM_ATTEMPT" >>{ledger}\n'
        )
        script.chmod(0o755)
        return script

    def submit(self, pieces: int = 2, *, key: str = "key", body: str = "") -> int:
        """Hand in a grid job as the door does, without starting a keeper."""
        raw = {
            "job_type": "parametric",
            "executable": str(self.payload(body=body)),
            "argument_sets": [[str(n)] for n in range(pieces)],
            "outputs": ["out.txt"],
        }
        return inbox.deposit(self.state, key, request.check(raw)[1] | {"key": key})

    def environment(self, shim: dict[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("JIM_", "LD_", "SHIM_"))}
        return kept | {"PYTHONPATH": str(ROOT), "JIM_STATE": str(self.state)} | (shim or {})

    def start_keeper(self, shim: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a keeper in the foreground of this test."""
        process = subprocess.Popen(
            [*KEEPER, str(self.state)], env=self.environment(shim), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.started.append(process)
        return process

    def keep(self, shim: dict[str, str] | None = None) -> int:
        """Run a keeper to its end."""
        process = self.start_keeper(shim)
        process.communicate(timeout=LIMIT)
        return process.returncode

    def finish(self) -> None:
        """Run keepers, unhurt, until nothing is left to do."""
        for _ in range(3):
            if self.keep() == 0:
                return
        raise AssertionError((self.state / "keeper.log").read_text()[-2000:])

    def store(self) -> Store:
        return Store(self.state / "status.db", Clock())

    def events(self, word: str) -> list[tuple[int, int]]:
        """Give the (local job, attempt) of every start or end, from the payloads' ledger."""
        lines = [line.split() for line in self.ledger.read_text().splitlines()]
        return [(int(n), int(attempt)) for event, n, attempt in lines if event == word]

    def batch_ledger(self) -> list[list[str]]:
        """Give the local batch system's own ledger: event, id, index, name."""
        out = subprocess.run(
            [*BATCH, self.state / "batch", "ledger"],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        ).stdout
        return [line.split("|")[2:6] for line in out.splitlines()[1:-1]]

    def check(self, pieces: int, grid: int = 1) -> None:
        """Hold everything against the promise."""
        starts = Counter(self.events("start"))
        assert max(starts.values(), default=0) <= 1, f"an attempt started twice: {starts}"
        events = self.batch_ledger()
        accepted = Counter(name for event, _, _, name in events if event == "accepted")
        tasks = Counter((id_, index) for event, id_, index, _ in events if event == "started")
        assert max(tasks.values(), default=0) <= 1, f"the local batch system started a task twice: {tasks}"
        assert max((accepted[name] for name in accepted), default=0) <= pieces
        store = self.store()
        job = store.grid_job(grid)
        assert (job.step, job.outcome) == (Step.FINISHED, "completed"), store.journal(grid)[-20:]
        for local in store.local_jobs(grid):
            done = [each.attempt for each in store.attempts(grid, n=local.n) if each.verdict == "completed"]
            assert len(done) == 1
            assert (local.n, done[0]) in self.events("end"), "completed without its payload's end"
        with tarfile.open(job.result["tar"]) as tar:
            names = Counter(tar.getnames())
            assert {name for name in names if name.endswith("out.txt")} == {
                f"{grid}.{n}/out.txt" for n in range(pieces)
            }
            assert max(names.values()) == 1
            for n in range(pieces):
                assert tar.extractfile(f"{grid}.{n}/out.txt").read() == f"data {n}\n".encode()
        store.close()
        assert self.leftovers() == []
        assert (self.state / "answers" / str(grid)).read_text() == "GRAM_SCRIPT_JOB_STATE:8\n\n"

    def leftovers(self) -> list[str]:
        """Name processes that still run for this place's local batch tasks."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    environment = (entry / "environ").read_bytes()
                    if str(self.place).encode() in environment and b"JIM_LOCALBATCH_TASK" in environment:
                        found.append((entry / "cmdline").read_bytes().decode())
                except OSError:
                    continue
        return found

    def batch_pid(self) -> int:
        """Give the pid of the local batch daemon; 0 when none was ever started."""
        try:
            return int((self.state / "batch/daemon.lock").read_text())
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        """End what this place started."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        pid = self.batch_pid()
        if pid and self._is_ours(pid):
            os.kill(pid, signal.SIGKILL)

    def _is_ours(self, pid: int) -> bool:
        try:
            return str(self.state).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
