"""What people wish, and what must have become of it: an effect, or a line that says that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jim.doors import inbox
from jim.errors import UnknownJob
from jim.evidence.transitions import FAMILY_VERBS as WITH_WORDS
from jim.jobs import GridJob, Journal
from jim.model import FINAL, State, Step, Witness
from jim.statusdb.grid.restored_submissions import AFTER_THE_BACKUP
from tests.fake_batch.gateway import WALL
from tests.fake_batch.oracle import OPENED_BY, Oracle

WHOLE = ("suspend", "resume", "edit", "priority")  # are for whole grid jobs
Lines = Sequence[Journal]
VERBS = ("cancel", "retry", "force", "resplit", *WHOLE)
OPENING = ("retry", "force", "resplit")  # after which what was stopped may be sent again
STATES = ("completed", "failed")


class Wish(NamedTuple):
    """A wish that its door has taken in."""

    by: str
    verb: str
    grid: int
    slices: Sequence[tuple[int, int]]
    more: dict[str, Any]

    def names(self, n: int | None) -> bool:
        """Tell whether it is for a local job, by its number."""
        return not self.slices or (n is not None and any(first <= n <= last for first, last in self.slices))


def more_of(verb: str, knob: int) -> dict[str, Any]:
    """Give the options of a wish."""
    if verb == "retry":
        reason = ("", "exit 1", "lost")[knob // 5 % 3]
        return {"failed": bool(knob % 2), "reason": reason, "most": (None, 1, 2)[knob // 2 % 3]}
    if verb == "force":
        return {"to": STATES[knob % 2], "reason": f"seen {knob}"}
    if verb == "edit":
        return {"changes": ({"wall_seconds": WALL + knob % 7 * 60}, {"queue": f"q{knob % 3}"})[knob % 2]}
    return {"resplit": {"parameters": {"lumis_per_job": 1 + knob % 2}}, "priority": {"priority": knob % 9}}.get(
        verb, {}
    )


class Wishes:
    """All that was wished of one state directory by the doors that said yes."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.gateway = oracle, oracle.gateway
        self.left: list[Wish] = []
        self.forgotten: set[str] = set()  # by whom: what has become of these, a restore has forgotten
        self.count = 0

    def leave(self, verb: str, target: str, more: dict[str, Any]) -> None:
        """Leave a wish; one that is refused at the door is nobody's concern."""
        self.count += 1
        wish = Wish(f"person{self.count}", verb, *inbox.slices_of(target), more)
        try:
            inbox.wish(self.gateway.site.state, verb, target, by=wish.by, **more)
        except UnknownJob:
            return
        self.left.append(wish)
        if verb == "cancel":
            numbers = [n for first, last in wish.slices for n in range(first, last + 1)]
            self.oracle.wished |= {(wish.grid, n) for n in numbers or [None]}

    def about(self, *grids: int) -> None:
        """Check what has become of the wishes for some grid jobs at which nothing is left to do."""
        for grid in grids:
            job, lines = self.gateway.store.grid_job(grid), self.oracle.lines(grid)
            mine = [each for each in self.left if each.grid == grid]
            told = [line.reason.partition(",")[0] for line in lines if is_of_a_person(line)]
            assert len(told) == len(set(told)), f"fulfilled twice: {told} {self.oracle.story(grid)}"
            unasked = set(told) - {each.by for each in mine} - self.forgotten
            assert not unasked, f"nobody wished this: {unasked} {self.oracle.story(grid)}"
            for wish in mine:
                self._one(wish, job, lines)

    def _one(self, wish: Wish, job: GridJob, lines: Sequence[Journal]) -> None:
        at = next((at for at, line in enumerate(lines) if is_of_a_person(line, wish.by)), None)
        if at is None:
            assert wish.by in self.forgotten, f"acknowledged, and never seen: {wish} {self.oracle.story(wish.grid)}"
            return
        assert lines[at].now == f"{wish.verb} requested"
        before, after = lines[:at], lines[at + 1 :]
        said = next((line for line in after if not line.was), None)
        if said and said.now == f"{wish.verb} changes nothing":
            return
        if wish.verb in WITH_WORDS:
            told = said.now if said else ""
            assert told == wish.verb, f"neither an effect nor a line: {wish} {self.oracle.story(wish.grid)}"
        check = getattr(self, f"_{wish.verb}", None)
        assert check is None or check(wish, job, after, before), f"no effect: {wish} {self.oracle.story(wish.grid)}"

    # What each wish that was taken in must have done, by the lines after it

    def _retry(self, wish: Wish, job: GridJob, after: Lines, before: Lines) -> bool:
        """At most as many wait as were wished, and nothing that was not named, or has ended in another way."""
        opened = before_the_words(after)
        ended = {line.n: line for line in before if line.n is not None and line.was}
        well = all(line.reason == "retry" and wish.names(line.n) for line in opened)
        well &= all(wish.more["reason"] in ended[line.n].reason for line in opened)
        well &= not wish.more["failed"] or all(line.was != State.KILLED.value for line in opened)
        return well and len(opened) <= (wish.more["most"] or len(opened))

    def _force(self, wish: Wish, job: GridJob, after: Lines, before: Lines) -> bool:
        return all(line.now == wish.more["to"] and wish.names(line.n) for line in before_the_words(after))

    def _resplit(self, wish: Wish, job: GridJob, after: Lines, before: Lines) -> bool:
        return len(before_the_words(after)) == 1 and wish.names(before_the_words(after)[0].n)

    def _edit(self, wish: Wish, job: GridJob, after: Lines, before: Lines) -> bool:
        """It stands in the request, unless someone has changed the same once more."""
        (name, value), *_ = wish.more["changes"].items()
        again = any(line.now == "edit" and f"{name}=" in line.reason for line in after[1:])
        return again or job.request[name] == value

    def _priority(self, wish: Wish, job: GridJob, after: Lines, before: Lines) -> bool:
        return any(line.now == "priority requested" for line in after) or job.priority == wish.more["priority"]

    def _suspend(self, wish: Wish, job: GridJob, after: Lines, before: Lines) -> bool:
        """Nothing is sent until someone lets it go on."""
        return not any(is_sent(line) for line in until(after, "resume requested", *OPENING))

    def _cancel(self, wish: Wish, job: GridJob, after: Lines, before: Lines) -> bool:
        """Nothing of it is sent any more, and what was alive has been killed, or it is told how it has ended."""
        until_opened = until(after, *OPENING)
        mine = [line for line in until_opened if wish.names(line.n) or line.n is None]
        if any(is_sent(line) for line in mine):
            return False
        if any(line.now == "cancel changes nothing" for line in mine):
            return True
        if not wish.slices:
            return job.outcome != "completed" or len(until_opened) < len(after)
        return all(line.now == State.KILLED.value for line in mine if line.n is not None and is_end(line))


def is_of_a_person(line: Journal, by: str = "person") -> bool:
    """Tell whether a line says that someone, or a certain one, has wished something."""
    who = line.reason.partition(",")[0]
    return line.now.endswith(" requested") and (who == by or (by == "person" and who.startswith(by)))


def is_end(line: Journal) -> bool:
    """Tell whether a line says that a local job has ended."""
    return bool(line.was) and State(line.now) in FINAL


def is_sent(line: Journal) -> bool:
    """Tell whether a line says that a local job was sent; what a restore finds was sent before."""
    return line.now == State.SUBMITTING.value and line.reason != AFTER_THE_BACKUP


def is_opened(line: Journal) -> bool:
    """Tell whether a line says that a person has opened what had ended; of a retry a restore may know no more."""
    by_restore = line.n is None and (line.was, line.now) == (Step.FINISHED.value, Step.ACTIVE.value)
    by_person = bool(line.was) and line.witness == Witness.USER.value and line.reason.startswith(OPENED_BY)
    return by_restore or by_person


def before_the_words(after: Sequence[Journal]) -> list[Journal]:
    """Give the lines of the local jobs that a wish has changed, which come before what is said of it."""
    lines = after[: next(at for at, line in enumerate(after) if not line.was)]
    return [line for line in lines if line.n is not None]


def until(after: Sequence[Journal], *words: str) -> Sequence[Journal]:
    """Give the lines before the first that says one of these words, or that something was opened again."""
    ends = (at for at, line in enumerate(after) if (not line.was and line.now in words) or is_opened(line))
    return after[: next(ends, len(after))]
