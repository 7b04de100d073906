"""Which processes belong to a task, and signals to them; the one room that knows psutil."""

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
    """Make every process that loses its parent below us our child, so that none escapes by forking twice."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def birth(pid: int) -> int:
    """Tell when a process was started, in clock ticks since boot.

    Read here because psutil's create_time() moves when the wall clock is set, and (pid, birth) is stored.
    """
    return int(_proc(pid, "stat").rpartition(b")")[2].split()[19])


def _proc(pid: int, name: str) -> bytes:
    with os.fdopen(os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC), "rb", buffering=0) as file:
        return file.read()


def the_same(pid: int, born: int) -> Process | None:
    """Find the living process that had this pid and was born then; None when it is gone."""
    with suppress(OSError, psutil.Error):
        process = Process(pid)
        if birth(pid) == born and alive(process):
            return process
    return None


def alive(process: Process) -> bool:
    """Tell whether it is still the same process, and more than a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def marked(identity: str) -> list[tuple[Process, Key]]:
    """List all living processes that carry a task's mark of this area, as far as we may look."""
    mark = f"\0{VARIABLE}={identity}.".encode()
    found = []
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            # Every process of the machine is looked at: psutil's environ() takes five times as long.
            environment = b"\0" + _proc(pid, "environ")
            task = TASK.match(environment, environment.index(mark) + len(mark)) if mark in environment else None
            if task:
                found.append((Process(pid), (int(task[1]), int(task[2]))))
    return found


def eldest(identity: str, key: Key) -> tuple[Process, int] | None:
    """Find the first-born of a task's living processes, and its birth."""
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
    """List our living children that are neither a main process nor in the session of one."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error, ProcessLookupError):
            if child.pid not in mains and os.getsid(child.pid) not in mains and alive(child):
                found.append(child)
    return found


def family(main: Process) -> list[Process]:
    """List a process and all that descends from it."""
    with suppress(psutil.Error):
        return [main, *main.children(recursive=True)]
    return []


def strike(processes: Iterable[Process], number: signal.Signals) -> None:
    """Signal processes; psutil checks that each still is the one that was looked at."""
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)
