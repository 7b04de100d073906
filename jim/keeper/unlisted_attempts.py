"""Attempts that good listings do not show: the doubts.

Doubts are kept in memory only: a keeper that loses them is more careful, not less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from jim.evidence.listing import Doubt
from jim.jobs import Key
from jim.model import State

MISSED_TWICE = 2


class Listed(NamedTuple):
    """The last good listing."""

    at: float = 0.0  # when the listing was asked for; 0: there was none yet
    shown: frozenset[tuple[str, str]] = frozenset()  # batch ids with the names of their jobs, as far as these are told
    unseen: frozenset[tuple[str, str]] = frozenset()  # batch ids and marks that the listing does not show
    in_vain: Mapping[Key, str] = {}  # attempts in the queue that can never start, and the batch system's words
    carriers: Mapping[tuple[str, int], State] = {}  # where the carriers of attempts are


class Doubts(dict[Key, Doubt]):
    """Attempts that good listings do not show."""

    listed: Listed = Listed()
    blind_at: float = -math.inf  # when the work directory was last unreachable: earlier silence does not count
    # Batch jobs that all good listings since a time, in seconds since boot, show running after their completed end; and
    # how many of these listings came long after it.
    lingering: Mapping[tuple[str, int], tuple[float, int]] = {}

    def is_missed(self, key: Key) -> bool:
        """Tell whether two good listings have not shown an attempt as pending, running or stopped."""
        return key in self and self[key].missed >= MISSED_TWICE

    def drop(self, grid: int, k: int) -> None:
        """Forget the doubts about a submission that was found after all."""
        for key in [key for key in self if key[:2] == (grid, k)]:
            del self[key]
