"""Taking figures: what one is, runs that alternate, and what processes cost."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

TICKS = os.sysconf("SC_CLK_TCK")
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Figure:
    """One measured figure; without a bound it only explains another one."""

    name: str
    measured: float
    unit: str
    bound: float | None = None
    note: str = ""
    curve: str = ""  # the name of a curve in docs/scale.svg
    points: Sequence[tuple[float, float]] = ()

    @property
    def ok(self) -> bool:
        return self.bound is None or self.measured <= self.bound


def ratio(name: str, bound: float, runs: Sequence[Sequence[float]], what: str) -> Figure:
    """Hold the medians of alternating runs against each other."""
    ours, theirs = (median(each) * 1000 for each in runs)
    return Figure(
        name, ours / theirs, "×", bound, f"{ours:.2f} ms ÷ {theirs:.2f} ms ({what}), {len(runs[0])} runs each"
    )


def alternate(times: int, *actions: Callable[[], float]) -> list[list[float]]:
    """Run A B A B …; each action returns its own time. One run of each goes before, and does not count."""
    for action in actions:
        action()
    rounds = [[action() for action in actions] for _ in range(times)]
    return [list(each) for each in zip(*rounds, strict=True)]


def seconds_of(command: Sequence[str], environment: Mapping[str, str], out: str = os.devnull) -> float:
    """Time a command from before it is started until it has ended well."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
    ]
    began = time.perf_counter()
    pid = os.posix_spawn(command[0], command, environment, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - began
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return took


def cpu_of(command: Sequence[str], environment: Mapping[str, str] = NOTHING) -> float:
    """Measure the processor seconds, user and system, of a command; what it prints is dropped."""
    drop = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(command[0], command, environment, file_actions=drop)
    used: resource.struct_rusage = os.wait4(pid, 0)[2]
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Cpu:
    """Processor seconds of a process, and of its children that have ended."""

    own: float
    children: float

    @classmethod
    def of(cls, pid: int) -> Cpu:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        user, system, children_user, children_system = (int(each) / TICKS for each in fields[11:15])
        return cls(user + system, children_user + children_system)

    def since(self, before: Cpu) -> Cpu:
        return Cpu(self.own - before.own, self.children - before.children)


def most_memory(pid: int) -> float:
    """Read the most memory a process ever had, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1000
