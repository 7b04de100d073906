"""When to try again: soon at first, then less and less often, for ever."""

from __future__ import annotations

import pytest

from jim.idealizer.retry import AGAIN, NEXT_ATTEMPT, delay


@pytest.mark.parametrize(
    ("tries", "least", "most"), [(0, 0.5, 1.5), (1, 0.5, 1.5), (2, 1, 2), (5, 8, 9), (8, 60, 61), (5000, 60, 61)]
)
def test_what_waits_for_a_batch_system_is_tried_soon_and_then_once_a_minute(tries, least, most):
    assert least <= delay(AGAIN, tries) <= most


@pytest.mark.parametrize(("tries", "seconds"), [(1, 1), (2, 2), (4, 8), (11, 600), (5000, 600)])
def test_the_next_attempt_waits_ten_minutes_at_most(tries, seconds):
    assert delay(NEXT_ATTEMPT, tries) == seconds
