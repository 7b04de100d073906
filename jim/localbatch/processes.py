"""Finds the processes of a task and signals them; the only module that uses psutil."""

from __future__ import annotations

import ctypes
import os
import re
import signal
from collections.abc import Collection, Iterable
from contextlib import suppress

import psutil

from jim.localbatch.queue import Key

# Every process of a task carries IDENTITY.JOB.INDEX under this name, unless it clears its environment.
VARIABLE = "JIM_LOCALBATCH_TASK"
TASK = re.compile(rb"(\d{1,15})\.(\d{1,15})\0")
PR_SET_CHILD_SUBREAPER = 36
Process = psutil.Process


def become_reaper() -> None:
    """Become the parent of every orphaned process below us, so that none escapes by forking twice."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def birth(pid: int) -> int:
    """Return when a process was started, in clock ticks since boot.

    Read here because psutil's create_time() moves when the wall clock is set, and (pid, birth) is stored.
    """
    return int(_proc(pid, "stat").rpartition(b")")[2].split()[19])


def _proc(pid: int, name: str) -> bytes:
    with os.fdopen(os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC), "rb", buffering=0) as file:
        return file.read()


def the_same(pid: int, born: int) -> Process | None:
    """Return the living process with this pid and birth; None if it is gone."""
    with suppress(OSError, psutil.Error):
        process = Process(pid)
        if birth(pid) == born and alive(process):
            return process
    return None


def alive(process: Process) -> bool:
    """Tell whether a process is the same as before, and no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def marked(identity: str) -> list[tuple[Process, Key]]:
    """Return all living processes with a task's mark of this area that we may read."""
    mark = f"\0{VARIABLE}={identity}.".encode()
    found = []
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            # Read directly, as all processes of the machine are read: psutil's environ() takes five times as long.
            environment = b"\0" + _proc(pid, "environ")
            task = TASK.match(environment, environment.index(mark) + len(mark)) if mark in environment else None
            if task:
                found.append((Process(pid), (int(task[1]), int(task[2]))))
    return found


def resident(roots: Collection[int]) -> dict[int, int]:
    """Return how many bytes each of these processes and its descendants have in memory."""
    above: dict[int, int] = {}
    size: dict[int, int] = {}
    for pid in psutil.pids():
        with suppress(OSError, ValueError, IndexError):
            fields = _proc(pid, "stat").rpartition(b")")[2].split()
            above[pid], size[pid] = int(fields[1]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    total = dict.fromkeys(roots, 0)
    for pid, held in size.items():
        at = pid
        for _ in size:  # no line of descent is longer, whatever became of the numbers meanwhile
            if at in total or at not in above:
                break
            at = above[at]
        if at in total:
            total[at] += held
    return total


def eldest(identity: str, key: Key) -> tuple[Process, int] | None:
    """Return the oldest of a task's living processes, and its birth."""
    found = []
    for process, whose in marked(identity):
        with suppress(OSError):
            if whose == key:
                found.append((birth(process.pid), process))
    if not found:
        return None
    born, process = min(found, key=lambda each: each[0])
    return process, born


def strangers(mains: Collection[int]) -> list[Process]:
    """Return our living children that are neither a main process nor in the session of one."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error, ProcessLookupError):
            if child.pid not in mains and os.getsid(child.pid) not in mains and alive(child):
                found.append(child)
    return found


def family(main: Process) -> list[Process]:
    """Return a process and all its descendants."""
    with suppress(psutil.Error):
        return [main, *main.children(recursive=True)]
    return []


def strike(processes: Iterable[Process], number: signal.Signals) -> None:
    """Signal processes; psutil checks that no pid was reused meanwhile."""
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)
