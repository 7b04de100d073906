"""Where a task of JIM works: by this, a process is found that has cleared its environment and lost its parents."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

NONCE = re.compile(rb"nonce ([0-9a-f-]{32,36})\n")


def places(script: str, index: int) -> re.Pattern[str]:
    """Return a pattern of the paths in `run.I` beside the task's script, and in its scratch directory.

    For a script that is not JIM's, no process is at such a path. Paths are as /proc shows them.
    """
    beside = Path(os.path.realpath(Path(script).parent))
    own = [re.escape(str(beside / f"run.{index}"))]
    if nonce := _nonce(beside / f"claim.{index}"):
        own.append(f".*/jim-{nonce}")
    return re.compile(f"(?:{'|'.join(own)})(?:[/ ]|$)", re.DOTALL)


def _nonce(claim: Path) -> str:
    """Return the nonce in a claim, which names the scratch directory; empty if a payload has spoilt the claim."""
    with suppress(OSError):
        descriptor = os.open(claim, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            match = NONCE.match(file.read(64) or b"")
            return match[1].decode() if match else ""
    return ""
