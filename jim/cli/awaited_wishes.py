"""Waits until the keeper has taken wishes, and tells which of them have changed nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from jim import run_grid_job
from jim.cli.text import say
from jim.errors import UnknownJob
from jim.reading.view import look
from jim.site.lock import FRESH_SECONDS
from jim.statusdb.store import Store

NOTHING_CHANGED = 3  # exit code of a wish that changes nothing
LOOK_SECONDS = 0.05
HELP = "wait until the keeper has taken this, and tell what became of it"


def until_taken(state: Path, files: Sequence[Path]) -> None:
    """Wait until the keeper has taken wishes; start one if none is at work, and say so if that is of no use."""
    woken, has_warned = time.monotonic(), False
    while any(file.exists() for file in files):
        time.sleep(LOOK_SECONDS)
        if time.monotonic() - woken > FRESH_SECONDS:
            run_grid_job.wake(state)
            woken = time.monotonic()
            heart = look().heart()
            if not (heart.beats or has_warned):
                say(heart.missing(), stream=sys.stderr)
                has_warned = True


def last_line(store: Store, grid: int) -> int:
    """Return the number of the last line in the journal of a grid job; 0: there is none yet."""
    return max((each.seq for each in store.journals.of(grid, last=1)), default=0)


def what_became(store: Store, grid: int, verb: str, above: int) -> tuple[bool, str]:
    """Tell whether a wish that was taken has changed something, and what the keeper wrote of it, after a line."""
    try:
        store.grid_job(grid)
    except UnknownJob:
        return True, "it is removed"
    lines = [each for each in store.journals.of(grid) if each.seq > above]
    return _read(((each.now, each.reason) for each in lines), verb)


def what_became_of_task(store: Store, name: str, verb: str, above: int) -> tuple[bool, str]:
    """Tell the same of a wish for a task."""
    try:
        task = store.tasks.named(name)
    except UnknownJob:
        return True, "it is forgotten"
    lines = [each for each in store.tasks.journal(task.id) if each.seq > above]
    return _read(((each.what, each.reason) for each in lines), verb)


def _read(lines: Iterable[tuple[str, str]], verb: str) -> tuple[bool, str]:
    vain = f"{verb} changes nothing"
    reasons = {what: reason for what, reason in lines if what in (verb, vain)}
    if vain in reasons:
        return False, f"{vain}: {reasons[vain]}"
    return True, reasons.get(verb) or f"{verb} is done"
