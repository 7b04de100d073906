"""Worker nodes, in memory: what shell/local-job does there, with the same files, as fast as tests need it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.fake_batch.dialect import Dialect
from tests.fake_batch.engine import Engine, Phase, Task

SUPERSEDED, TROUBLE = 71, 72
NODE, HOLE = "node1", "hole1"  # hosts: one on which all goes well, and one that eats jobs
SECONDS = {NODE: 100, HOLE: 1}
TOUCH = 60.0


@dataclass(eq=False)
class Run:
    """A payload that lives, and the wrapper around it."""

    task: Task
    directory: Path
    index: int
    nonce: str
    told: str  # its batch id, as the job was told
    facts: dict[str, str]
    touched: float
    host: str
    code: int | None = None
    signal: int | None = None
    recorded: bool = False  # its exit record was written

    @property
    def piece(self) -> tuple[str, str]:
        """Name what it works on: no two of these may live at once."""
        return self.directory.parent.name, self.facts["n"]

    @property
    def seconds(self) -> int:
        """Tell what its record says of its time, whatever that was."""
        return SECONDS[self.host]

    @property
    def place(self) -> Path:
        """Name the working directory of the payload."""
        return self.directory / f"run.{self.index}"

    @property
    def outputs(self) -> dict[str, bytes]:
        """Give what it has written by its end; no other attempt writes the same."""
        told = f"{self.facts['mark']} {self.facts['n']} {self.facts['attempt']}\n".encode()
        return {"stdout": told, "stderr": b"", "out.dat": hashlib.sha256(told).digest() * int(self.facts["attempt"])}

    @property
    def begun(self) -> dict[str, bytes]:
        """Give what it has written until it ends: half of its words."""
        return {"stdout": self.outputs["stdout"][:20], "stderr": b""}


@dataclass
class Nodes:
    """All that runs, whether the batch system still knows of it or not."""

    engine: Engine
    dialect: Dialect
    runs: list[Run] = field(default_factory=list)
    ever: list[Run] = field(default_factory=list)  # all payloads that were ever started, in this order
    later: list[tuple[float, Callable[[], None]]] = field(default_factory=list)  # files that are seen late
    wrappers: int = 0
    warned: bool = True  # a wrapper has time to write its record before it is killed
    away: bool = False  # they do not see the work directory just now
    seen_as: tuple[str, str] = ("", "")  # a part of its path as the keeper knows it, and as they do

    def start(self, task: Task, host: str = NODE) -> Run | None:
        """Start a task's wrapper, which may find that it must not run the payload."""
        place = self._place(task)
        return self._claim(task, *place, host) if place else None

    def leave(self, task: Task, *, reported: bool) -> None:
        """Start a task's wrapper on a host that it is told to avoid."""
        if not (place := self._place(task)):
            return
        directory, index, told = place
        facts, notice = self._facts(directory, index), self._notice(told, NODE)
        nonce = notice.split()[1]
        (directory / f"left.{index}.{nonce}").write_text(notice)
        if reported:
            (directory / facts["spool"] / f"{facts['mark']}.{index}.left").write_text(notice)
        self.engine.about("left", task)
        self.engine.end(task, SUPERSEDED)

    def _place(self, task: Task) -> tuple[Path, int, str] | None:
        """Begin a task; give its submission directory, its index and batch id as it is told, if that can be seen."""
        self.engine.begin(task)
        directory = Path(task.job.asked.script.replace(*self.seen_as)).parent
        if self.away or not (directory / "job.sh").exists():
            self.engine.end(task, TROUBLE)
            return None
        script = (directory / "job.sh").read_text()
        environment = self.dialect.environment(task)
        told, index = (
            environment.get(name, default)
            for name, default in re.findall(r'(?:BATCH_ID=| )"\$\{(\w+):-(\d*)\}"', script)
        )
        return directory, int(index), told

    def _notice(self, told: str, host: str) -> str:
        """Write what a wrapper says of itself."""
        self.wrappers += 1
        started = f"{datetime.fromtimestamp(int(self.engine.now()), UTC):%Y-%m-%dT%H:%M:%SZ}"
        facts = f"host {host}\npid 1\nbatch {told or '-'}\nrestart -\nstarted {started}\n"
        return f"nonce {self.wrappers:032x}\n{facts}"

    def _claim(self, task: Task, directory: Path, index: int, told: str, host: str) -> Run | None:
        notice = self._notice(told, host)
        nonce = notice.split()[1]
        own, claim = directory / f"c.{nonce}", directory / f"claim.{index}"
        own.write_text(notice)
        with suppress(FileExistsError):
            os.link(own, claim)
        if f"nonce {nonce}\n" not in claim.read_text():
            facts = self._facts(directory, index)
            self.engine.about("superseded", task)
            spool = directory / facts["spool"]
            for each in (directory / f"refused.{index}.{nonce}", spool / f"{facts['mark']}.{index}.refused"):
                each.write_text(own.read_text() + "winner x\n")
            self.engine.end(task, SUPERSEDED)
            return None
        return self._run(task, directory, index, nonce, told, host)

    def _run(self, task: Task, directory: Path, index: int, nonce: str, told: str, host: str) -> Run:
        facts = self._facts(directory, index)
        run = Run(task, directory, index, nonce, told, facts, self.engine.now(), host)
        assert task.mark == facts["mark"], "it runs what it was not sent for"
        assert self.may_run(task, index), "it runs another than it was sent for"
        twin = [each for each in self.runs if each.piece == run.piece]
        assert not twin, f"two attempts of {run.piece} are alive: {twin[0].task} and {task}"
        self._about("started", run)
        self.runs.append(run)
        self.ever.append(run)
        self._begin_outputs(run)
        self._touch(run)
        return run

    def _begin_outputs(self, run: Run) -> None:
        run.place.mkdir()
        for name, content in run.begun.items():
            (run.place / name).write_bytes(content)

    def _facts(self, directory: Path, index: int) -> dict[str, str]:
        lines = (directory / "jobs").read_text().split("\n")
        facts = [line.split(" ", 2) for line in lines if line.count(" ") > 1]  # but the end
        return {word: value for which, word, value in facts if which in ("*", str(index))}

    def report(self, run: Run) -> None:
        """Tell the keeper of a start."""
        if self.away:
            return
        self._about("told", run)
        self._spool(run, "start", (run.directory / f"claim.{run.index}").read_text())

    def finish(
        self, run: Run, code: int = 0, *, signal: int | None = None, reported: bool = True, lag: float = 0.0
    ) -> None:
        """End a payload by itself, or by a signal; its record, written last, may be seen late."""
        self.runs.remove(run)
        run.code, run.signal = (None, signal) if signal else (code, None)
        self._about("payload ended", run, f"signal {signal}" if signal else f"exit {code}")
        facts = run.facts
        run.place.mkdir(exist_ok=True)
        for name, content in run.outputs.items():
            (run.place / name).write_bytes(content)
        files = "".join(
            f"file {len(content)} {hashlib.sha256(content).hexdigest()} {name}\n"
            for name, content in run.outputs.items()
        )
        end = f"code -\nsignal {signal}\nreason signal TERM" if signal else f"code {code}\nsignal -\nreason -"
        record = (
            f"jim-exit 1\nmark {facts['mark']}\nindex {run.index}\nnonce {run.nonce}\nn {facts['n']}\n"
            f"attempt {facts['attempt']}\nhost {run.host}\nbatch {run.told or '-'}\nstarted 2026-01-01T00:00:00Z\n"
            f"ended 2026-01-01T00:00:01Z\ncpu 0.10\nup {run.seconds}\n{end}\nrecovery -\n"
            f"{files}end\n"
        )
        self._after(lag, lambda: self._record(run, record, reported=reported))
        self.leave_batch_job(run)

    def may_run(self, task: Task, index: int) -> bool:
        """Tell whether a batch job was sent for this attempt."""
        return task.index == index

    def leave_batch_job(self, run: Run) -> None:
        """End the batch job of a payload that has ended."""
        self.engine.end(run.task, None if run.signal else int(run.code != 0), run.signal)

    def _about(self, event: str, run: Run, note: str = "") -> None:
        """Write a line about an attempt."""
        self.engine.note(event, run.task.mark, run.index, run.task.job.id, note)

    def _record(self, run: Run, record: str, *, reported: bool) -> None:
        with suppress(FileNotFoundError):  # its grid job is not there any more
            (run.directory / f"exit.{run.index}").write_text(record)
            run.recorded = True
            if reported:
                self._spool(run, "exit", record)

    def _after(self, lag: float, action: Callable[[], None]) -> None:
        if lag:
            self.later.append((self.engine.now() + lag, action))
        else:
            action()

    def die(self, run: Run) -> None:
        """End a wrapper and its payload without a trace; the batch system may not notice."""
        self.runs.remove(run)
        self._about("vanished", run)

    def end_given_up(self, run: Run) -> None:
        """End what the keeper has given up, as the wrapper does: no record, but word that nothing lives."""
        self.die(run)
        (run.directory / f"gone.{run.index}").write_text(f"nonce {run.nonce}\nwhy given up\nend\n")

    def end_what_is_stopped_for_ever(self) -> None:
        """Let people end what is suspended and forgotten, as they are told to before they resume: nothing else can."""
        for run in list(self.runs):
            known = self.engine.tasks.get((run.task.job.id, run.task.index)) is run.task
            if run.task.phase is Phase.SUSPENDED and not known:
                self.die(run)

    def reap(self) -> None:
        """End what the batch system kills: with a record, when the wrapper is warned, or without."""
        for run in [run for run in self.runs if run.task.why in ("cancelled", "limit")]:
            if self.warned and not self.away:
                self.finish(run, signal=15)
            else:
                self.die(run)

    def pass_time(self) -> None:
        """Touch the claims of what lives, and let files be seen that are due."""
        now = self.engine.now()
        if self.away:
            return
        for run in list(self.runs):
            # A stopped wrapper touches nothing.
            if now - run.touched >= TOUCH and run.task.phase is not Phase.SUSPENDED:
                run.touched = now
                if (run.directory / f"over.{run.index}").exists():
                    self.end_given_up(run)
                else:
                    self._touch(run)
        due = [each for each in self.later if each[0] <= now]
        self.later = [each for each in self.later if each[0] > now]
        for _, action in due:
            action()

    def _touch(self, run: Run) -> None:
        with suppress(FileNotFoundError):
            os.utime(run.directory / f"claim.{run.index}", (run.touched, run.touched))

    def of(self, task: Task) -> Run | None:
        """Find what runs for a task."""
        return next((run for run in self.runs if run.task is task), None)

    def abandoned(self) -> list[Task]:
        """Find tasks that are said to run although nothing does."""
        at_work = (Phase.RUNNING, Phase.SUSPENDED)
        return [task for task in self.engine.tasks.values() if task.phase in at_work and not self.of(task)]

    def _spool(self, run: Run, kind: str, text: str) -> None:
        (run.directory / run.facts["spool"] / f"{run.facts['mark']}.{run.index}.{kind}").write_text(text)
