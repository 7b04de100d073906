"""What is beside the script of a task of JIM: by this, a process is found that has cleared its environment.

Its parents may have ended, too.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from jim.errors import JimError
from jim.files import open_regular

NONCE = re.compile(rb"nonce ([0-9a-f-]{32,36})\n")
KNOWN = re.compile(rb"boot ([0-9a-f-]{36})\n((?:\d{1,15} \d{1,20}\n)*)end\n")
CARRIER = re.compile(rb"^carrier ([0-9]{1,9})$", re.MULTILINE)
MOST_KNOWN, MOST_OF_CLAIM = 1 << 20, 4096  # bytes


def places(script: str, index: int) -> re.Pattern[str]:
    """Return a pattern of the paths in `run.I` beside the task's script, and in its scratch directory.

    For a script that is not JIM's, no process is at such a path. Paths are as /proc shows them.
    """
    beside, own = _beside(script), list[str]()
    for each in _indices(beside, index):
        own.append(re.escape(str(beside / f"run.{each}")))
        if nonce := _nonce(beside, each):
            own.append(f".*/jim-{nonce}")
    return re.compile(f"(?:{'|'.join(own) or '(?!)'})(?:[/ ]|$)", re.DOTALL)


def seen_below(script: str, index: int, boot: str) -> frozenset[tuple[int, int]]:
    """Return pid and birth of what the toucher of a task has seen below the payload's parent since this boot."""
    beside, found = _beside(script), set[tuple[int, int]]()
    for each in _indices(beside, index):
        nonce = _nonce(beside, each)
        match = KNOWN.fullmatch(_read(beside / f"known.{each}.{nonce}", MOST_KNOWN)) if nonce else None
        if match and match[1].decode() == boot:
            found |= {(int(pid), int(birth)) for pid, birth in map(bytes.split, match[2].splitlines())}
    return frozenset(found)


def _indices(beside: Path, index: int) -> list[int]:
    """Return the attempts that a batch job may be running: a carrier has begun several, of which most have ended.

    Beside those are some that another carrier was quicker to claim.
    """
    begun = re.findall(rb"^[0-9]{1,9}$", _read(beside / f"carried.{index}", MOST_KNOWN), re.MULTILINE)
    going = [each for each in map(int, begun) if not (beside / f"exit.{each}").exists()] or [index]
    return [each for each in going if _carrier(beside, each) in (0, index)]


def _carrier(beside: Path, index: int) -> int:
    """Return the carrier that has claimed an attempt; 0 if none has, or a payload has spoilt the claim."""
    match = CARRIER.search(_read(beside / f"claim.{index}", MOST_OF_CLAIM))
    return int(match[1]) if match else 0


def _beside(script: str) -> Path:
    return Path(os.path.realpath(Path(script).parent))


def _nonce(beside: Path, index: int) -> str:
    """Return the nonce in a claim, which names the scratch directory; empty if a payload has spoilt the claim."""
    match = NONCE.match(_read(beside / f"claim.{index}", 64))
    return match[1].decode() if match else ""


def _read(path: Path, most: int) -> bytes:
    """Return the beginning of a file; nothing if it cannot be read, or a payload has put something else there."""
    with suppress(OSError, JimError), os.fdopen(open_regular(path), "rb", buffering=0) as file:
        return file.read(most) or b""
    return b""
