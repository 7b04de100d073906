"""Faults at single system calls of one process, by strace."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

# Calls, and the error that each may meet; those that this machine does not have are left out. A call that strace
# fails is not made: so none is here whose failure leaves things as if it were, such as close.
ERRORS = {
    "openat": "EIO",
    "read": "EIO",
    "write": "ENOSPC",
    "pwrite64": "EIO",
    "newfstatat": "EIO",
    "faccessat2": "EIO",
    "access": "EIO",
    "chdir": "EIO",
    "dup2": "EMFILE",
    "clone": "EAGAIN",
    "fork": "EAGAIN",
    "vfork": "EAGAIN",
    "link": "EIO",
    "linkat": "EIO",
    "rename": "EIO",
    "renameat": "EIO",
    "unlink": "EIO",
    "mkdir": "EIO",
    "fsync": "EIO",
    "fdatasync": "EIO",
    "fcntl": "EIO",
    "flock": "EIO",
    "getdents64": "EIO",
}
NO_STRACE = "strace is not here, or may not trace: install it, and run where ptrace is allowed"
CALL = re.compile(r"^(\w+)\(", re.ASCII)


@cache
def can_trace() -> bool:
    """Tell whether faults can be injected here."""
    strace = shutil.which("strace")
    return bool(strace) and subprocess.run([strace, "-qq", "-o", "/dev/null", "true"], check=False).returncode == 0


def traced(log: Path) -> list[str]:
    """Give what traces the calls of one process into a file."""
    return [
        "strace",
        "-qq",
        "-y",
        "-s",
        "200",
        "-o",
        str(log),
        "-e",
        f"trace={','.join(f'?{each}' for each in ERRORS)}",
    ]


def calls(log: Path, words: Sequence[str] = ("",)) -> list[tuple[str, int]]:
    """Give the calls of a trace that name one of the words, each as the n-th of its kind."""
    counts: Counter[str] = Counter()
    found = []
    for line in log.read_text(errors="replace").splitlines():
        if call := CALL.match(line):
            counts[call[1]] += 1
            if any(word in line for word in words):
                found.append((call[1], counts[call[1]]))
    return found


def faults(found: Sequence[tuple[str, int]]) -> Iterator[tuple[str, list[str]]]:
    """Give each fault at these calls, with its name: an error, and a kill before the call."""
    for name, number in found:
        for what in (f"error={ERRORS[name]}", "signal=KILL"):
            yield (
                f"{name} {number}: {what}",
                ["strace", "-qq", "-o", "/dev/null", "-e", f"inject={name}:{what}:when={number}"],
            )
