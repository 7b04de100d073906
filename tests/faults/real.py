"""A state directory with real processes: keeper, local batch, wrappers, payloads; and ways to hurt them.

The oracles are two append-only ledgers that JIM does not read: one that every payload writes when it
starts and ends, and the local batch system's own. Two payloads of a piece that live at the same time
find each other by a lock that all their descendants hold.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from jim import request
from jim.clock import Clock
from jim.doors import inbox
from jim.localbatch.area import connect
from jim.localbatch.queue import Queue
from jim.model import State, Step
from jim.site.file import make_state, read
from jim.statusdb.store import Store
from tests.support.compiled import compiled

ROOT = Path(__file__).resolve().parents[2]
# Root may write where nobody may; as an ordinary account it is not that lucky.
PLAIN = ("/usr/bin/setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.getuid() == 0 else ()
KEEPER = (sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper")
BATCH = (sys.executable, "-P", "-s", "-m", "jim.localbatch", "--area")
LIMIT = 180.0  # on a machine that is busy with something else
LAST_CALL = 10**12  # of writing calls, by the shim's count
DONE, FAILED = "GRAM_SCRIPT_JOB_STATE:8\n\n", "GRAM_SCRIPT_ERROR:17\n\n"


def build_shim(place: Path) -> Path:
    """Compile the shim that counts writing system calls."""
    return compiled(ROOT / "tests/faults/shim.c", place)


def until(true, what: str, limit: float = LIMIT):
    """Wait for something that has no handle to wait on, looking often, and after a second less often."""
    end, pause = time.monotonic() + limit, 0.02
    while not (found := true()):
        assert time.monotonic() < end, f"not within {limit} s: {what}"
        time.sleep(pause)
        pause = min(0.1, 1.05 * pause)
    return found


def at_once(runs: Iterable[tuple[str, Callable[[], object]]]) -> None:
    """Make many runs, some at the same time, for they mostly wait; name the one that fails."""
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        made = [(name, pool.submit(run)) for name, run in runs]
    for name, run in made:
        error = run.exception()
        if error:
            raise AssertionError(f"{name}: {error}") from error


def alive(pid: int) -> bool:
    """Tell whether a process is there, and more than a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False


def doomed(seen, side: str, times: int = 0, move: str = "") -> tuple[str, ...]:
    """Give the command of a keeper that is killed at a side of a move; `seen` lists the moves it came to."""
    seen.touch()
    return (sys.executable, "-P", "-s", str(ROOT / "tests/faults/doomed.py"), str(seen), side, str(times), move)


class Place:
    """One state directory and its ledger of payloads."""

    keeper_by: tuple[str, ...] = ()  # what starts its keepers
    batch_by: tuple[str, ...] = ()  # what starts its batch commands, where `command` puts something before them
    writes = 'echo "data $JIM_LOCAL_JOB $JIM_ATTEMPT" >out.txt'  # what its payloads leave
    asks: Mapping[str, Any] = {}  # attributes of all its requests

    def __init__(
        self,
        place: Path,
        settings: str = "",
        batch: str = "",
        slots: int = 2,
        visible_seconds: float = 0.3,
        idle_seconds: float = 0.0,
    ) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.place, self.state, self.ledger = place, place / "state", place / "ledger"
        self.ledger.touch()
        (place / "work").mkdir(exist_ok=True)
        site = place / "site.toml"
        soon = "" if "[limits]" in settings else '[limits]\nretry_delay = "PT1S"\n'
        site.write_text(
            f"{soon}[batch]\nslots = {slots}\nquery_seconds = 0.5\nvisible_seconds = {visible_seconds}\n{batch}\n"
            f"[keep]\nidle_seconds = {idle_seconds}\n{settings.replace('WORK', str(place / 'work'))}"
        )
        self.site = read(site, self.state)
        make_state(self.site)
        (self.state / "site.toml").write_text(site.read_text())
        self.started: list[subprocess.Popen[bytes]] = []

    # What is run

    def payload(self, *, body: str = "", name: str = "payload.sh") -> Path:
        """Write a payload that tells the ledger when it starts and ends."""
        script = self.place / name
        ledger, lock = (shlex.quote(str(self.place / name)) for name in ("ledger", "alive"))
        script.write_text(
            "#!/bin/sh\n"
            'me="$JIM_GRID_JOB $JIM_LOCAL_JOB $JIM_ATTEMPT"\n'
            f"exec 9>>{lock}.$JIM_GRID_JOB.$JIM_LOCAL_JOB\n"
            f'flock -n 9 || echo "overlap $me" >>{ledger}\n'
            f'echo "start $me" >>{ledger}\n'
            f"{body}\n{self.writes}\n"
            f'echo "end $me" >>{ledger}\n'
        )
        script.chmod(0o755)
        return script

    def submit(
        self,
        pieces: int = 2,
        *,
        key: str = "key",
        body: str = "",
        outputs: tuple[str, ...] = (),
        inputs: tuple[str, ...] = (),
        **beside: Any,
    ) -> int:
        """Hand in a grid job as the door does, without starting a keeper; `beside` is what the door keeps of it."""
        raw = {
            "job_type": "parametric",
            "executable": str(self.payload(body=body)),
            "argument_sets": [[str(n)] for n in range(pieces)],
            "outputs": ["out.txt", *outputs],
            "inputs": list(inputs),
            **self.asks,
        }
        return inbox.deposit(self.state, key, request.check(raw)[1] | {"key": key}, **beside)

    def wish(self, verb: str, target: str | int) -> None:
        """Leave a wish as the door does."""
        inbox.wish(self.state, verb, str(target))

    def front(self, name: str, script: str) -> None:
        """Put a command in front of the real one, for wrappers and batch commands; `$real` is the real one's path."""
        front = self.place / "front"
        front.mkdir(exist_ok=True)
        path = os.environ["PATH"]
        (front / name).write_text(
            f"#!/bin/sh\nplace={shlex.quote(str(self.place))} name=${{0##*/}} PATH={shlex.quote(path)}\n"
            f"real=$(command -v $name)\n{script}\n"
        )
        (front / name).chmod(0o755)

    def command(self, verb: str, script: str) -> None:
        """Put a script before a batch command; `"$@"` is the real one, `once` is true the first time."""
        file = self.place / f"batch-{verb}"
        once = f"once() {{ rm $place/once.{verb} 2>/dev/null; }}"
        file.write_text(f"#!/bin/sh\nplace={shlex.quote(str(self.place))}\n{once}\n{script}\n")
        file.chmod(0o755)
        (self.place / f"once.{verb}").touch()
        words = {"query": ("list",), "change": ()}.get(verb, (verb,))
        real = [*self.batch_by, *BATCH, str(self.state / "batch"), *words]
        told, line = (self.state / "site.toml").read_text(), f"{verb} = {[str(file), *real]!r}\n"
        with (self.state / "site.toml").open("a") as site:
            if "[batch.commands]" not in told:
                site.write("[batch.commands]\n")
            if line not in told:
                site.write(line)

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("JIM_", "LD_", "SHIM_"))}
        kept["PATH"] = f"{self.place / 'front'}:{kept['PATH']}"
        return kept | {"PYTHONPATH": str(ROOT), "JIM_STATE": str(self.state)} | (more or {})

    def start_keeper(self, more: dict[str, str] | None = None, command: tuple[str, ...] = KEEPER):
        """Start a keeper in the foreground of this test."""
        process = subprocess.Popen(
            [*PLAIN, *self.keeper_by, *command, str(self.state)],
            env=self.environment(more),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def keep(self, more: dict[str, str] | None = None, command: tuple[str, ...] = KEEPER) -> int:
        """Run a keeper to its end."""
        process = self.start_keeper(more, command)
        process.communicate(timeout=LIMIT)
        return process.returncode

    def finish(self) -> None:
        """Run keepers, unhurt, until nothing is left to do.

        What a killed one was just starting holds its lock for a moment more: then there seems to be a keeper.
        """
        for _ in range(3):
            if self.keep() == 0:
                return
        raise AssertionError(self.log()[-2000:])

    def door(self, verb: str, *words: str, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Call the people's door, such that it starts no keeper of its own."""
        with (self.state / "keeper.lock").open("a") as lock:
            with suppress(BlockingIOError):  # there is a keeper
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            call = "from jim.cli import main; from jim.doors.serving import leave; leave(main())"
            command = [*PLAIN, sys.executable, "-P", "-s", "-c", call, verb, *words]
            return subprocess.run(
                command, env=self.environment(more), capture_output=True, text=True, timeout=LIMIT, check=False
            )

    # What came of it

    def log(self) -> str:
        """Give what the keepers had to say."""
        return (self.state / "keeper.log").read_text()

    def store(self):
        """Open the store to read, for a `with`."""
        return closing(Store(self.state / "status.db", Clock()))

    def state_of(self, n: int = 0, grid: int = 1) -> str:
        """Tell a local job's state; empty before it is there."""
        try:
            with self.store() as store:
                return store.local_job(grid, n).state.value
        except Exception:  # no store yet, or no local job in it
            return ""

    def journal(self, grid: int = 1) -> str:
        """Give the journal as text."""
        with self.store() as store:
            return "\n".join(
                f"{line.n} {line.was} > {line.now} [{line.witness}] {line.reason}" for line in store.journals.of(grid)
            )

    def answer(self, grid: int = 1) -> str:
        """Give what a poll prints."""
        return (self.state / "answers" / str(grid)).read_text()

    def events(self, word: str, grid: int = 1) -> list[tuple[int, int]]:
        """Give the (local job, attempt) of every start or end, from the payloads' ledger."""
        lines = [line.split() for line in self.ledger.read_text().splitlines()]
        return [(int(n), int(attempt)) for event, g, n, attempt in lines if event == word and int(g) == grid]

    def accounted(self, grid: int = 1) -> Counter[tuple[int, int]]:
        """Count the lines of the accounting by local job and attempt; a living keeper may still have some to write."""
        with self.store() as store:
            marked = Counter((each.n, each.attempt) for each in store.senders.unaccounted(1000) if each.grid == grid)
        found = [
            line for file in self.state.glob("accounting/????-??-??.jsonl") for line in file.read_text().splitlines()
        ]
        lines = [line for line in map(json.loads, found) if line["grid_job"] == grid]
        return Counter((line["local_job"], line["attempt"]) for line in lines) | marked

    def batch(self, *words: str) -> str:
        """Run a command of the local batch system."""
        command = [*BATCH, str(self.state / "batch"), *words]
        return subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, timeout=LIMIT, check=False
        ).stdout

    def batch_ledger(self) -> list[list[str]]:
        """Give the local batch system's own ledger: event, id, index, name."""
        queue = Queue(connect(self.state / "batch"), Clock())
        with closing(queue.db):
            return [[str(each) for each in row[2:6]] for row in queue.ledger()]

    # The promise

    def held(self, grid: int = 1, *, accepted: int = 1) -> None:
        """Hold everything against the promise, however it ended; a lying batch system may have accepted more."""
        assert "overlap" not in self.ledger.read_text(), "two attempts of a piece were alive at once"
        starts = Counter(self.events("start", grid))
        assert max(starts.values(), default=0) <= 1, f"an attempt started twice: {starts}"
        events = self.batch_ledger()
        for word in ("accepted", "started"):
            seen = Counter((name, index) for event, _, index, name in events if event == word)
            assert max(seen.values(), default=0) <= accepted, f"{word} too often: {seen}"
        with self.store() as store:
            job = store.grid_job(grid)
            assert job.step is Step.FINISHED, self.journal(grid)
            attempts = {(each.n, each.attempt): each for each in store.attempts(grid)}
            for each in starts:
                assert attempts[each].started, f"an attempt ran that was taken for lost: {each}"
            expected = {}
            for local in store.local_jobs(grid):
                assert local.state.final
                done = [each for each in attempts if each[0] == local.n and attempts[each].verdict == "completed"]
                assert len(done) == (local.state is State.COMPLETED), self.journal(grid)
                for each in done:
                    assert each in self.events("end", grid), "completed without its payload's end"
                    expected[f"{grid}.{each[0]}/out.txt"] = f"data {each[0]} {each[1]}\n".encode()
            ended = Counter((n, attempt) for (n, attempt), each in attempts.items() if each.verdict)
        assert self.accounted(grid) == ended, "an attempt has no line in the accounting, or several"
        with tarfile.open(job.result["tar"]) as tar:
            names = Counter(tar.getnames())
            apart = tuple(f".{end}/out.txt" for end in ("failed", "killed"))  # what others have left
            assert {each for each in names if each.endswith("/out.txt") and not each.endswith(apart)} == expected.keys()
            assert max(names.values()) == 1
            for name, content in expected.items():
                assert tar.extractfile(name).read() == content
        until(lambda: not self.of_tasks(), "no process left of this place's tasks")
        with suppress(FileNotFoundError):
            assert list(self.site.work.glob("spool/[!.]*")) == []

    def check(self, pieces: int, grid: int = 1, *, accepted: int = 1) -> None:
        """Hold everything against the promise, all pieces being completed."""
        self.held(grid, accepted=accepted)
        with self.store() as store:
            assert store.counts(grid) == {State.COMPLETED: pieces}, self.journal(grid)
            assert store.grid_job(grid).outcome == "completed"
        assert self.answer(grid) == DONE

    def of_tasks(self) -> list[int]:
        """Find the processes that run for this place's local batch tasks."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    environment = (entry / "environ").read_bytes()
                    if str(self.place).encode() in environment and b"JIM_LOCALBATCH_TASK" in environment:
                        found.append(int(entry.name))
        return found

    def batch_pid(self) -> int:
        """Give the pid of the local batch daemon; 0 when none runs."""
        try:
            pid = int((self.state / "batch/daemon.lock").read_text())
            return pid if str(self.state).encode() in Path(f"/proc/{pid}/cmdline").read_bytes() else 0
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        """End what this place started."""
        while self.started:
            process = self.started.pop()
            if process.poll() is None:
                process.kill()
            process.communicate()
        for pid in [self.batch_pid(), *self.of_tasks()]:
            with suppress(OSError):
                pid and os.kill(pid, signal.SIGKILL)
