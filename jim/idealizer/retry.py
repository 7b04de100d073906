"""Named retry policies, made with tenacity. A retry over time is a due time in the store, never a sleep."""

from __future__ import annotations

from tenacity import RetryCallState, Retrying, wait_exponential, wait_random
from tenacity.wait import wait_base

# For a batch system or a disk that is away: soon at first, then once a minute, without end.
AGAIN = wait_exponential(multiplier=0.5, max=60) + wait_random(0, 1)
# After a failed attempt: the site may have a bad node or a bad minute.
NEXT_ATTEMPT = wait_exponential(multiplier=1, max=600)


def delay(policy: wait_base, tries: int) -> float:
    """Return the seconds between try number `tries` (from 1) and the next one."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = max(1, tries)
    return policy(state)
