"""What good listings have shown, and what they have not: the attempts that are in doubt.

Kept in memory only: to lose it makes the keeper more careful, not less.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from jim.evidence.listing import Doubt
from jim.jobs import Key


class Listed(NamedTuple):
    """The last good listing."""

    at: float = 0.0  # when it was asked for; 0: there was none yet
    unseen: frozenset[tuple[str, str]] = frozenset()  # batch ids and marks of which it shows nothing


class Doubts(dict[Key, Doubt]):
    """Attempts that good listings do not show."""

    blind_at: float = -math.inf  # when the work directory could not be seen for the last time: no silence before counts

    def drop(self, grid: int, k: int) -> None:
        """Forget doubts about a submission that is found after all."""
        for key in [key for key in self if key[:2] == (grid, k)]:
            del self[key]
