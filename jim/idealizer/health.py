"""The breaker: a batch system that does not answer is asked less and less, and sent nothing; so is its history."""

from __future__ import annotations

import logging
import threading

from jim.clock import Clock
from jim.idealizer.reasons import reason_of
from jim.idealizer.retry import AGAIN, delay
from jim.model import NO_REASON

log = logging.getLogger(__name__)
TRIPS_AFTER = 3
BATCH_SYSTEM = "the batch system did not answer", "the batch system answers again"
HISTORY = "what became of ended jobs could not be found out", "what became of ended jobs can be found out again"


class Health:
    """What is known of the state of the batch system itself, or of its history."""

    def __init__(self, clock: Clock, words: tuple[str, str] = BATCH_SYSTEM) -> None:
        self._clock, (self._bad, self._good) = clock, words
        self._lock = threading.Lock()  # commands are run by several threads
        self.failures = 0
        self.retry_at = 0.0
        self.trouble = NO_REASON  # what the last failure was; empty when the last call was good
        self.seen = ""  # when it last gave a good answer

    @property
    def open(self) -> bool:
        """It failed several times in a row and is left alone until `retry_at`."""
        return self.failures >= TRIPS_AFTER and self._clock.boot() < self.retry_at

    def good(self) -> None:
        """Take in a good answer."""
        with self._lock:
            if self.failures >= TRIPS_AFTER:
                log.info(self._good)
            self.failures, self.trouble, self.retry_at = 0, NO_REASON, 0.0
            self.seen = self._clock.utc()

    def failed(self, error: BaseException) -> None:
        """Take in a call that did not get an answer."""
        with self._lock:
            self.failures += 1
            self.trouble = reason_of(error)
            self.retry_at = self._clock.boot() + delay(AGAIN, self.failures)
            log.warning("%s (%d in a row): %s", self._bad, self.failures, error)


def history(clock: Clock) -> Health:
    """Make that of what tells how jobs ended, which may be down while all else works."""
    return Health(clock, HISTORY)
