"""A state directory for a measurement: real doors, a real keeper, the local batch system; all of it goes in the end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 300.0


class Place:
    """One temporary state directory. Every process below its doors has it as HOME, and is found again by that."""

    def __init__(self, *, slots: int = 1, queued: int = 10_000, below: str | None = None) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="jim-bench-", dir=below))
        self.state = self.directory / "state"
        self.state.mkdir(mode=0o700)
        (self.state / "site.toml").write_text(f"[batch]\nslots = {slots}\n[limits]\nqueued = {queued}\n")
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.directory),
            "JIM_STATE": str(self.state),
            "JIM_PYTHON": sys.executable,
        }

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End every process that was started here, each by its pid, and remove the directory."""
        while found := list(self._processes()):
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _processes(self) -> Iterator[int]:
        mark = b"HOME=" + os.fsencode(self.directory)
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        yield int(entry.name)

    # What is handed in

    def request(self, name: str, **attributes: Any) -> str:
        """Write a request file and return its path."""
        file = self.directory / f"{name}.json"
        file.write_text(json.dumps(attributes, separators=(",", ":")))
        return str(file)

    def true_jobs(self, pieces: int) -> str:
        """Ask for so many runs of /bin/true."""
        sets = [[str(n)] for n in range(pieces)]
        return self.request(f"true-{pieces}", job_type="parametric", executable="/bin/true", argument_sets=sets)

    def events(self, pieces: int) -> str:
        """Ask for Monte Carlo events that are cut into so many pieces."""
        return self.request(f"events-{pieces}", job_type="pythia_monte_carlo", events=pieces, events_per_job=1)

    def herd(self, pieces: int) -> str:
        """Ask for a splitter to cut the events of a file into so many pieces."""
        events = {"splitter": "EventBased", "splitter_parameters": {"events_per_job": 1}}
        call = {"executable": "/bin/true", "arguments": ["$SplitID", "${InputFiles}", "$FirstEvent", "$LastEvent"]}
        file = {"lfn": "/store/data/run1/file.root", "events": pieces}
        return self.request(f"herd-{pieces}", job_type="executable", **call, **events, input_files=[file])

    def submit(self, file: str) -> int:
        """Hand a request in by the door, and return the id it prints."""
        door = [str(HOME / "shell/jim-submit"), file]
        done = subprocess.run(door, env=self.environment, capture_output=True, text=True, timeout=60, check=True)
        return int(done.stdout.partition("JOB_ID:")[2].split()[0])

    def block(self) -> None:
        """Let a first grid job sleep in the batch system, so that with one slot no other one starts."""
        job = self.submit(self.request("sleep", job_type="executable", executable="/bin/sleep", arguments=["3600"]))
        self.until(lambda: self.answer(job).startswith("GRAM_SCRIPT_JOB_STATE:2\n"))

    # What can be seen

    def answer(self, job: int) -> str:
        """Read what a poll prints."""
        return (self.state / "answers" / str(job)).read_text()

    def step(self, job: int) -> str:
        """Read a grid job's step from the store, or nothing while the store does not know it."""
        # The keeper may still be making the store.
        with suppress(sqlite3.OperationalError), closing(self._reader()) as db:
            row = db.execute("SELECT step FROM grid_job WHERE id = ?", (job,)).fetchone()
            return row[0] if row else ""
        return ""

    def _reader(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self.state}/status.db?mode=ro", uri=True, timeout=10)

    def keeper(self) -> int:
        """Return the keeper's pid."""
        return int((self.state / "keeper.lock").read_text())

    def daemon(self) -> int:
        """Return the pid of the local batch system's daemon."""
        return int((self.state / "batch/daemon.lock").read_text())

    def until(self, true: Callable[[], bool], pause: float = 0.02, limit: float = LIMIT_SECONDS) -> float:
        """Wait until something holds; return how long that took."""
        began = time.perf_counter()
        while not true():
            if time.perf_counter() - began > limit:
                log = self.state / "keeper.log"
                words = log.read_text()[-2000:] if log.exists() else "no keeper.log"
                raise TimeoutError(f"waited {limit:g} s in vain; the keeper says: {words}")
            time.sleep(pause)
        return time.perf_counter() - began
