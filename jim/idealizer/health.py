"""The breaker: a batch system that does not answer is asked less and less, and sent nothing."""

from __future__ import annotations

import logging

from jim.clock import Clock
from jim.idealizer.retry import AGAIN, delay

log = logging.getLogger(__name__)
TRIPS_AFTER = 3


class Health:
    """What is known of the batch system's own state."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.failures = 0
        self.retry_at = 0.0
        self.trouble = ""  # the last failure's own words; empty when the last call was good
        self.seen = ""  # when it last gave a good answer about its jobs

    @property
    def open(self) -> bool:
        """It failed several times in a row and is left alone until `retry_at`."""
        return self.failures >= TRIPS_AFTER and self._clock.boot() < self.retry_at

    def good(self) -> None:
        """Take in a good answer."""
        if self.failures >= TRIPS_AFTER:
            log.info("the batch system answers again")
        self.failures, self.trouble, self.retry_at = 0, "", 0.0
        self.seen = self._clock.utc()

    def failed(self, error: BaseException) -> None:
        """Take in a call that did not get an answer."""
        self.failures += 1
        self.trouble = str(error)
        self.retry_at = self._clock.boot() + delay(AGAIN, self.failures)
        log.warning("the batch system did not answer (%d in a row): %s", self.failures, error)
