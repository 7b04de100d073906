"""A site that is played: attempts that begin at some time end well after minutes, or badly within seconds.

What a task may send is decided by the real functions of the throttle; here is what releases pieces, and retries.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from jim.tasks.throttle import Decided, End, Limits, Throttle, count, next_probe, resumed

HOUR = 3600.0
ATTEMPTS = 3
WAVE_SECONDS = 60.0
DELAYS = (10.0, 60.0)  # before the second attempt of a piece, and before the third
Fails = Callable[[int, float, random.Random], bool]  # does an attempt at a piece fail that begins at this time?


@dataclass(order=True)
class Running:
    """An attempt that runs."""

    ends: float
    line: int
    piece: int = field(compare=False)
    began: float = field(compare=False)
    well: bool = field(compare=False)


@dataclass
class Site:
    """A task with so many pieces, and what has become of them."""

    fails: Fails
    pieces: int
    limits: Limits = field(default_factory=lambda: Limits(2000, 2000))
    seconds: float = 300.0  # of an attempt that ends well; between 0.7 and 1.3 of it
    bad_seconds: float = 5.0
    attempts: int = ATTEMPTS
    resumes: int = 0  # how often a person resumes it at once
    seed: int = 1

    def __post_init__(self) -> None:
        self.chance, self.throttle = random.Random(self.seed), Throttle()
        self.now, self.line, self.taken, self.wave_at = 0.0, 0, 0, -WAVE_SECONDS
        self.running: list[Running] = []
        self.waiting: list[tuple[float, int]] = []  # pieces on the way that are to be tried again, and when
        self.tries: dict[int, int] = {}  # attempts of a piece that have failed since it was released
        self.has_failed: set[int] = set()
        self.dead: dict[int, float] = {}
        self.tried_again: set[int] = set()
        self.done: set[int] = set()
        self.bad_attempts, self.was_paused = 0, list[float]()
        self.paused = False
        self.told: list[str] = []
        self.lowest, self.highest = self.allowance, self.allowance

    @property
    def allowance(self) -> int:
        return min(self.throttle.a or self.limits.first, self.limits.at_once)

    @property
    def way(self) -> int:
        return len(self.running) + len(self.waiting)

    @property
    def is_over(self) -> bool:
        return len(self.done) + len(self.dead) == self.pieces

    def play(self, hours: float) -> Site:
        """Let it go on until a time, or to its end."""
        while self.now < hours * HOUR and not (self.is_over and not self.throttle.may_try_again):
            self._send()
            when = min(self._next(), hours * HOUR)
            if when == float("inf"):
                break
            self.now = max(self.now, when)
            self._end()
        return self

    def _next(self) -> float:
        """Return when something happens next."""
        times = [self.running[0].ends] if self.running else []
        state, limits = self.throttle, self.limits
        if state.ended:
            times.append(state.decided + limits.probe_seconds)
        if not self.paused and (self.waiting or self.taken < self.pieces):
            if state.probes:
                times.append(next_probe(state, limits, "nonce"))
            if self.waiting and not state.probes and len(self.running) < self.allowance:
                times.append(self.waiting[0][0])
            if self.taken < self.pieces and self._free > 0:
                times.append(self.wave_at + WAVE_SECONDS)
        return max(self.now + 0.001, min(times, default=float("inf")))

    @property
    def _free(self) -> int:
        return 0 if self.throttle.probes and self.allowance == 1 else self.allowance - self.way

    def _send(self) -> None:
        if self.paused:
            return
        if self.throttle.probes:
            self._probe()
        else:
            while self.waiting and self.waiting[0][0] <= self.now and len(self.running) < self.allowance:
                self._begin(heapq.heappop(self.waiting)[1])
        free = min(self._free, self.pieces - self.taken)
        small = self.way and free < self.allowance / 4 and self.now < self.wave_at + WAVE_SECONDS
        if free > 0 and not small:
            self.wave_at = self.now
            for _ in range(free):
                self._begin_new()

    def _probe(self) -> None:
        """Let a new piece go, or try an old one again, while most fail."""
        due = self.waiting and self.waiting[0][0] <= self.now
        left = self.taken < self.pieces
        if self.now < next_probe(self.throttle, self.limits, "nonce") or not (due or (left and self._free <= 0)):
            return
        self.throttle = self.throttle._replace(probed=self.now)
        if due and not (left and self._free <= 0 and self.throttle.probes_new):
            self._begin(heapq.heappop(self.waiting)[1])
        else:
            self._begin_new()

    def _begin_new(self) -> None:
        self.taken += 1
        self._begin(self.taken - 1)

    def _begin(self, piece: int) -> None:
        self.line += 1
        well = not self.fails(piece, self.now, self.chance)
        takes = self.seconds * self.chance.uniform(0.7, 1.3) if well else self.bad_seconds
        heapq.heappush(self.running, Running(self.now + takes, self.line, piece, self.now, well))

    def _end(self) -> None:
        """Count what has ended by now."""
        ends = []
        while self.running and self.running[0].ends <= self.now:
            ends.append(self._ended(heapq.heappop(self.running)))
        self.line += len(ends)
        decided = count(self.throttle, self.limits, ends, self.now, self.line, self._outlasting)
        self._heed(decided)

    def _ended(self, each: Running) -> End:
        end = End(each.well, "exit 3", each.line, each.began, self.now - each.began, each.piece not in self.has_failed)
        if each.well:
            self.done.add(each.piece)
            return end
        self.bad_attempts += 1
        self.has_failed.add(each.piece)
        tries = self.tries[each.piece] = self.tries.get(each.piece, 0) + 1
        if tries >= self.attempts:
            self.dead[each.piece] = self.now
        else:
            delay = DELAYS[min(tries, len(DELAYS)) - 1]
            heapq.heappush(self.waiting, (self.now + delay, each.piece))
        return end

    def _outlasting(self, line: int, seconds: float) -> int:
        return sum(each.line >= line and self.now - each.began >= seconds for each in self.running)

    def _heed(self, decided: Decided) -> None:
        self.throttle = decided.throttle
        self.told += [decided.told] if decided.told else []
        self.lowest, self.highest = min(self.lowest, self.allowance), max(self.highest, self.allowance)
        if decided.again:
            self._try_again(decided.again)
        if decided.paused:
            self.was_paused.append(self.now)
            self.paused = len(self.was_paused) > self.resumes
            self.throttle = self.throttle if self.paused else resumed(self.throttle)

    def _try_again(self, since: float) -> None:
        """Try what has failed since a time once more, each piece once."""
        again = [piece for piece, at in self.dead.items() if at >= since and piece not in self.tried_again]
        self.tried_again.update(again)
        for piece in again:
            del self.dead[piece]
            self.tries[piece] = 0
            heapq.heappush(self.waiting, (self.now, piece))
