"""Named retry policies, composed once from tenacity. A retry over time is a due time in the store, never a sleep."""

from __future__ import annotations

from tenacity import RetryCallState, Retrying, wait_exponential, wait_random
from tenacity.wait import wait_base

# What waits for a batch system or a disk to come back: soon at first, then once a minute, for ever.
AGAIN = wait_exponential(multiplier=0.5, max=60) + wait_random(0, 1)
# What follows a failed attempt: the site may have a bad node or a bad minute.
NEXT_ATTEMPT = wait_exponential(multiplier=1, max=600)


def delay(policy: wait_base, tries: int) -> float:
    """Say how many seconds after try number `tries` (from 1) the next one is due."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = max(1, tries)
    return policy(state)
