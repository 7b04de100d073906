"""What nobody expected in the work for one task: it is logged with its place, and stops this task alone.

Errors of JIM and of the system have their own handlers, and pass.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from jim.errand import Errand
from jim.errors import Fault, JimError, as_fault, words_of
from jim.statusdb.task_rows import Task, TaskState
from jim.tasks.keeping import Keeper, ask_again

log = logging.getLogger(__name__)
KNOWN = (OSError, JimError)
T = TypeVar("T")


def in_words(task: Task, error: BaseException) -> str:
    """Return any error in words; of what nobody expected, the log has the place."""
    error = error if isinstance(error, KNOWN) else Fault(error)
    if isinstance(error, Fault):
        log.error("task %s: %s", task.name, error, exc_info=error.__cause__)
    return words_of(error)


@contextmanager
def alone(keeper: Keeper, number: int) -> Iterator[None]:
    """Let what nobody expected stop one task, and no other work of the keeper. What was being stored is undone."""
    try:
        with as_fault():
            yield
    except Fault as error:
        _stop(keeper, number, error)


def _stop(keeper: Keeper, number: int, error: Fault) -> None:
    task, words = keeper.store.tasks.one(number), str(error)
    key = ("task fault", number, words)
    if keeper.workers.due(key) <= keeper.clock.boot():  # it may come again with each change
        keeper.workers.put_off(key)
        log.error("task %s: %s", task.name if task else number, words, exc_info=error.__cause__)
    if task and task.state is TaskState.RUNNING:
        keeper.store.tasks.change(number, state=TaskState.PAUSED, reason=f"by itself: {words}")
    elif task and task.state is TaskState.TESTING:
        keeper.store.tasks.change(number, state=TaskState.CONFIGURED, reason=f"test {task.tests} failed: {words}")


def start(keeper: Keeper, task: Task, errand: Errand[T]) -> float:
    """Start an errand of a task; return when to ask again."""
    done, failed = partial(_done, keeper, task, errand), partial(_failed, keeper, task, errand)
    own = replace(errand, done=done, failed=failed, heeds=(BaseException,))
    return min(keeper.workers.start(own), ask_again(keeper))


def _done(keeper: Keeper, task: Task, errand: Errand[T], result: T) -> None:
    with alone(keeper, task.id):
        errand.done(result)


def _failed(keeper: Keeper, task: Task, errand: Errand[T], error: BaseException) -> None:
    with alone(keeper, task.id):
        if errand.failed is None or not isinstance(error, errand.heeds):
            raise error
        errand.failed(error)


def later(keeper: Keeper, task: Task, key: Hashable, work: Callable[[], None]) -> None:
    """Let the loop do something for a task after all waiting results."""
    keeper.workers.later(key, partial(_do, keeper, task, work))


def _do(keeper: Keeper, task: Task, work: Callable[[], None]) -> None:
    with alone(keeper, task.id):
        work()
