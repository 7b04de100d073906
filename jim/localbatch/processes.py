"""Finds the processes of a task and signals them; the only module that uses psutil."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from jim.localbatch.queue import Key

# Every process of a task carries IDENTITY.JOB.INDEX under this name, unless it clears its environment.
VARIABLE = "JIM_LOCALBATCH_TASK"
TASK = re.compile(rb"(\d{1,15})\.(\d{1,15})\0")
PR_SET_CHILD_SUBREAPER = 36
Process = psutil.Process
Owned = tuple[Process, Key]


class Signs(NamedTuple):
    """How a task's processes can be known that have no mark."""

    places: re.Pattern[str]  # of the paths where the task works
    sessions: frozenset[int]
    seen: frozenset[tuple[int, int]]  # pid and birth of what was once seen below it


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


def marked(identity: str) -> list[Owned]:
    """Return all living processes with a task's mark of this area that we may read."""
    found = []
    for pid in psutil.pids():
        with suppress(psutil.Error):
            if task := mark_of(identity, pid):
                found.append((Process(pid), task))
    return found


def mark_of(identity: str, pid: int) -> Key | None:
    """Return the task that a process is marked with, if it is one of this area."""
    mark = f"\0{VARIABLE}={identity}.".encode()
    try:
        # Read directly, as all processes of the machine are read: psutil's environ() takes five times as long.
        environment = b"\0" + _proc(pid, "environ")
    except OSError:
        return None
    task = TASK.match(environment, environment.index(mark) + len(mark)) if mark in environment else None
    return (int(task[1]), int(task[2])) if task else None


def sessions(owned: Iterable[Owned]) -> dict[Key, frozenset[int]]:
    """Return the sessions of each task's processes."""
    found: dict[Key, frozenset[int]] = {}
    for process, key in owned:
        with suppress(OSError):
            found[key] = found.get(key, frozenset()) | {os.getsid(process.pid)}
    return found


def owner(pid: int, signs: Mapping[Key, Signs]) -> Key | None:
    """Return the task to which a process without a mark belongs: by its session, what it has to do where, or itself."""
    try:
        session, itself, paths = os.getsid(pid), (pid, birth(pid)), list(_paths(pid))
    except OSError:
        return None
    for key, (places, sessions, seen) in signs.items():
        if session in sessions or itself in seen or any(places.match(path) for path in paths):
            return key
    return None


def _paths(pid: int) -> Iterator[str]:
    """Give where a process works, what it runs, and what it has open for writing: a reader may be a person's `tail`."""
    about = Path(f"/proc/{pid}")
    with suppress(OSError):
        yield str((about / "cwd").readlink())
    with suppress(OSError):
        yield str((about / "exe").readlink())
    with suppress(OSError):
        for each in (about / "fd").iterdir():
            with suppress(OSError):
                if each.lstat().st_mode & stat.S_IWUSR:
                    yield str(each.readlink())


def belonging(identity: str, signs: Mapping[Key, Signs]) -> list[Owned]:
    """Return all living processes of these tasks: by mark and signs, and all that descends from these."""
    whose: dict[int, Key | None] = dict.fromkeys([os.getpid()])  # what we have started is known without this
    whose |= {process.pid: key for process, key in marked(identity)}
    above: dict[int, int] = {}
    for pid in psutil.pids():
        with suppress(OSError, ValueError, IndexError):
            above[pid] = int(_proc(pid, "stat").rpartition(b")")[2].split()[1])
            if pid not in whose and (key := owner(pid, signs)):
                whose[pid] = key
    found = []
    for pid in above:
        key = whose.get(nearest(pid, above, whose))
        with suppress(psutil.Error):
            if key and key in signs and alive(process := Process(pid)):
                found.append((process, key))
    return found


def nearest(pid: int, above: Mapping[int, int], known: Collection[int]) -> int:
    """Return the process, or its nearest ancestor, that is one of the known; 0 if there is none."""
    for _ in above:  # no line of descent is longer, whatever became of the numbers meanwhile
        if pid in known:
            return pid
        if pid not in above:
            return 0
        pid = above[pid]
    return 0


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
        if root := nearest(pid, above, total):
            total[root] += held
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


def settle() -> int:
    """Reset signals inherited by chance; return a descriptor that becomes readable when a child ends."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a shell cannot trap a signal that was ignored at its start
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.chdir("/")
    os.umask(0o022)
    become_reaper()
    readable, writable = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return readable
