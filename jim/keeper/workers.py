"""Errands: threads do what may take long, and what has failed is tried again later. Both happen here, nowhere else.

As in the work queues of Kubernetes, whatever may be tried again has a key. A failure puts the key off, longer each
time; `forget` makes the key due at once. All of this is kept in memory only: after a restart everything is due, which
costs a try and decides nothing. What the promise needs between two tries, such as the time between two looks for a lost
submission, is stored with the submission.
"""

from __future__ import annotations

import math
import queue
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from jim.clock import Clock
from jim.errand import Errand
from jim.errors import Outdated, StoreError
from jim.idealizer.retry import AGAIN, delay

T = TypeVar("T")
NEVER = math.inf  # what is asked about need not be asked about again until something of it changes
TOLD_TO_NOBODY = (Outdated, StoreError)  # they say nothing of the errand: the loop deals with them


class Workers:
    """Threads for errands. Their results come back to the loop, which alone writes the store.

    Batch commands have threads of their own: they do not wait behind large tars, nor does anything else behind those
    that hang.
    """

    def __init__(self, clock: Clock, commands: int = 5, others: int = 3) -> None:
        self._clock, self._most_commands = clock, commands - 2
        self._commands = ThreadPoolExecutor(commands, thread_name_prefix="command")
        self._others = ThreadPoolExecutor(others, thread_name_prefix="worker")
        self._results: queue.SimpleQueue[tuple[Hashable, Callable[[], None]]] = queue.SimpleQueue()
        self._busy: set[Hashable] = set()
        self._commanded: set[Hashable] = set()  # of these, what runs batch commands
        self._ended: set[int] = set()  # grid jobs of which an errand has ended
        self._due: dict[Hashable, float] = {}  # by seconds since boot
        self._tries: dict[Hashable, int] = {}  # that have failed, in a row
        self._trouble: dict[Hashable, str] = {}  # what the last of them has said

    # When something may be tried

    def due(self, key: Hashable) -> float:
        """Tell when something may be tried next, in seconds since boot; 0: it was not put off."""
        return self._due.get(key, 0.0)

    def ready(self, key: Hashable) -> bool:
        """Tell whether something may be tried now: it is neither under way nor put off."""
        return key not in self._busy and self.due(key) <= self._clock.boot()

    def wait(self, key: Hashable, seconds: float) -> None:
        """Let something not be tried for so long; that is no failure."""
        self._due[key] = self._clock.boot() + seconds

    def put_off(self, key: Hashable) -> float:
        """Count a failure, and tell when the next try may be made: the more there were, the later."""
        self._tries[key] = self._tries.get(key, 0) + 1
        self._due[key] = max(self.due(key), self._clock.boot() + delay(AGAIN, self._tries[key]))
        return self._due[key]

    def pace(self, key: Hashable) -> bool:
        """Tell whether something may be done now, and put the next time off: for what is said again and again."""
        ready = self.ready(key)
        if ready:
            self.put_off(key)
        return ready

    def forget(self, key: Hashable) -> None:
        """Forget all failures of something: it may be tried at once."""
        for each in (self._due, self._tries, self._trouble):
            each.pop(key, None)

    def tries(self, key: Hashable) -> int:
        """Tell how often something has failed in a row."""
        return self._tries.get(key, 0)

    def troubles(self, *kinds: str) -> dict[Any, str]:
        """Tell why errands whose keys are one of these kinds and a name have failed, by the names."""
        found = ((key, words) for key, words in self._trouble.items() if isinstance(key, tuple))
        return {key[1]: words for key, words in found if key[0] in kinds}

    # What is under way

    def busy(self, key: Hashable) -> bool:
        """Tell whether an errand is under way."""
        return key in self._busy

    def crowded(self, spare: int = 0) -> bool:
        """Tell whether two threads at most, and some to spare, are free for batch commands.

        The two are for the question about all jobs, and for what it leaves to be settled.
        """
        return len(self._commanded) >= self._most_commands - spare

    def idle(self) -> bool:
        """Tell whether nothing is under way."""
        return not self._busy

    def start(self, errand: Errand[Any]) -> float:
        """Do an errand beside the loop, unless it is under way or put off; tell when to ask again.

        That is `NEVER` where its end will tell.
        """
        if self.ready(errand.key):
            self._busy.add(errand.key)
            if errand.command:
                self._commanded.add(errand.key)
            self._begin(errand)
        return NEVER if errand.key in self._busy else self.due(errand.key)

    def _begin(self, errand: Errand[T]) -> None:
        pool = self._commands if errand.command else self._others
        pool.submit(errand.work).add_done_callback(partial(self._bring, errand))

    def _bring(self, errand: Errand[T], future: Future[T]) -> None:
        self._results.put((errand.key, partial(self._hand_over, errand, future)))

    def later(self, key: Hashable, task: Callable[[], None]) -> None:
        """Let the loop do `task` itself, after whatever else is waiting: for work cut into short parts."""
        self._busy.add(key)
        self._results.put((key, task))

    def wake(self) -> None:
        """Let the loop wait for results no longer. Any thread may do so."""
        self._results.put((None, lambda: None))

    def deliver(self, timeout: float) -> bool:
        """Wait so long for a result, and hand it to the loop; tell whether there was one."""
        try:
            key, give = self._results.get(timeout=timeout) if timeout > 0 else self._results.get_nowait()
        except queue.Empty:
            return False
        self._commanded.discard(key)
        self._busy.discard(key)  # first: what is given may start the next of this key
        give()
        return True

    def ended(self) -> set[int]:
        """Give the grid jobs of which an errand has ended since this was asked last."""
        ended, self._ended = self._ended, set()
        return ended

    def _hand_over(self, errand: Errand[T], future: Future[T]) -> None:
        """Give the loop what an errand has brought."""
        error = future.exception()
        if errand.grid:
            self._ended.add(errand.grid)
        if error is None:
            self._count_as_done(errand)
            errand.done(future.result())
            return
        self.put_off(errand.key)
        if errand.failed is None or isinstance(error, TOLD_TO_NOBODY) or not isinstance(error, errand.heeds):
            raise error
        self._trouble[errand.key] = str(error)
        errand.failed(error)

    def _count_as_done(self, errand: Errand[T]) -> None:
        if errand.repeats:
            self.put_off(errand.key)
            self._trouble.pop(errand.key, None)
        elif self.due(errand.key) <= self._clock.boot():
            self.forget(errand.key)
        else:  # whoever has begun it has said when it may be done next
            self._tries.pop(errand.key, None)
            self._trouble.pop(errand.key, None)

    def stop(self) -> None:
        """Let go of the threads; what is under way is found again by the next keeper."""
        for pool in (self._commands, self._others):
            pool.shutdown(wait=False, cancel_futures=True)
