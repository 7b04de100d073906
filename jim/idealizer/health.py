"""The breaker: a batch system that does not answer is asked less and less often; so is its history.

What cannot be written in the work directory is tried less and less often, too.
"""

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
WORK = "JIM could not write in the work directory", "JIM can write in the work directory again"
HISTORY = "JIM could not find out how ended jobs ended", "JIM can find out again how ended jobs ended"


class Health:
    """The health of the batch system, of its history, or of the work directory."""

    def __init__(self, clock: Clock, words: tuple[str, str] = BATCH_SYSTEM) -> None:
        self._clock, (self._bad, self._good) = clock, words
        self._lock = threading.Lock()  # several threads run commands
        self.failures = 0
        self.retry_at = 0.0
        self.trouble = NO_REASON  # the last failure; empty if the last call was good
        self.seen = ""  # time of the last good answer

    @property
    def open(self) -> bool:
        """The breaker is open: after several failures in a row, no call is made until `retry_at`."""
        return self.failures >= TRIPS_AFTER and self._clock.boot() < self.retry_at

    def good(self) -> None:
        """Count a good answer."""
        with self._lock:
            if self.failures >= TRIPS_AFTER:
                log.info(self._good)
            self.failures, self.trouble, self.retry_at = 0, NO_REASON, 0.0
            self.seen = self._clock.utc()

    def failed(self, error: BaseException) -> None:
        """Count a call without an answer."""
        with self._lock:
            self.failures += 1
            self.trouble = reason_of(error)
            self.retry_at = self._clock.boot() + delay(AGAIN, self.failures)
            log.warning("%s (%d in a row): %s", self._bad, self.failures, error)


def history(clock: Clock) -> Health:
    """Return the health of the history, which may be down while the batch system works."""
    return Health(clock, HISTORY)


def work(clock: Clock) -> Health:
    """Return the health of the work directory, which may be full while the batch system works."""
    return Health(clock, WORK)
