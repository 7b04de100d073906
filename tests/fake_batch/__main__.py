"""The fake batch system as commands: `python -m tests.fake_batch AREA DIALECT COMMAND WORD...`, for a site file's
`[batch.commands]`.

Its state lies in AREA, under a lock. Jobs are real processes; each command also starts what is pending and sees what
has ended. `AREA/lies` says what the next commands do instead of the truth, a line `KIND WHAT KNOB` each, as liar.py
has them; `AREA/ledger` is only added to.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from tests.fake_batch.dialect import Dialect, Said
from tests.fake_batch.engine import Engine, Phase, Task
from tests.fake_batch.liar import Liar, Lie

RUN = '"$1"; echo $? >"$2.new"; mv "$2.new" "$2"'


class Processes:
    """What runs for the tasks of an engine."""

    def __init__(self, area: Path, engine: Engine, dialect: Dialect, pids: dict[tuple[int, int], int]) -> None:
        self.area, self.engine, self.dialect, self.pids = area, engine, dialect, pids

    def end_file(self, task: Task) -> Path:
        return self.area / f"ended.{task.job.id}.{task.index}"

    def see_ends(self) -> None:
        """Take in what has ended by itself."""
        for task in self.engine.tasks.values():
            if task.phase is Phase.RUNNING and self.end_file(task).exists():
                self.engine.end(task, int(self.end_file(task).read_text()))

    def start_pending(self) -> None:
        """Start everything that may start."""
        for task in self.engine.tasks.values():
            if task.phase is Phase.PENDING:
                self.engine.begin(task)
                variables = {"PATH": os.environ["PATH"], "HOME": "/"} | self.dialect.environment(task)
                words = ["/bin/sh", "-c", RUN, "job", task.job.asked.script, str(self.end_file(task))]
                quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
                process = subprocess.Popen(words, env=variables, cwd="/", start_new_session=True, **quiet)
                self.pids[task.job.id, task.index] = process.pid

    def reap(self) -> None:
        """Kill what was cancelled."""
        for task in self.engine.tasks.values():
            pid = self.pids.get((task.job.id, task.index))
            if pid and task.why == "cancelled":
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGTERM)


def serve(area: Path, name: str, command: list[str]) -> Said:
    """Answer one command, alone."""
    dialect = import_module(f"tests.fake_batch.dialects.{name}").DIALECT()
    with (area / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        engine, pids = _load(area / "engine")
        processes = Processes(area, engine, dialect, pids)
        written = len(engine.ledger)
        liar = Liar(engine, dialect, processes, lambda seconds: None)
        processes.see_ends()
        answer = _with_lies(area / "lies", liar, lambda: liar.run(command, limit=0.0))
        processes.start_pending()
        with (area / "ledger").open("a") as ledger:
            ledger.writelines(
                f"{entry.event}|{entry.mark}|{entry.index}|{entry.note}\n" for entry in engine.ledger[written:]
            )
        (area / "engine").write_bytes(pickle.dumps((engine, pids)))
    return Said(answer.code, answer.out, answer.err)


def _load(file: Path) -> tuple[Engine, dict[tuple[int, int], int]]:
    return pickle.loads(file.read_bytes()) if file.exists() else (Engine(time.time), {})


def _with_lies(file: Path, liar: Liar, run: Callable):
    """Take the lies that are due from their file, and put back what is left of them."""
    for line in file.read_text().splitlines() if file.exists() else ():
        kind, what, knob = line.split()
        liar.lies[kind].append(Lie(what, int(knob)))
    answer = run()
    left = [f"{kind} {lie.what} {lie.knob}\n" for kind, lies in liar.lies.items() for lie in lies]
    file.write_text("".join(left))
    return answer


def main() -> int:
    """Answer, hang or die."""
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    said = serve(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
    if said.code is None:
        signal.pause()
    sys.stdout.write(said.out)
    sys.stderr.write(said.err)
    sys.stdout.flush()
    if (said.code or 0) < 0:
        os.kill(os.getpid(), -said.code)
    return said.code or 0


if __name__ == "__main__":
    sys.exit(main())
