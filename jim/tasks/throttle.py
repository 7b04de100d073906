"""The throttle of a task: how many pieces may be on the way, found out by how attempts end. All of it is pure.

The allowance `a` begins small. It grows while attempts end well, and is halved while most fail. In such a bad
time probes go, one at a time, so that a task finds out by itself when a storage is back; if they fail for hours, it
pauses.
The share of failures is of what was sent since the last decision, or since the first of them was sent if that is longer
ago: what began before a trouble says nothing of it. What still runs, and has run as long as those that failed, counts
as if it had ended well: else failures that come within seconds would weigh more than successes that take hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from jim.attempts.seeds import seed_of

FEWEST, MOST = 5, 50  # attempts that have to end before a decision
GOOD, FAIR = 0.1, 0.5  # shares of failed attempts: up to the first it grows, above the second it shrinks
LONGER = 2  # times as long as the failures: what ran so long was past the danger early
EVER = 1.0  # second since 1970
IN_A_ROW = 20  # failures of probes at an allowance of one, after which a task pauses by itself


class Limits(NamedTuple):
    """What a task may have at most, as its file or a person says."""

    at_once: int  # most pieces on the way, whatever goes well
    queued: int  # most of them that have not started
    first: int = 5  # the allowance at the beginning
    probe_seconds: float = 600.0  # between two probes; and the longest time without a decision


class Throttle(NamedTuple):
    """What is known of how the attempts of a task end. Times are seconds since 1970, lines those of the journal."""

    a: int = 0  # the allowance; 0: as at the beginning
    streak: int = 0  # attempts that ended well since the allowance changed; below 0: probes in a row that failed
    ended: int = 0  # attempts that count, since the last decision; of a piece only its first failure does, and probes
    failed: int = 0  # of these
    longest: float = 0.0  # for how many seconds one of these ran at most
    decided: float = 0.0  # when the last decision fell
    mark: int = 0  # what was sent before this line, and ends well, says nothing beside failures; 0: all says something
    newest: float = 0.0  # when the youngest attempt of those that ended well was sent
    good_since: float = 0.0  # the same, as of the last good decision: what failed later belongs to the bad time
    excess: int = 0  # by how much failures outnumbered the others when it shrank in this bad time; 0: there is none
    was_a: int = 0  # the allowance before the last trouble; 0: there was none, and it grows by ten
    probed: float = 0.0  # when a probe was last let go

    @property
    def probes(self) -> bool:
        """Tell whether most attempts fail since it shrank: one piece goes at a time where the allowance is used up."""
        return bool(self.excess and self.mark)

    @property
    def probes_new(self) -> bool:
        """Tell whether the next probe is a new piece: after a success always, else new ones and old ones alternate."""
        return self.streak >= 0 or self.streak % 2 == 0

    @property
    def may_try_again(self) -> bool:
        """Tell whether the decision that is to come may end a bad time: then what failed in it is tried again."""
        return bool(self.excess and self.ended > self.failed)


class End(NamedTuple):
    """An attempt that has ended."""

    well: bool
    reason: str = ""
    line: int = 0  # of the journal, which says that it was sent
    sent: float = 0.0  # when that was
    seconds: float = 0.0  # that it ran
    first: bool = True  # of the failures of its piece


class Decided(NamedTuple):
    """What follows from the ends of attempts."""

    throttle: Throttle
    told: str = ""  # for the journal
    paused: str = ""  # why the task pauses by itself
    again: float = 0.0  # what has failed since then is to be tried once more: a bad time is over


# How many attempts still run that were sent from a line on, and have run for so many seconds.
Outlasting = Callable[[int, float], int]


def count(
    state: Throttle, limits: Limits, ends: Iterable[End], now: float, line: int, outlasting: Outlasting
) -> Decided:
    """Count attempts that have ended, and decide by the way; `line` is the last line of the journal."""
    done = Decided(state._replace(a=state.a or limits.first, decided=state.decided or now))
    for end in ends:
        state = _counted(done.throttle, end)
        if state.streak <= -IN_A_ROW:
            done = done._replace(paused=f"by itself: {IN_A_ROW} in a row: {end.reason}")
            state = state._replace(streak=0)
        done = done._replace(throttle=state)
        if state.ended >= max(FEWEST, min(state.a, MOST)):
            done = _decide(done, limits, now, line, outlasting)
    if done.throttle.ended and now - done.throttle.decided >= limits.probe_seconds:
        done = _decide(done, limits, now, line, outlasting)
    return done


def _counted(state: Throttle, end: End) -> Throttle:
    """Count one attempt: a failure always; a success not if it was past the danger before the trouble began."""
    before = end.line < state.mark and end.seconds >= LONGER * state.longest
    if end.well and before and (state.failed or state.probes):
        return state if state.probes else state._replace(streak=state.streak + 1)
    if end.well:
        newest = max(state.newest, end.sent)
        return state._replace(ended=state.ended + 1, streak=max(state.streak, 0) + 1, newest=newest)
    is_probe = state.probes and end.line >= state.mark
    if is_probe and state.a == 1:
        state = state._replace(streak=min(state.streak, 0) - 1)
    if not end.first and not is_probe:
        return state
    mark, longest = state.mark if state.probes else min(state.mark, end.line), max(state.longest, end.seconds)
    return state._replace(ended=state.ended + 1, failed=state.failed + 1, mark=mark, longest=longest)


def _decide(done: Decided, limits: Limits, now: float, line: int, outlasting: Outlasting) -> Decided:
    """Change the allowance by the share of failed attempts."""
    old, failed, of = done.throttle, done.throttle.failed, done.throttle.ended
    if failed > GOOD * of:
        of += outlasting(old.mark, old.longest)
    if failed > FAIR * of and of < FEWEST and not old.excess:
        return done._replace(throttle=old._replace(decided=now))  # too few to begin a bad time
    state, again = old._replace(ended=0, failed=0, longest=0.0, decided=now), done.again
    if failed > FAIR * of:
        state = _shrunk(state, 2 * failed - of, now, line)
    elif failed > GOOD * of or (old.excess and failed == old.ended):  # a bad time is over once something ends well
        state = state._replace(was_a=state.was_a or state.a, mark=state.mark if state.excess else line + 1)
    else:
        again = again or (max(state.good_since, EVER) if state.excess else 0.0)
        state = _grown(state._replace(excess=0, mark=line + 1, good_since=state.newest), limits)
    words = [done.told, f"{failed} of {of} attempts failed: {_change(old, state)}" if state.a != old.a else ""]
    words += ["the bad time is over"] if old.excess and not state.excess else []
    return done._replace(throttle=state, told="; ".join(filter(None, words)), again=again)


def _shrunk(state: Throttle, excess: int, now: float, line: int) -> Throttle:
    """Halve the allowance; what was sent before says nothing of now. At one, what failed and what comes are one row."""
    a = max(1, state.a // 2)
    if not state.excess:
        state = state._replace(was_a=state.a)
    if not state.probes:
        state = state._replace(probed=now)
    if a < state.a or not state.probes:
        state = state._replace(mark=line + 1, streak=0)
    return state._replace(a=a, excess=state.excess + excess)


def _grown(state: Throttle, limits: Limits) -> Throttle:
    """Let the allowance grow if so many attempts have ended well at it: by ten, after the first trouble by two."""
    if state.streak < state.a:
        return state
    return state._replace(a=max(1, min(state.a * (2 if state.was_a else 10), limits.at_once)), streak=0)


def _change(before: Throttle, after: Throttle) -> str:
    return f"allowance {before.a:,} → {after.a:,}"


def next_probe(state: Throttle, limits: Limits, nonce: str) -> float:
    """Return when the next piece or attempt may go while most fail, in seconds since 1970, at irregular intervals."""
    return state.probed + limits.probe_seconds * (0.75 + 0.5 * (seed_of(nonce, int(state.probed), 1) % 1000) / 1000)


def spared(state: Throttle) -> tuple[Throttle, str]:
    """Take back a failure that a black hole has eaten; undo a bad time that was none without it. Return also words."""
    if state.failed:
        return state._replace(failed=state.failed - 1, ended=state.ended - 1), ""
    if state.excess != 1:
        return state._replace(excess=max(0, state.excess - 1)), ""
    after = state._replace(a=state.was_a, excess=0, mark=0, streak=0)
    return after, f"{_change(state, after)}: a black hole ate what failed"


def resumed(state: Throttle) -> Throttle:
    """Return the throttle of a task that goes on after a pause: the allowance begins anew, and nothing is held back.

    A bad time ends as ever: once few attempts fail, what failed in it is tried again.
    """
    newest, since, excess, was_a = state.newest, state.good_since, state.excess, state.was_a
    return Throttle(newest=newest, good_since=since, excess=excess, was_a=was_a)
