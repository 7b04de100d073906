"""Runs errands in threads, and delays failed errands. Threads and delays are here and nowhere else.

As in the work queues of Kubernetes, every errand that may be tried again has a key. A failure delays the key, longer
each time; `forget` makes the key due at once. Delays are kept in memory only: after a restart everything is due, which
costs one try and decides nothing. A delay that the promise needs, such as the time between two looks for a lost
submission, is stored with the submission.
"""

from __future__ import annotations

import logging
import math
import queue
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from jim.clock import Clock
from jim.errand import Errand
from jim.errors import Fault, JimError, Outdated, StoreError
from jim.files.own_files import OwnFiles
from jim.idealizer.retry import AGAIN, delay

log = logging.getLogger(__name__)
T = TypeVar("T")
NEVER = math.inf  # no look is due until something changes
TOLD_TO_NOBODY = (Outdated, StoreError)  # these are no failures of the errand: the loop handles them


class Workers:
    """Threads for errands. Only the loop writes the store, so it takes in the results.

    Batch commands have their own threads: they do not wait for large tars, and hanging commands block nothing else. So
    has what writes where people keep files, and what looks at sources of tasks, or runs a site's own code:
    directories and programs may hang.
    """

    def __init__(
        self,
        clock: Clock,
        own_files: OwnFiles | None = None,
        *,
        commands: int = 5,
        others: int = 3,
        far: int = 4,
        sources: int = 64,
    ) -> None:
        self._clock, self._most_commands = clock, commands - 2
        self.own_files = own_files or OwnFiles()
        self._commands = ThreadPoolExecutor(commands, thread_name_prefix="command")
        self._others = ThreadPoolExecutor(others, thread_name_prefix="worker")
        self._far = ThreadPoolExecutor(far, thread_name_prefix="far")
        self._sources = ThreadPoolExecutor(sources, thread_name_prefix="source")
        self._results: queue.SimpleQueue[tuple[Hashable, Callable[[], None]]] = queue.SimpleQueue()
        self._busy: set[Hashable] = set()
        self._commanded: set[Hashable] = set()  # the busy errands that run batch commands
        self._watching: set[Hashable] = set()  # those that only look, again and again
        self._ended: set[int] = set()  # grid jobs with an errand that has ended
        self._due: dict[Hashable, float] = {}  # in seconds since boot
        self._tries: dict[Hashable, int] = {}  # failures in a row
        self._trouble: dict[Hashable, str] = {}  # the words of the last failure

    # When something may be tried

    def due(self, key: Hashable) -> float:
        """Return when a key may be tried next, in seconds since boot; 0: it is not delayed."""
        return self._due.get(key, 0.0)

    def ready(self, key: Hashable) -> bool:
        """Tell whether a key may be tried now: it is neither under way nor delayed."""
        return key not in self._busy and self.due(key) <= self._clock.boot()

    def wait(self, key: Hashable, seconds: float) -> None:
        """Delay a key by so many seconds, without counting a failure."""
        self._due[key] = self._clock.boot() + seconds

    def put_off(self, key: Hashable) -> float:
        """Count a failure and return when the next try is due; each failure makes the delay longer."""
        self._tries[key] = self._tries.get(key, 0) + 1
        self._due[key] = max(self.due(key), self._clock.boot() + delay(AGAIN, self._tries[key]))
        return self._due[key]

    def pace(self, key: Hashable) -> bool:
        """Tell whether a key is due, and delay its next time: for repeated messages."""
        ready = self.ready(key)
        if ready:
            self.put_off(key)
        return ready

    def forget(self, key: Hashable) -> None:
        """Forget all failures and delays of a key, so that it may be tried at once."""
        for each in (self._due, self._tries, self._trouble):
            each.pop(key, None)

    def tries(self, key: Hashable) -> int:
        """Return the number of failures of a key in a row."""
        return self._tries.get(key, 0)

    def troubles(self, *kinds: str) -> dict[Any, str]:
        """Return the last failures of errands of these kinds, by the name in their keys."""
        found = ((key, words) for key, words in self._trouble.items() if isinstance(key, tuple))
        return {key[1]: words for key, words in found if key[0] in kinds}

    # What is under way

    def busy(self, key: Hashable) -> bool:
        """Tell whether an errand is under way."""
        return key in self._busy

    def crowded(self, spare: int = 0) -> bool:
        """Tell whether at most two threads, plus `spare`, are free for batch commands.

        The two are reserved for the query of all jobs and for settling doubts.
        """
        return len(self._commanded) >= self._most_commands - spare

    def idle(self) -> bool:
        """Tell whether nothing is under way that a keeper must wait for."""
        return not self._busy - self._watching

    def start(self, errand: Errand[Any]) -> float:
        """Run an errand in a thread, unless it is under way or delayed; return when to ask again.

        The time is `NEVER` if the end of the errand causes a look.
        """
        if self.ready(errand.key):
            self._busy.add(errand.key)
            if errand.command:
                self._commanded.add(errand.key)
            if errand.watches:
                self._watching.add(errand.key)
            self._begin(errand)
        return NEVER if errand.key in self._busy else self.due(errand.key)

    def _begin(self, errand: Errand[T]) -> None:
        pool = self._commands if errand.command else self._far if errand.far else self._others
        pool = self._sources if errand.source else pool
        pool.submit(errand.work).add_done_callback(partial(self._bring, errand))

    def _bring(self, errand: Errand[T], future: Future[T]) -> None:
        self._results.put((errand.key, partial(self._hand_over, errand, future)))

    def later(self, key: Hashable, task: Callable[[], None]) -> None:
        """Let the loop run `task` itself, after all waiting results: for long work in short parts."""
        self._busy.add(key)
        self._results.put((key, task))

    def wake(self) -> None:
        """Make `deliver` return. Any thread may call this."""
        self._results.put((None, lambda: None))

    def deliver(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for a result and take it in; tell whether one came."""
        try:
            key, give = self._results.get(timeout=timeout) if timeout > 0 else self._results.get_nowait()
        except queue.Empty:
            return False
        self._commanded.discard(key)
        self._busy.discard(key)  # first: the result may start the next errand of this key
        give()
        return True

    def ended(self) -> set[int]:
        """Return the grid jobs with an errand that has ended since the last call."""
        ended, self._ended = self._ended, set()
        return ended

    def _hand_over(self, errand: Errand[T], future: Future[T]) -> None:
        """Take in the result or the failure of an errand."""
        error = _in_words(future.exception(), errand.heeds)
        if errand.grid:
            self._ended.add(errand.grid)
        if error is None:
            self._count_as_done(errand)
            errand.done(future.result())
            return
        self.own_files.require_files()  # with half of a version, anything may fail
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
        else:  # its starter has set its next time already
            self._tries.pop(errand.key, None)
            self._trouble.pop(errand.key, None)

    def stop(self) -> None:
        """Stop the threads; the next keeper repeats unfinished errands."""
        for pool in (self._commands, self._others, self._far, self._sources):
            pool.shutdown(wait=False, cancel_futures=True)


def _in_words(error: BaseException | None, heeds: tuple[type[BaseException], ...]) -> BaseException | None:
    """Return why an errand failed; what nobody expected becomes an error of JIM.

    It would end one keeper after the other, and with them the work for all grid jobs. Only a module that is missing
    ends the keeper: its files were replaced, and the next one has those of today.
    """
    if not isinstance(error, Exception) or isinstance(error, (*heeds, OSError, JimError, ImportError)):
        return error
    fault = Fault(error)
    log.error("%s", fault, exc_info=error)
    return fault
