"""Grid jobs and tasks that somebody has laid aside: the overview leaves them out, and nothing else changes.

The state directory keeps the list in a file of its own: what was laid aside is no state of a job. One that goes on
after it was laid aside, for example because somebody has tried it again, is back by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from jim.errors import BadRequest, BadSite, JimError, UnknownJob
from jim.files import locked, read_regular, replace_durably
from jim.jobs import GridJob
from jim.model import State, Step
from jim.reading.view import View
from jim.statusdb.task_rows import Task, TaskState

FILE = "pages.aside"
MOST = 5_000  # the last ones; one that is forgotten is on the overview again
LONGEST = 4 * 1024 * 1024
Thing = GridJob | Task


class Aside(NamedTuple):
    """What was laid aside: by whom and when, and its last change before that."""

    updated: str
    by: str
    at: str


def name_of(thing: Thing) -> str:
    """Return the name of a grid job or a task; no task has a name of digits."""
    return str(thing.id) if isinstance(thing, GridJob) else thing.name


def named(view: View, name: str) -> Thing:
    """Return the grid job of this number, or the task of this name."""
    if name.isdecimal() and name.isascii() and len(name) < 16:
        return view.grid_job(int(name))
    return view.store.tasks.named(name)


def not_over(thing: Thing) -> str:
    """Return why a grid job or task cannot be laid aside; empty if it can."""
    ended = thing.step is Step.FINISHED if isinstance(thing, GridJob) else thing.state is TaskState.FINISHED
    if not ended:
        return f"{name_of(thing)} has not ended; what goes on stays on the overview"
    is_well = thing.outcome == State.COMPLETED.value
    return f"{name_of(thing)} has completed; only what has failed is laid aside" if is_well else ""


class LaidAside:
    """The list of a state directory."""

    def __init__(self, state: Path) -> None:
        self._file = state / FILE

    def all(self) -> dict[str, Aside]:
        """Return what is laid aside, by name; a file that nobody can read lays nothing aside."""
        with suppress(BadSite):
            return self._read()
        return {}

    def changes(self) -> dict[str, str]:
        """Return the last change of each before it was laid aside, by name."""
        return {name: entry.updated for name, entry in self.all().items()}

    def has(self, thing: Thing, entries: Mapping[str, Aside]) -> bool:
        """Tell whether a grid job or a task is laid aside, and has not gone on since."""
        entry = entries.get(name_of(thing))
        return entry is not None and entry.updated == thing.updated and not not_over(thing)

    def about(self, thing: Thing) -> bool | None:
        """Tell whether a grid job or a task is laid aside; None: it cannot be."""
        return None if not_over(thing) else self.has(thing, self.all())

    def things(self, view: View, most: int) -> list[tuple[Thing, Aside]]:
        """Return the last grid jobs and tasks that were laid aside and are still there."""
        entries, kept = self.all(), list[tuple[Thing, Aside]]()
        for name, entry in islice(reversed(entries.items()), 10 * most):
            with suppress(UnknownJob, BadRequest):  # it has been removed since
                thing = named(view, name)
                kept += [(thing, entry)] if self.has(thing, entries) else []
        return kept[:most]

    def lay(self, thing: Thing, by: str, at: str) -> None:
        """Lay one aside."""
        if why := not_over(thing):
            raise BadRequest(why)
        entry = {name_of(thing): Aside(thing.updated, by, at)}
        self._change(lambda entries: {name: each for name, each in entries.items() if name not in entry} | entry)

    def bring(self, name: str) -> bool:
        """Bring one back to the overview; tell whether it was laid aside."""
        was = name in self.all()
        if was:
            self._change(lambda entries: {each: entry for each, entry in entries.items() if each != name})
        return was

    def _change(self, change: Callable[[dict[str, Aside]], dict[str, Aside]]) -> None:
        with locked(self._file.with_name(f".{FILE}.lock")):
            kept = list(change(self._read()).items())[-MOST:]
            replace_durably(self._file, json.dumps(dict(kept)).encode())

    def _read(self) -> dict[str, Aside]:
        try:
            content = json.loads(read_regular(self._file, LONGEST))
            return {str(name): Aside(*map(str, entry)) for name, entry in content.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError, JimError) as error:
            words = f"{self._file} cannot be read: {error}; remove it, and everything is on the overview again"
            raise BadSite(words) from error
