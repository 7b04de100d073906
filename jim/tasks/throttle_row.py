"""What the row of a task keeps about its pace, as one flat object of JSON: its limits, its orders, and its throttle.

What another version has written besides is ignored, and what it has not written is as at the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from jim.tasks.throttle import Limits, Throttle

NAMES = ("at_once", "queued", "first")
STEP = re.compile(r"(?:(\d+) of (\d+) attempts failed: )?allowance ([\d,]+) → ([\d,]+)", re.ASCII)


class Orders(NamedTuple):
    """What is to be done once, or until something has happened; people order most of it."""

    again: float = 0.0  # pieces that have failed since then are to be tried again once, after a bad time; 0: none
    retry: int = 0  # 1: some failed pieces are to be tried again, as a person wants, or because a black hole ate them
    suspend: int = 0  # 1: a pause suspends what is on the way
    trying: int = 0  # the number of a test of the running task that is not judged yet
    alone_first: int = 0  # so many pieces go alone, until they have passed as a test does
    trial: str = ""  # G.k: grid job G, which had k submissions then, may try one attempt again as a probe


class ThrottleRow(NamedTuple):
    """All that is kept of the pace of a task."""

    limits: Limits
    orders: Orders = Orders()
    throttle: Throttle = Throttle()

    @property
    def allowance(self) -> int:
        """Return how many pieces may be on the way."""
        return min(self.throttle.a or self.limits.first, self.limits.at_once)

    @property
    def tries_again(self) -> bool:
        """Tell whether failed pieces will be tried again without a person, now or once a bad time is over."""
        return bool(self.throttle.excess or self.orders.again or self.orders.retry)

    def stored(self) -> dict[str, Any]:
        """Return it as the row of the task keeps it."""
        return {**self.limits._asdict(), **self.orders._asdict(), **self.throttle._asdict()}


def read(stored: Mapping[str, Any]) -> ThrottleRow:
    """Read what the row of a task keeps."""
    limits, orders, throttle = (
        {name: stored[name] for name in kind._fields if name in stored} for kind in (Limits, Orders, Throttle)
    )
    return ThrottleRow(Limits(**limits), Orders(**orders), Throttle(**throttle))


def in_words(row: ThrottleRow) -> str:
    """Return how the allowance is, for people."""
    how = "failing" if row.throttle.probes else "growing" if row.allowance < row.limits.at_once else "steady"
    return f"{size_in_words(row)}, {how}"


def size_in_words(row: ThrottleRow) -> str:
    """Return the allowance, and what it may become."""
    return f"{row.allowance:,} of {row.limits.at_once:,}"


class Step(NamedTuple):
    """One change of an allowance, as the journal of a task tells it."""

    failed: int
    ended: int  # attempts, since the decision before; 0: none decided it
    before: int
    after: int


def steps_in(line: str) -> list[Step]:
    """Read the changes of the allowance in a line of a task's journal."""
    return [Step(*(int((each or "0").replace(",", "")) for each in found)) for found in STEP.findall(line)]
