"""The throttle of a task: how many pieces may be on the way, found out by how attempts end. All of it is pure.

The allowance `a` begins small. It grows while attempts end well, and shrinks while most of them fail; then a few pieces
go on probing, so that a task finds out by itself when a storage is back. If all goes wrong for hours, the task pauses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jim.attempts.seeds import seed_of

FEWEST, MOST = 5, 50  # attempts that have to end before a decision
GOOD, FAIR = 0.1, 0.5  # shares of failed attempts: up to the first it grows, above the second it shrinks
IN_A_ROW = 20  # failures of probes, after which a task pauses by itself
NAMES = ("at_once", "queued", "first")
STEP = re.compile(r"(\d+) of (\d+) attempts failed: allowance ([\d,]+) → ([\d,]+)", re.ASCII)


class Throttle(NamedTuple):
    """The limits of a task, and what is known of how its attempts end."""

    at_once: int  # most pieces on the way, whatever goes well
    queued: int
    first: int = 5  # the allowance at the beginning
    probe_seconds: float = 600.0
    a: int = 0  # the allowance; 0: as at the beginning
    fast: int = 1  # 1: it grows by ten, until the first decision that is not good
    good: int = 0  # attempts that have ended well since the allowance changed
    ended: int = 0  # attempts that count, since the last decision
    failed: int = 0  # of these
    decided: float = 0.0  # when the last decision fell, in seconds since 1970
    bad: float = 0.0  # since when most attempts fail; 0: they do not
    shrunk: int = 0  # the first wave released since the allowance shrank: older ones say nothing of now
    alone: int = 0  # the first wave released at an allowance of one; 0: it is larger
    alone_line: int = 0  # the last line of the journal then: an attempt that was sent later is a probe, too
    row: int = 0  # failures in a row of such waves
    again: float = 0.0  # pieces that have failed since then are to be tried again once; 0: none
    suspend: int = 0  # 1: a pause suspends what is on the way
    retry: int = 0  # 1: some failed pieces are to be tried again, as a person wants, or because a black hole ate them
    was_a: int = 0  # the allowance before it shrank in this bad time; 0: it did not
    was_fast: int = 0
    bad_failed: int = 0  # attempts that made it shrink
    bad_ended: int = 0
    trying: int = 0  # the number of a test of the running task that is not judged yet
    alone_first: int = 0  # so many pieces go alone, until they have passed as a test does
    good_from: float = 0.0  # when the last good decision began: the first failures may have counted in it
    doubt: float = 0.0  # since when decisions are not good, with the good one before them; 0: the last one was good
    probed: float = 0.0  # when a piece or an attempt was last let go in a bad time, in seconds since 1970
    trial: str = ""  # G.k, with the k submissions that grid job G had when an attempt of it was let go
    failing: float = 0.0  # when the decision began in which the first of the last failures counted; 0: none is open
    failing_wave: int = 0  # of that failure: it is open until an attempt of a later wave has ended well
    shrunk_line: int = 0  # the last line of the journal when it shrank: an attempt that was sent later says something

    @property
    def allowance(self) -> int:
        """Return how many pieces may be on the way."""
        return min(self.a or self.first, self.at_once)

    @property
    def probes(self) -> bool:
        """Tell whether pieces go one at a time where the allowance is used up: most attempts fail since it shrank."""
        return bool(self.bad and self.shrunk)

    @property
    def may_try_again(self) -> bool:
        """Tell whether the decision that is to come may end a bad time: then what failed in it is tried again."""
        return bool(self.bad and self.ended > self.failed)


class End(NamedTuple):
    """An attempt that has ended."""

    wave: int
    well: bool
    reason: str = ""
    line: int = 0  # of the journal, which says that it was sent; 0: that does not matter


class Step(NamedTuple):
    """One change of an allowance, as the journal of a task tells it."""

    failed: int
    ended: int  # attempts, since the decision before
    before: int
    after: int


class Decided(NamedTuple):
    """What follows from the ends of attempts."""

    throttle: Throttle
    told: str = ""  # for the journal
    paused: str = ""  # why the task pauses by itself


def read(stored: Mapping[str, Any]) -> Throttle:
    """Read a throttle from plain values."""
    return Throttle(**{name: value for name, value in stored.items() if name in Throttle._fields})


def count(state: Throttle, ends: Iterable[End], next_wave: int, now: float, line: int = 0) -> Decided:
    """Count attempts that have ended; return the new state, and what was decided by the way.

    `line` is the last line of the journal.
    """
    lines, paused = list[str](), ""
    state = state._replace(a=state.a or state.first, decided=state.decided or now)
    for end in ends:
        state = _counted(state, end)
        if state.row >= IN_A_ROW and not paused:
            paused = f"by itself: {IN_A_ROW} in a row: {end.reason}"
            state = state._replace(row=0)
        if state.ended >= max(FEWEST, min(state.a, MOST)):
            state, words = _decide(state, next_wave, now, line)
            lines += [words] if words else []
    if state.ended and now - state.decided >= state.probe_seconds:
        state, words = _decide(state, next_wave, now, line)
        lines += [words] if words else []
    return Decided(state, "; ".join(lines), paused)


def _counted(state: Throttle, end: End) -> Throttle:
    """Count one attempt. A success of one that was sent before the trouble says nothing of now."""
    if end.well and end.wave < state.shrunk and end.line <= state.shrunk_line:
        return state
    state = _suspected(state, end)
    row = state.row
    if state.alone and (end.wave >= state.alone or end.line > state.alone_line):
        row = 0 if end.well else state.row + 1
    good, failed = state.good + end.well, state.failed + (not end.well)
    return state._replace(ended=state.ended + 1, good=good, failed=failed, row=row)


def _suspected(state: Throttle, end: End) -> Throttle:
    """Remember the first failure; it was no part of a trouble if what was released after it has ended well."""
    if not end.well and not state.failing:
        return state._replace(failing=state.decided, failing_wave=end.wave)
    if end.well and end.wave > state.failing_wave:
        return state._replace(failing=0.0, failing_wave=0)
    return state


def _decide(state: Throttle, next_wave: int, now: float, line: int) -> tuple[Throttle, str]:
    """Change the allowance by the share of failed attempts; return also words."""
    share, before = state.failed / state.ended, state
    state = state._replace(ended=0, failed=0, decided=now)
    doubt = state.doubt or state.good_from or before.decided
    if share > FAIR:
        since = min(doubt, state.failing or doubt)
        state = _shrunk(state, before, next_wave, line)._replace(bad=before.bad or since, doubt=since)
        return state._replace(probed=before.probed if before.bad else now), _told(before, state.a)
    if share > GOOD:
        return state._replace(fast=0, doubt=doubt), ""
    state = state._replace(
        bad=0.0, doubt=0.0, good_from=before.decided, again=state.again or state.bad, was_a=0, bad_failed=0, bad_ended=0
    )
    if state.good >= state.a:
        a = min(state.a * (10 if state.fast else 2), max(state.at_once, 1))
        state = state._replace(a=max(a, 1), good=0, alone=0 if a > 1 else state.alone, row=0)
    change = _told(before, state.a) if state.a != before.a else ""
    ended = "the bad time is over" if before.bad else ""
    return state, "; ".join(filter(None, (change, ended)))


def _shrunk(state: Throttle, before: Throttle, next_wave: int, line: int) -> Throttle:
    """Halve the allowance, and remember since when."""
    a = max(1, state.a // 2)
    alone, alone_line = (state.alone or next_wave, state.alone_line or line) if a == 1 else (0, 0)
    if not state.was_a:
        state = state._replace(was_a=state.a, was_fast=state.fast)
    failed, ended = state.bad_failed + before.failed, state.bad_ended + before.ended
    state = state._replace(a=a, good=0, fast=0, bad_failed=failed, bad_ended=ended)
    return state._replace(shrunk=next_wave, shrunk_line=line, alone=alone, alone_line=alone_line)


def next_probe(state: Throttle, nonce: str) -> float:
    """Return when the next piece or attempt may go while most fail, in seconds since 1970, at irregular intervals."""
    return state.probed + state.probe_seconds * (0.75 + 0.5 * (seed_of(nonce, int(state.probed), 1) % 1000) / 1000)


def spared(state: Throttle, count: int = 1) -> tuple[Throttle, str]:
    """Take back failures that a black hole has eaten; undo a bad time that was none without them. Return also words."""
    since = min(count, state.failed)
    state = state._replace(failed=state.failed - since, ended=state.ended - since)
    left = min(count - since, state.bad_failed)
    if not left:
        return state, ""
    failed, ended = state.bad_failed - left, state.bad_ended - left
    if ended and failed > FAIR * ended:
        return state._replace(bad_failed=failed, bad_ended=ended), ""
    words = f"{failed} of {ended} attempts failed: allowance {state.a:,} → {state.was_a:,}; a black hole ate others"
    state = state._replace(a=state.was_a, fast=state.was_fast, bad=0.0, shrunk=0, shrunk_line=0, alone=0, row=0)
    return state._replace(was_a=0, bad_failed=0, bad_ended=0), words


def resumed(state: Throttle) -> Throttle:
    """Return the throttle of a task that goes on after a pause: the allowance begins anew.

    A bad time ends as ever: once few attempts fail, what failed in it is tried again.
    """
    limits = state.at_once, state.queued, state.first, state.probe_seconds
    anew = Throttle(*limits, suspend=state.suspend, retry=state.retry, trying=state.trying)
    return anew._replace(bad=state.bad, doubt=state.bad and state.doubt, again=state.again)


def in_words(state: Throttle) -> str:
    """Return how the allowance is, for people."""
    how = "failing" if state.probes else "growing" if state.allowance < state.at_once else "steady"
    return f"{size_in_words(state)}, {how}"


def size_in_words(state: Throttle) -> str:
    """Return the allowance, and what it may become."""
    return f"{state.allowance:,} of {state.at_once:,}"


def _told(state: Throttle, after: int) -> str:
    """Return a change of the allowance for the journal, from which `steps_in` reads it."""
    return f"{state.failed} of {state.ended} attempts failed: allowance {state.a:,} → {after:,}"


def steps_in(line: str) -> list[Step]:
    """Read the changes of the allowance in a line of a task's journal."""
    return [Step(*(int(each.replace(",", "")) for each in found)) for found in STEP.findall(line)]
