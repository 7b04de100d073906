"""Remembers how long the last local jobs waited in the batch system, for those who choose between sites."""

from __future__ import annotations

from collections import OrderedDict, deque

KEPT = 20
MOST_SENT = 10_000  # submissions that are remembered until their local jobs start


class Starts:
    """The waiting times of the last starts, from the batch system's answer to the start, in seconds."""

    def __init__(self) -> None:
        self.waits: deque[int] = deque(maxlen=KEPT)
        self._sent: OrderedDict[tuple[int, int], float] = OrderedDict()

    def sent(self, submission: tuple[int, int], at: float) -> None:
        """Note that the batch system has accepted a submission."""
        self._sent[submission] = at
        if len(self._sent) > MOST_SENT:
            self._sent.popitem(last=False)

    def started(self, submission: tuple[int, int], at: float) -> None:
        """Note a start; a submission that an earlier keeper sent is not known."""
        sent = self._sent.get(submission)
        if sent is not None:
            self.waits.append(max(0, round(at - sent)))
