"""The log of a task: its own journal and the ends of its attempts, each line with a level."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from jim.jobs import Journal
from jim.model import IN_BATCH, State
from jim.reading.view import View
from jim.statusdb.task_rows import Task, Wave
from jim.tasks.effects import TaskVerb

WAVES = 64  # the last ones: of a task of a million pieces, older ones are in their grid jobs' journals
LINES = 10_000  # of each journal
BEFORE = frozenset(each.value for each in IN_BATCH)


class Level(IntEnum):
    """How much a line matters."""

    ERROR = 40  # a piece has failed, or the task has ended with failures
    WARNING = 30  # it goes on by itself, or somebody has asked in vain
    INFO = 20
    DEBUG = 10  # each step of each local job


OF_TASK = {
    "with failures": Level.ERROR,
    **dict.fromkeys(("paused", "damaged"), Level.WARNING),
    **{f"{verb} changes nothing": Level.WARNING for verb in TaskVerb},
}


class LogLine(NamedTuple):
    """One line of the log of a task."""

    at: str
    level: Level
    of: str  # the task, or a piece as the local job that it is
    what: str
    reason: str


def log_of(view: View, task: Task, least: Level, last: int) -> list[LogLine]:
    """Return the last lines of a task's log that matter so much, the oldest first."""
    own = (
        LogLine(line.at, OF_TASK.get(line.what, Level.INFO), task.name, line.what, line.reason)
        for line in view.store.tasks.journal(task.id, LINES)
    )
    lines = [*own, *_of_waves(view, task)]
    return sorted((each for each in lines if each.level >= least), key=_time)[-last:]


def _time(line: LogLine) -> str:
    return line.at


def _of_waves(view: View, task: Task) -> Iterator[LogLine]:
    """Yield what happened to the local jobs of the last waves."""
    waves = [each for each in view.store.waves.all(task.id) if not each.t and each.grid]
    for wave in waves[-WAVES:]:
        pieces = {each.n: each.p for each in view.store.pieces.of_wave(task.id, wave.w)}
        for line in view.store.journals.of(wave.grid, last=LINES):
            if line.n is not None:
                yield LogLine(
                    line.at, _level(line), _named(task, wave, pieces.get(line.n), line.n), line.now, line.reason
                )


def _level(line: Journal) -> Level:
    if line.now == State.FAILED.value:
        return Level.ERROR
    again = line.now == State.WAITING.value and line.was in BEFORE
    return Level.WARNING if again else Level.DEBUG


def _named(task: Task, wave: Wave, p: int | None, n: int) -> str:
    local = f"{wave.grid}.{n}"
    return local if p is None else f"{task.name}/{p} = {local}"
