"""Tells whether a keeper is at work in a state directory, and if not, why, and what starts one."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jim.clock import Clock
from jim.errors import JimError
from jim.files import open_regular
from jim.model import DECIDE, KEEPER_ENDS
from jim.reading.quantities import ago, span
from jim.site.lock import heart_beats, holder

# Advice for a keeper that holds the lock and makes no progress.
STUCK = (
    "its work may take long; keeper.log shows the last step. If someone stopped the process, `kill -CONT "
    "{pid}` continues it; `kill -9 {pid}` ends it, which loses nothing, and `jim keeper --all` starts "
    "another"
)
DECISION = "decide, and run `jim site moved` or `jim site restored`: either starts a keeper"
# A keeper writes its heartbeat every two seconds. Long before doors take it for dead, people read that it is silent.
STOPPED_SECONDS, LATE_SECONDS = 3.0, 6.0
BUSY = "its work may take long: wait a moment"
STARTING_SECONDS = 3.0  # until one that was called has its lock, on a slow machine


class Heart(NamedTuple):
    """Whether a keeper runs, in words."""

    beats: bool
    words: str
    next: str = "a poll, a wish or `jim keeper` starts one"
    refuses: bool = False  # no keeper goes on before a person has decided
    late: bool = False  # it has not updated its heartbeat for some seconds, but may only be busy
    age: float | None = None  # of its heartbeat, in seconds; None: there is none

    @property
    def at_work(self) -> bool:
        """Tell whether its heartbeat is as fresh as that of a keeper which works."""
        return self.beats and not self.late

    def missing(self) -> str:
        """Return in one line that no keeper runs, and what starts one."""
        return f"{self.words}; {self.next}"


def heart(state: Path, clock: Clock) -> Heart:
    """Tell whether a keeper is at work; if not, include the last keeper's final message."""
    found = _found(state, clock)
    if found.beats:
        return found
    pid = holder(state)
    if pid and _is_stopped(pid):
        return _stopped(pid, found)
    if pid:
        words = f"a keeper holds the lock (pid {pid}), but {_silence(state, clock)}"
        return Heart(False, words, STUCK.format(pid=pid), age=found.age)
    words = _last_words(state)
    if words:
        found = found._replace(words=f"{found.words}; its last words: {words}")
    elif _is_called(state, clock):
        return found._replace(words="no keeper is running yet: one has just been called", next="wait a moment")
    return found._replace(next=DECISION, refuses=True) if DECIDE in words else found


def _is_called(state: Path, clock: Clock) -> bool:
    """Tell whether something has just come into the inbox: whoever has put it there starts a keeper."""
    with suppress(OSError):
        place = state / "inbox"
        return 0 <= clock.epoch() - place.stat().st_mtime < STARTING_SECONDS and any(place.iterdir())
    return False


def age(state: Path, clock: Clock) -> float | None:
    """Return the seconds since the last heartbeat; None at rest, or if none is known since the machine started."""
    with suppress(OSError, ValueError):
        boot, beat = (state / "heartbeat").read_text().split()
        if boot == clock.boot_id() and beat != "idle":
            return max(0.0, clock.boot() - int(beat))
    return None


def _last_words(state: Path) -> str:
    """Return the last line of a keeper's log, in either form, if the keeper ended with an error."""
    with suppress(OSError, JimError), os.fdopen(open_regular(state / "keeper.log"), "rb") as file:
        from jim.log_lines import end_of, lines_of  # most keepers are at work

        lines = list(lines_of(end_of(file)))
        last = next((place for place in reversed(range(len(lines))) if lines[place].level == "CRITICAL"), None)
        if last is not None and not any(each.level in ("INFO", "WARNING") for each in lines[last:]):
            return lines[-1].message.strip().removeprefix(KEEPER_ENDS)
    return ""


def _found(state: Path, clock: Clock) -> Heart:
    try:
        boot, beat = (state / "heartbeat").read_text().split()
    except (OSError, ValueError):
        return Heart(False, "no keeper is running, and none has been here before")
    if beat == "idle":
        return Heart(False, "no keeper is running: the last one had no work left")
    if boot != clock.boot_id():
        return Heart(False, "no keeper is running: the machine was restarted")
    age = max(0.0, clock.boot() - int(beat))
    if heart_beats(state, clock):
        return _late(state, age) or Heart(True, f"keeper {_pid(state)}, last heartbeat {ago(age)}", age=age)
    return Heart(False, f"no keeper is running: the last heartbeat was {ago(age)}", age=age)


def _late(state: Path, age: float) -> Heart | None:
    """Tell of a keeper whose last heartbeat is fresh, but not as fresh as it should be."""
    if age <= STOPPED_SECONDS:
        return None
    pid = holder(state)
    if pid and _is_stopped(pid):
        return _stopped(pid, Heart(True, "", late=True, age=age))
    if age <= LATE_SECONDS:
        return None
    if not pid:
        return Heart(False, f"no keeper is running: the last heartbeat was {ago(age)}", age=age)
    return Heart(
        True, f"the keeper (pid {pid}) has not updated its heartbeat for {span(age)}", BUSY, late=True, age=age
    )


def _stopped(pid: int, found: Heart) -> Heart:
    since = "it has written no heartbeat yet" if found.age is None else f"its last heartbeat was {ago(found.age)}"
    words = f"somebody has stopped the keeper (pid {pid}): {since}"
    return found._replace(words=words, next=f"`kill -CONT {pid}` continues it")


def _is_stopped(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2][:1] in ("T", "t")
    return False


def _silence(state: Path, clock: Clock) -> str:
    with suppress(OSError, ValueError):
        boot, beat = (state / "heartbeat").read_text().split()
        if boot == clock.boot_id():
            return f"has not updated its heartbeat for {span(clock.boot() - int(beat))}"
    return "has not written a heartbeat yet"


def _pid(state: Path) -> int:
    try:
        return int((state / "keeper.lock").read_text())
    except (OSError, ValueError):
        return 0
