"""The keeper's move about tasks: follows their waves, and gives each task that has changed or is due its turn."""

from __future__ import annotations

import logging
from collections import deque

from jim.errors import JimError, StoreError
from jim.statusdb.task_rows import Task, TaskState
from jim.tasks.counting import tick
from jim.tasks.damaged import Spoil
from jim.tasks.effects import is_tried
from jim.tasks.keeping import Keeper, ask_again
from jim.tasks.pieces import trial_waves
from jim.tasks.pieces.handing_in import hand_in
from jim.tasks.pieces.planning import Planning
from jim.tasks.pieces.releasing import Releasing
from jim.tasks.pool.concluding import conclude
from jim.tasks.pool.looking import Looking
from jim.tasks.results import ending
from jim.tasks.results.following import follow
from jim.tasks.results.storing import keep
from jim.tasks.unexpected_errors import alone

log = logging.getLogger(__name__)
NEVER = float("inf")
AT_ONCE_SECONDS = 0.1  # of turns in a round: the inbox and the heartbeat wait for it
TOGETHER_SECONDS = 0.2  # what is due so soon waits for one another


class Tasks:
    """The move that keeps tasks going. The store has everything that matters; this remembers only when to look."""

    def __init__(self, wish: ending.Wish, spoil: Spoil) -> None:
        self.looking, self.planning, self.releasing, self._wish = Looking(), Planning(), Releasing(), wish
        self._spoil = spoil
        self._due: dict[int, float] | None = None  # seconds since boot, of each task; none before the first round
        self._waiting: deque[int] = deque()  # tasks whose turn has come
        self._changes = -1

    def __call__(self, keeper: Keeper) -> None:
        """Give each task that has changed or is due its turn."""
        self.looking.note(keeper)
        due = self._due = self._all(keeper) if self._due is None else self._due
        changes = keeper.store.changes()
        if changes != self._changes:
            self._changes = changes
            changed = follow(keeper) | keeper.store.tasks.changed()
            changed |= keeper.store.chains.fed_tasks(changed)
            waited = self.releasing.without_place if changed else set[int]()
            due |= dict.fromkeys(changed | waited, 0.0)
        now = keeper.clock.boot()
        if not self._waiting:  # else those that have waited come first
            self._waiting += self._in_order(keeper, [number for number, when in due.items() if when <= now])
        while self._waiting and keeper.clock.boot() <= now + AT_ONCE_SECONDS:
            number = self._waiting.popleft()
            due[number] = self._turn(keeper, number)

    def rest(self, keeper: Keeper) -> float:
        """Return for how many seconds no task has a turn, if nothing changes before."""
        if self._waiting:
            return 0.0
        if self._due is None or keeper.store.changes() != self._changes:
            return TOGETHER_SECONDS
        return max(TOGETHER_SECONDS, min(self._due.values(), default=NEVER) - keeper.clock.boot())

    def _in_order(self, keeper: Keeper, numbers: list[int]) -> list[int]:
        """Return tasks in the order of their turns: the highest priority, then the one with the least on the way."""
        if len(numbers) < 2:
            return numbers
        sent = keeper.store.tasks.sent()
        tasks = ((number, keeper.store.tasks.one(number)) for number in numbers)
        return sorted(
            numbers, key={n: (-task.priority if task else 0, sent.get(n, 0)) for n, task in tasks}.__getitem__
        )

    def _all(self, keeper: Keeper) -> dict[int, float]:
        return {task.id: 0.0 for task in keeper.store.tasks.all()}

    def _turn(self, keeper: Keeper, number: int) -> float:
        """Do what is to be done for one task. Its faults delay no other one."""
        task = keeper.store.tasks.one(number)
        if task is None:
            return NEVER
        key = ("task", number)
        try:
            with alone(keeper, number):
                return self._moves(keeper, task)
        except StoreError:
            raise
        except (JimError, OSError) as error:
            log.error("task %s: %s", task.name, error)
        return keeper.workers.put_off(key)

    def _moves(self, keeper: Keeper, task: Task) -> float:
        when = NEVER
        if is_tried(task):
            when = trial_waves.go_on(keeper, task, self.looking.looked(keeper, task))
        if task.state is TaskState.TESTING:
            when = min(when, self.looking.look(keeper, task))
        elif task.state is TaskState.RUNNING:
            when = min(when, tick(keeper, task.id), trial_waves.go_on_alone(keeper, task))
            task = keeper.store.tasks.one(task.id) or task  # these may have changed the throttle, or paused the task
            planned = self.planning.plan(keeper, task)
            when = min(when, self.looking.look(keeper, task), planned)
            if self.looking.is_behind(keeper, task):
                when = min(when, ask_again(keeper))
            elif planned > keeper.clock.boot():  # what is planned at once may be in the same wave
                when = min(when, self.releasing.release(keeper, task))
        else:
            self.looking.forget(keeper, task)
        when = min(when, hand_in(keeper, task, self._spoil), keep(keeper, task, self._spoil))
        when = min(when, ending.go_on(keeper, task, self._wish))
        self.looking.ends.close(keeper, task)
        return min(when, conclude(keeper, task))
