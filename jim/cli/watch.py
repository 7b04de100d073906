"""jim watch: follows a grid job to its end, with bars on a terminal, otherwise with lines, or with one final record."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jim import run_grid_job
from jim.cli import outputs
from jim.cli.text import columns, plain, say, say_json
from jim.errors import Away, Busy
from jim.model import State, Step
from jim.reading.job.phases import Phase, phases
from jim.reading.job.queue_words import waits_in_vain
from jim.reading.quantities import how_many
from jim.reading.view import add_json, look
from jim.site.lock import FRESH_SECONDS

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 60.0
LINE_SECONDS = 2.0  # seconds between two lines that differ only in the progress of phases
LEAST_FOR_BARS = 60  # columns of a terminal
FINAL = [state.value for state in State if state.final]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim watch`."""
    parser.add_argument("target", metavar="G", help="a grid job, or any of its local jobs")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Follow the grid job; exit 0 if it completed, otherwise 1."""
    number = look().herd(arguments.target)
    with interrupted([number]):
        code = follow(number, quiet=arguments.json)
    if arguments.json:
        view = look()
        say_json(view.record(view.grid_job(number)))
    return code


@contextmanager
def interrupted(numbers: Sequence[int]) -> Iterator[None]:
    """Say, if somebody presses Ctrl-C, that grid jobs run on, and how to follow or cancel them."""
    try:
        yield
    except KeyboardInterrupt:
        ids = [str(number) for number in numbers]
        verb, it = ("runs", "it") if len(ids) == 1 else ("run", "them")
        follows = f"`jim watch {ids[0]}` follows {'it' if len(ids) == 1 else 'one'}"
        told = f"{', '.join(ids)} {verb} on: {follows}, `jim cancel {' '.join(ids)}` cancels {it}"
        raise KeyboardInterrupt(told) from None


class Sight(NamedTuple):
    """The state of a grid job at one moment."""

    record: dict[str, Any]
    size: int
    progress: str
    phases: list[Phase]
    keeper: bool
    in_vain: str = ""  # why local jobs wait for ever

    @property
    def finished(self) -> bool:
        """Tell whether the grid job has ended."""
        return bool(self.record["step"] == Step.FINISHED.value)

    @property
    def done(self) -> int:
        """Return the number of local jobs that have ended."""
        return sum(self.record["counts"].get(state, 0) for state in FINAL)

    def head(self) -> str:
        """Return how far it is in words."""
        if self.finished:  # the reason stands in the result
            return f"{self.record['id']} finished ({self.progress})"
        reasons = "".join(f"; {plain(each)}" for each in (self.record["reason"], self.in_vain) if each)
        return f"{self.record['id']} {self.progress}{reasons}"


class Screen(Protocol):
    """An output for sights."""

    def show(self, sight: Sight) -> None:
        """Show a sight instead of the last one."""

    def close(self) -> None:
        """Keep the last sight on the screen."""


def follow(number: int, *, quiet: bool = False, pause: Callable[[float], None] = time.sleep) -> int:
    """Show a grid job until it is finished, then its result."""
    clock, woken = time.monotonic, time.monotonic()
    with ExitStack() as stack:
        screen = None if quiet else stack.enter_context(closing(_screen()))
        while True:
            began = clock()
            sight = _patient_sight(number, pause)
            if screen:
                screen.show(sight)
            if sight.finished:
                break
            if not sight.keeper and began - woken > FRESH_SECONDS:
                run_grid_job.wake(look().site.state)
                woken = began
            pause(max(LOOK_SECONDS, 10 * (clock() - began)))  # a large grid job is read less often
    return _end(number, quiet=quiet)


def _patient_sight(number: int, pause: Callable[[float], None]) -> Sight:
    """Look at a grid job; again for a while, if a file of the state directory cannot be read just now."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return _sight(number)
        except (Busy, Away, OSError):
            if time.monotonic() > until:
                raise
        pause(LOOK_SECONDS)


def _sight(number: int) -> Sight:
    view = look()
    try:
        job = view.grid_job(number)
        record, in_vain = view.record(job), next(waits_in_vain(view, job), "")
        return Sight(record, job.size, view.progress(job), phases(view, job), view.heart().beats, in_vain)
    finally:
        view.store.close()


def _end(number: int, *, quiet: bool) -> int:
    job = look().grid_job(number)
    if not quiet:
        say(f"{number} {job.outcome}{f': {plain(job.reason)}' if job.reason else ''}")
        outputs.report(job)
    return 0 if job.outcome == State.COMPLETED.value else 1


def _screen() -> Screen:
    return Bars() if sys.stdout.isatty() else Lines()


class Lines:
    """Plain lines, one for each change."""

    def __init__(self) -> None:
        self._head, self._line, self._at = "", "", 0.0

    def show(self, sight: Sight) -> None:
        """Print a line if it differs from the last one."""
        head, now = sight.head(), time.monotonic()
        line = " | ".join([head, *(plain(phase.words()) for phase in sight.phases)])
        if head == self._head and (line == self._line or now - self._at < LINE_SECONDS):
            return
        self._head, self._line, self._at = head, line, now
        say(line)
        sys.stdout.flush()

    def close(self) -> None:
        """Do nothing: printed lines stay."""


class Bars:
    """A bar for the local jobs that have ended, and a bar for each phase."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._tasks: dict[str, TaskID] = {}
        wrapping = TextColumn("{task.fields[words]}", markup=False, table_column=Column())
        name = TextColumn("{task.description}", markup=False)
        wide = (
            name,
            BarColumn(bar_width=30 if columns() >= 100 else 15),
            MofNCompleteColumn(),
            wrapping,
            TimeElapsedColumn(),
        )
        self._bars: Progress = Progress(
            *(wide if columns() >= LEAST_FOR_BARS else (name, MofNCompleteColumn(), wrapping)),
            console=Console(markup=False, emoji=False, highlight=False),
        )
        self._bars.start()

    def show(self, sight: Sight) -> None:
        """Update the bars."""
        self._bar("", "local jobs", sight.done, sight.size, sight.head())
        for phase in sight.phases:
            words = f"{plain(phase.unit)} in {how_many(phase.local_jobs, 'local job')}"
            self._bar(phase.name, plain(phase.name), phase.done, phase.total, words)

    def _bar(self, key: str, name: str, done: int, total: int, words: str) -> None:
        if key not in self._tasks:
            self._tasks[key] = self._bars.add_task(name, total=None, words=words)
        self._bars.update(self._tasks[key], completed=done, total=total or None, words=words)

    def close(self) -> None:
        """Leave the bars on the screen."""
        self._bars.stop()
