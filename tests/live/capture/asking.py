"""Asking a lab's batch system, as its user, and keeping what it says; and hurting it."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

from jim.adapters.base import Adapter, DeclaredAdapter
from jim.command import run
from jim.model import Answer, Batch, Resources

LABS = Path(os.environ.get("JIM_LABS", "/var/lib/jim-labs"))
USER = os.environ.get("LAB_USER", "griduser")
PAYLOADS = {"ok": "true", "sleep": "sleep 600", "seven": "exit 7", "segv": "kill -SEGV $$", "kill": "kill -KILL $$"}
# Jobs that end by themselves, as Capture.all takes them.
ENDING = (("ok", "ok", {"size": 2}), ("seven", "seven", {}), ("segv", "segv", {}), ("kill", "kill", {}))


def told_by(adapter: type[DeclaredAdapter], source: str, words: Sequence[str]) -> DeclaredAdapter:
    """Make an adapter whose source of this name, with these first words of its command, tells how jobs ended."""
    made = adapter({"history": words})
    made.choose_history(source)
    return made


class Capture:
    """One directory of answers."""

    def __init__(self, adapter: Adapter, place: Path) -> None:
        self.adapter, self.place, self.count = adapter, place, 0
        place.mkdir(parents=True)
        self.scripts = place.parent / f".{place.name}"
        self.scripts.mkdir(exist_ok=True)
        self.scripts.chmod(0o755)

    def ask(self, name: str, command: Sequence[str], *, limit: float = 60) -> Answer:
        """Run a command as the lab's user and keep what it said under a name that begins with the kind of question."""
        answer = run(command, limit=limit, account=USER)
        for ending, text in ((".txt", answer.out), (".stderr.txt", answer.err)):
            if text or (ending == ".txt" and not answer.err):
                (self.place / f"{name}{ending}").write_text(text)
        with (self.place / "NOTE").open("a") as file:
            file.write(f"{name}: exit {answer.code}: {shlex.join(command)}\n")
        return answer

    def batch(self, payload: str = "ok", size: int = 1, options: Sequence[str] = (), **asked: object) -> Batch:
        """Describe a submission of its own mark; the payload is a line of shell."""
        self.count += 1
        script = self.scripts / f"{self.count}.sh"
        script.write_text(f"#!/bin/sh\n{PAYLOADS.get(payload, payload)}\n")
        script.chmod(0o755)
        resources = Resources(**asked)  # type: ignore[arg-type]
        return Batch(f"jim-cafe0001-{self.count}-1", str(script), str(self.place), size, resources, tuple(options))

    def submit(self, name: str, *words: object, limit: float = 60, **more: object) -> str:
        """Submit, keep the answer, and give the batch id where there is one."""
        batch = self.batch(*words, **more)  # type: ignore[arg-type]
        answer = self.ask(f"submit{name}", self.adapter.submit_command(batch), limit=limit)
        return self.adapter.parse_submit(answer) if answer.code == 0 else ""

    def quietly(self, *words: object, **more: object) -> str:
        """Submit without keeping the answer."""
        batch = self.batch(*words, **more)  # type: ignore[arg-type]
        return self.adapter.parse_submit(run(self.adapter.submit_command(batch), limit=60, account=USER))

    def all(self, *submissions: tuple[str, str, dict[str, object]], **usual: object) -> dict[str, str]:
        """Submit quietly, each (name, payload, what is asked for), and give the batch id of each name."""
        return {name: self.quietly(payload, **{**usual, **asked}) for name, payload, asked in submissions}

    def questions(self, when: str, ids: Sequence[str], *, limit: float = 60) -> None:
        """Ask everything once while something is wrong."""
        self.submit(when, limit=limit)
        self.ask(f"list{when}", self.adapter.query_command(), limit=limit)
        self.ask(f"history{when}", self.adapter.history_command(ids), limit=limit)
        self.ask(f"cancel{when}", self.adapter.cancel_command([(ids[0], 1)]), limit=limit)
        self.ask(f"change{when}", self.adapter.change_command("hold", [(ids[0], 1)]) or [], limit=limit)
        self.ask(f"ping{when}", self.adapter.ping_command(), limit=limit)


def frozen(pid_file: Path):
    """Stop a daemon for a while."""
    return stopped([int(pid_file.read_text())])


@contextmanager
def stopped(pids: Sequence[int]):
    """Stop some processes for a while."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def operator(*command: str) -> str:
    """Run a command as root."""
    answer = run(command, limit=60)
    return answer.out + answer.err


def shown(command: Sequence[str], *words: str, gone: Sequence[str] = (), seconds: float = 200) -> None:
    """Wait until a command shows all these words, and none of those; any white space is one blank."""
    end = time.monotonic() + seconds
    while True:
        said = f" {' '.join(operator(*command).split())} "
        if all(word in said for word in words) and not any(word in said for word in gone):
            return
        if time.monotonic() > end:
            raise TimeoutError(f"{shlex.join(command)} does not show {words} without {gone}, but\n{said}")
        time.sleep(0.5)
