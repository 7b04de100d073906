"""What the keeper's moves work with, and the workers that do what may take long."""

from __future__ import annotations

import math
import queue
import sys
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jim.clock import Clock
from jim.idealizer.retry import AGAIN, delay
from jim.jobs import Key
from jim.model import Piece
from jim.site.file import Site

if TYPE_CHECKING:
    from jim.adapters.base import Adapter
    from jim.doors.contract import Door
    from jim.evidence.listing import Doubt
    from jim.idealizer.channel import Channel
    from jim.idealizer.health import Health
    from jim.keeper.serial import Hold
    from jim.statusdb.contract import Store

T = TypeVar("T")
SLOW_SECONDS = 2.0  # a look that takes longer may have waited for a file server that was away


class Workers:
    """Threads for commands, splits and tars. Their results come back to the loop, which alone writes the store.

    Batch commands have threads of their own: they do not wait behind large tars, nor does anything else behind those
    that hang.
    """

    def __init__(self, commands: int = 5, others: int = 3) -> None:
        self._most_commands = commands - 2
        self._commands = ThreadPoolExecutor(commands, thread_name_prefix="command")
        self._others = ThreadPoolExecutor(others, thread_name_prefix="worker")
        self._results: queue.SimpleQueue[tuple[Hashable, Callable[[], None]]] = queue.SimpleQueue()
        self._busy: set[Hashable] = set()
        self._commanded: set[Hashable] = set()  # of these, what runs batch commands

    def busy(self, name: Hashable) -> bool:
        """Tell whether work of this name is under way."""
        return name in self._busy

    def crowded(self, spare: int = 0) -> bool:
        """Tell whether two threads at most, and some to spare, are free for batch commands.

        The two are for the question about all jobs, and for what it leaves to be settled.
        """
        return len(self._commanded) >= self._most_commands - spare

    def idle(self) -> bool:
        """Tell whether nothing is under way."""
        return not self._busy

    def start(
        self,
        name: Hashable,
        task: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[BaseException], None],
        *,
        command: bool = False,
    ) -> None:
        """Do `task` beside the loop; the loop gets its result by `then`, or what it raised by `failed`."""

        def ended(future: Future[T]) -> None:
            error = future.exception()
            self._results.put((name, lambda: failed(error) if error else then(future.result())))

        self._busy.add(name)
        if command:
            self._commanded.add(name)
        (self._commands if command else self._others).submit(task).add_done_callback(ended)

    def later(self, name: Hashable, task: Callable[[], None]) -> None:
        """Let the loop do `task` itself, after whatever else is waiting: for work cut into short parts."""
        self._busy.add(name)
        self._results.put((name, task))

    def deliver(self, timeout: float) -> bool:
        """Wait so long for a result, and hand it to the loop; tell whether there was one."""
        try:
            name, give = self._results.get(timeout=timeout) if timeout > 0 else self._results.get_nowait()
        except queue.Empty:
            return False
        self._commanded.discard(name)
        self._busy.discard(name)  # first: what is given may start the next of this name
        give()
        return True

    def stop(self) -> None:
        """Let go of the threads; what is under way is found again by the next keeper."""
        for pool in (self._commands, self._others):
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass
class House:
    """One state directory, opened by its keeper."""

    site: Site
    store: Store
    channel: Channel
    clock: Clock
    workers: Workers
    hold: Hold
    # Kept in memory only: they set the pace, and losing them makes the keeper more careful, not less.
    doubts: dict[Key, Doubt] = field(default_factory=dict)
    unverified: dict[Key, float] = field(default_factory=dict)
    resplits: dict[int, tuple[Hashable, list[Piece] | BaseException]] = field(default_factory=dict)
    paced: dict[Hashable, tuple[float, int]] = field(default_factory=dict)
    credentials: dict[int, Mapping[str, str]] = field(default_factory=dict)  # files that requests name, by their kind
    unremoved: dict[Hashable, str] = field(default_factory=dict)  # what could not be removed, and why, as was told
    told_of_credentials: dict[tuple[int, str], Hashable] = field(default_factory=dict)
    expired: frozenset[int] = frozenset()  # grid jobs of which nothing is sent until their credential is renewed
    places: dict[int, str] = field(default_factory=dict)  # directories of grid jobs that have not their number's
    hosts: set[str] = field(default_factory=set)  # on which something has started
    told: dict[int, float] = field(default_factory=dict)  # when the batch system was last told to hold or release
    odd_words: set[str] = field(default_factory=set)  # of the batch system, that the log has told of
    chunk: int = sys.maxsize  # so many local jobs a submission at most, as the batch system lets us
    unseen: frozenset[tuple[str, str]] = frozenset()  # batch ids and marks of which the last good listing shows nothing
    unsaid: dict[int, str] = field(default_factory=dict)  # why the batch system could not be told of a wish
    answered: dict[int, bytes] = field(default_factory=dict)
    doors: dict[str, Door] = field(default_factory=dict)  # those that are open, by their names
    answered_changes: int = -1
    published_trouble: tuple[object, ...] = ()
    waited_for: dict[str, float] = field(default_factory=dict)  # which question of each other account, before ours
    next_query: float = 0.0
    listed: float = 0.0  # when the last good listing was asked for
    blind_at: float = -math.inf  # when the work directory could not be seen for the last time
    next_settling: float = 0.0
    next_end: float = 0.0
    next_aging: float = 0.0
    next_renewal: float = 0.0

    @property
    def adapter(self) -> Adapter:
        """What the batch system is called, and what it can do."""
        return self.channel.adapter

    @property
    def health(self) -> Health:
        """Whether the batch system answers."""
        return self.channel.health

    @property
    def history(self) -> Health:
        """Whether what tells how jobs ended answers."""
        return self.channel.past

    def directory(self, grid: int) -> Path:
        """Name the directory of a grid job."""
        return self.site.work / self.places.get(grid, str(grid))

    def pace(self, name: Hashable) -> bool:
        """Tell whether the next try of `name` is due, and count it as made."""
        if self.clock.boot() < self.paced.get(name, (0.0, 0))[0]:
            return False
        self.pace_of(name)
        return True

    def pace_of(self, name: Hashable) -> float:
        """Count a try of `name` as made, and tell when the next one is due."""
        tries = self.paced.get(name, (0.0, 0))[1] + 1
        self.paced[name] = (self.clock.boot() + delay(AGAIN, tries), tries)
        return self.paced[name][0]

    def pace_settling(self) -> bool:
        """Tell whether doubts may be looked into again: twice a second at most, and as the history lets us."""
        now = self.clock.boot()
        if now < max(self.next_settling, self.history.retry_at):
            return False
        self.next_settling = now + 0.5
        return True
