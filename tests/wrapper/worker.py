"""A worker node to try the wrapper on: its work directory, its shells, what its commands do."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile
from pathlib import Path

import psutil

from jim.workdir.submission import PROGRAMS

SHELL = Path(__file__).parents[2] / "shell"
MARK = "jim-3f9a-12-1"
HOST = Path("/proc/sys/kernel/hostname").read_text().strip()
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
HELLO = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"  # "hello\n"
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # "abc", FIPS 180
BUSY = ": >up; while :; do sleep 0.1; done"
LEAVES_ALL = """
import ctypes, os, time
os.setsid()
os.chdir("/")
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
up = os.open({up!r}, os.O_WRONLY | os.O_CREAT)
os.write(up, b"%d" % os.getpid())
os.closerange(0, 99)
time.sleep(99)
"""
TIME = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def shells() -> dict[str, list[str]]:
    """Those that are different; bash as RHEL's /bin/sh, which is posix mode."""
    found = {"sh": ["/bin/sh"]}
    dash, busybox, bash = (shutil.which(name) for name in ("dash", "busybox", "bash"))
    if dash and not Path("/bin/sh").samefile(dash):
        found["dash"] = [dash]
    if busybox:
        found["busybox"] = [busybox, "sh"]
    if bash:
        found["bash"] = [bash, "--posix"]
    return found


SHELLS = shells()


def _is_fact(line: str) -> bool:
    """Tell whether a line of an exit record is no output."""
    return not line.startswith(("file ", "refused ", "missing "))


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    """Wait for an event that has no handle to wait on: what does not come at once is looked for less often."""
    deadline, tick, pause = time.monotonic() + seconds, threading.Event(), 0.003
    while not condition():
        assert time.monotonic() < deadline, "this never came true"
        tick.wait(pause)
        pause = min(0.05, 1.1 * pause)


def wait_for_touches(claim: Path, count: int) -> None:
    """Wait until a claim was touched so often."""
    for _ in range(count):
        last = claim.stat().st_mtime_ns
        until(lambda last=last: claim.stat().st_mtime_ns > last)


def processes_of(session: int) -> list[str]:
    """Give the command lines of the living processes of a session."""
    return list(living(session).values())


def living(session: int) -> dict[int, str]:
    """Give the living processes of a session, each with its command line; a zombie has ended, whoever has noticed."""
    found = {}
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == session and not is_zombie(pid):
                words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
                found[pid] = words.replace("\0", " ").strip()
    return found


def is_zombie(pid: int) -> bool:
    """Tell whether a process has ended, and its parent has not heard of it."""
    return ") Z " in Path(f"/proc/{pid}/stat").read_text(errors="replace")


@dataclass
class Site:
    """A work directory, a worker node to run on, and what its commands do."""

    root: Path
    shell: list[str]
    path: str
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    before: frozenset[int] = field(default_factory=lambda: frozenset(psutil.pids()))  # nothing of which is its own

    def __post_init__(self) -> None:
        self.spool.mkdir(parents=True)
        self.here.mkdir(parents=True)
        for name in PROGRAMS:
            shutil.copy(SHELL / name, self.here.parent)

    @property
    def spool(self) -> Path:
        return self.root / "work" / "spool"

    @property
    def here(self) -> Path:
        return self.root / "work" / "12" / "s1"

    def jobs(self, *argv: str | bytes, index: int = 1, facts: tuple[str, ...] = ()) -> None:
        """Write what the keeper would: common facts, then one local job."""
        common = [f"mark {MARK}", "touch 60", "spool ../../spool", "limit 10000000000", *facts]
        own = [f"n {index - 1}", "attempt 2", "seed 417330291"]
        lines = [f"* {fact}".encode() for fact in common] + [f"{index} {fact}".encode() for fact in own]
        lines += [f"{index} arg ".encode() + (arg if isinstance(arg, bytes) else arg.encode()) for arg in argv]
        lines += [f"{index} end".encode()]
        assert not any(b"\n" in line for line in lines)
        with (self.here / "jobs").open("ab") as jobs:
            jobs.write(b"".join(line + b"\n" for line in lines))

    def fake(self, command: str, script: str) -> None:
        """Put a command before the real one, which the script may call as $real."""
        real = shutil.which(command, path=self.path)
        target = self.root / "bin" / command
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"#!/bin/sh\nreal='{real}'\n{script}\n")
        target.chmod(0o755)

    def start(self, index: int | str = 1, where: Path | None = None, **env: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*self.shell, str(self.here.parent / "local-job"), str(where or self.here), str(index)],
            env={"PATH": f"{self.root / 'bin'}:{self.path}", "HOME": "/", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, index: int | str = 1, where: Path | None = None, **env: str) -> int:
        return self.start(index, where, **env).wait(30)

    def file(self, name: str) -> str:
        return (self.here / name).read_text(errors="surrogateescape")

    def record(self, index: int = 1) -> dict[str, str]:
        lines = self.file(f"exit.{index}").splitlines()
        assert lines[0] == "jim-exit 1"
        assert lines[-1] == "end"
        return dict(line.split(" ", 1) for line in takewhile(_is_fact, lines[1:-1]))

    def manifest(self, index: int = 1) -> list[str]:
        """Give the manifest without the two empty files that every local job has."""
        lines = list(dropwhile(_is_fact, self.file(f"exit.{index}").split("\n")[1:-2]))
        return [line for line in lines if line not in (f"file 0 {NOTHING} stdout", f"file 0 {NOTHING} stderr")]

    def no_naps(self) -> None:
        """Make the wrapper's pauses short, but not those of who touches the claim."""
        leader = "read -r _ _ _ _ _ leader _ </proc/self/stat"
        self.fake("sleep", f'{leader}; [ $PPID = $leader ] || exec $real "$@"; echo "$1" >>"{self.root}/naps"')

    def naps(self) -> list[str]:
        return (self.root / "naps").read_text().split()

    def kill(self, process: subprocess.Popen[bytes], command: str) -> None:
        """Kill what runs a command in the session of a wrapper."""
        for pid, words in living(process.pid).items():
            if words == command:
                os.kill(pid, signal.SIGKILL)

    def newcomers(self) -> list[int]:
        """Give the processes among which its own are: to look at all, again and again, takes more than what they do."""
        return [pid for pid in psutil.pids() if pid not in self.before]

    def end(self) -> None:
        for process in self.started:
            if processes_of(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def sh(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def python(script: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", script)


def pack(site: Site) -> Path:
    """Put a package where a grid job finds it, and give that place."""
    place = site.root / "work" / "packages" / "abc"
    place.mkdir(parents=True)
    source = site.root / "data.txt"
    source.write_text("hello\n")
    with tarfile.open(place / "package.tar", "w") as tar:
        tar.add(source, "sub/data.txt")
    (site.here.parent / "package").symlink_to("../packages/abc")
    return place


def left(site: Site) -> set[int]:
    """Find the payload's processes: by what it works in, holds open, or was given."""
    found = set()
    for pid in site.newcomers():
        process = Path(f"/proc/{pid}")
        with contextlib.suppress(OSError):
            given = f"JIM_RECOVERY={site.here}".encode() in (process / "environ").read_bytes()
            belongs = given or str((process / "cwd").readlink()).startswith(str(site.here / "run.1"))
            if belongs and not is_zombie(pid):
                found.add(pid)
    return found


def ours(site: Site) -> dict[int, str]:
    """Find the wrapper's own processes, the toucher among them."""
    found = {}
    for pid in site.newcomers():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
            if str(site.here) in words and not is_zombie(pid):
                found[pid] = words
    return found


def toucher_of(site: Site) -> int:
    """Wait for a toucher in a session of its own."""

    def it() -> list[int]:
        found = []
        for pid in ours(site):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(pid) == pid and pid not in [each.pid for each in site.started]:
                    found.append(pid)
        return found

    until(it)
    found = it()
    return found[0] if found else toucher_of(site)


def start(site: Site, *argv: str, touch: int = 1) -> subprocess.Popen[bytes]:
    site.jobs(*argv, facts=(f"touch {touch}",))
    process = site.start()
    until((site.here / "run.1" / "up").exists)
    return process


def gone(site: Site) -> dict[str, str]:
    lines = site.file("gone.1").splitlines()
    assert lines[-1] == "end"
    return dict(line.split(" ", 1) for line in lines[:-1])


def give_up(site: Site, nonce: str = "") -> None:
    """Do what the keeper does."""
    nonce = nonce or site.file("claim.1").splitlines()[0].removeprefix("nonce ")
    own = site.here / ".over"
    own.write_text(f"nonce {nonce}\nwhy silent\nend\n")
    while True:
        with contextlib.suppress(FileExistsError):
            (site.here / "over.1").hardlink_to(own)
            return
        time.sleep(0.01)


def is_dead(pid: int) -> bool:
    """Tell whether a process is gone, or has ended and its parent has not heard of it."""
    with contextlib.suppress(OSError):
        return is_zombie(pid)
    return True
