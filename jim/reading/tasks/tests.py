"""Tells how the last test of a task went: its grid jobs, what each brought, and how long an event takes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from jim.errors import UnknownJob
from jim.jobs import GridJob
from jim.model import State
from jim.reading.quantities import how_many, number, span
from jim.reading.tasks.attempts import exit_record
from jim.reading.view import View
from jim.statusdb.task_rows import Task, TaskState, Wave, WaveState
from jim.tasks.effects import FAILED, PASSED, TaskVerb, as_named, is_tried
from jim.tasks.file import streams


class TriedPiece(NamedTuple):
    """One piece of a test."""

    local_job: str  # empty: it is not handed in yet
    state: str
    reason: str
    seconds: float | None
    events: int
    files: int  # that it left
    memory_mb: int | None = None  # the most that was seen in use
    outputs: Mapping[str, int] = {}  # files that belong to each output pool
    missing: str = ""  # what the output pools lack of it

    def words(self) -> str:
        """Return how it went."""
        took = f"{self.seconds:,.0f} s" if self.seconds is not None else ""
        told = [took, how_many(self.events, "event") if self.events else ""]
        told += [f"{self.memory_mb:,} MB" if self.memory_mb is not None else ""]
        told += self.brought() if took else []
        return "  ".join(filter(None, (self.local_job, self.state, self.reason, *told)))

    def brought(self) -> list[str]:
        """Return which files it left, by output pool; where the task has none, how many."""
        named = [f"{name}: {how_many(count, 'file')}" for name, count in self.outputs.items()]
        return named or [how_many(self.files, "file")]


class TestFacts(NamedTuple):
    """The last test of a task; number 0: it was never tried out."""

    number: int
    pieces: list[TriedPiece]
    criteria: list[tuple[str, str]]  # and whether they are met: yes, no, not yet, or not known: the test ended before
    seconds_per_event: float | None
    estimate: tuple[int, float] | None  # events of a usual piece, and the seconds that they take

    def measured(self) -> list[str]:
        """Return what the test has measured, in words."""
        seconds = [each.seconds for each in self.pieces if each.seconds is not None]
        words = []
        if self.seconds_per_event:  # times of exit records are whole seconds: 0 tells nothing of an event
            words.append(f"{number(self.seconds_per_event)} s per event")
        if self.estimate and self.estimate[1]:
            words.append(f"a piece of {how_many(self.estimate[0], 'event')} would take about {span(self.estimate[1])}")
        if seconds:
            words.append(f"the longest piece took {span(max(seconds)) if max(seconds) else 'less than a second'}")
        memory = [each.memory_mb for each in self.pieces if each.memory_mb is not None]
        return [*words, *([f"at most {max(memory):,} MB were in use"] if memory else [])]


def test_facts(view: View, task: Task) -> TestFacts:
    """Return what is known of the last test of a task."""
    waves = sorted(
        (each for each in view.store.waves.all(task.id) if each.t == task.tests and each.t), key=_by_grid_job
    )
    pieces = [_tried(view, task, each) for each in waves]
    timed = [(each.seconds, each.events) for each in pieces if each.seconds is not None and each.events]
    events = sum(count for _, count in timed)
    per_event = sum(seconds for seconds, _ in timed) / events if events else None
    usual = max((each.events_per_piece for each in task.spec.sources), default=0)
    estimate = (usual, usual * per_event) if usual and per_event is not None else None
    return TestFacts(task.tests, pieces, list(_criteria(task, pieces, _verdict(view, task))), per_event, estimate)


def _by_grid_job(wave: Wave) -> tuple[bool, int, int]:
    """Let waves stand in the order of their grid jobs; those that have none yet come last."""
    return not wave.grid, wave.grid, wave.w


def _verdict(view: View, task: Task) -> str:
    """Return whether the last test has passed: yes, no, not yet, or not run: it was cancelled before that."""
    if is_tried(task):
        return "not yet"
    told = [each.what for each in view.store.tasks.journal(task.id, last=-1)]
    for verdict, words in (("yes", PASSED), ("no", FAILED)):
        if f"test {task.tests} {words}" in told:  # of a task that ran
            return verdict
    since = told[max((n for n, what in enumerate(told) if what == f"{TaskVerb.TEST} requested"), default=0) :]
    if TaskState.READY in since:
        return "yes"
    return "no" if TaskState.CONFIGURED in since else "not run"


def _tried(view: View, task: Task, wave: Wave) -> TriedPiece:
    """Return what is known of a piece of a test."""
    events = sum(int(each[3].get("events", (0, 0))[1]) for each in json.loads(wave.pieces or "[]"))
    job = _grid_job(view, wave)
    if job is None or not job.size:
        reason = wave.reason or (job.reason if job else "")
        state = "refused" if wave.state is WaveState.REFUSED else job.step.value if job else "to be handed in"
        return TriedPiece(str(wave.grid or ""), state, reason, None, events, 0)
    local = view.store.local_job(job.id, 0)
    last = view.store.last_run(job.id, 0) if local.state is State.COMPLETED else None
    record = exit_record(last.record) if last else None
    known = local.state.value, local.reason, record.seconds if record else None, events
    if record is None:
        return TriedPiece(f"{job.id}.0", *known, 0)
    names = [each.name for each in record.files]
    outputs = {each.name: len(streams.files_of(each, names)) for each in task.spec.outputs}
    missing = streams.missing(task.spec.outputs, names)
    return TriedPiece(f"{job.id}.0", *known, len(names), record.peak_mb, outputs, missing)


def _grid_job(view: View, wave: Wave) -> GridJob | None:
    """Return the grid job of a wave, unless it is not there yet, or was removed."""
    with suppress(UnknownJob):
        return view.store.grid_job(wave.grid)
    return None


def _criteria(task: Task, pieces: list[TriedPiece], verdict: str) -> list[tuple[str, str]]:
    """Return what a test asks for, and whether that is met."""
    if not pieces:
        return []
    test, failed = task.spec.test, [each for each in pieces if each.state in ("failed", "killed", "new", "refused")]
    done = [each for each in pieces if each.state == State.COMPLETED.value]
    rest = "yes" if len(done) == len(pieces) else "not yet" if verdict == "not yet" else "not known"
    found = [("all pieces complete", "no" if failed else rest)]
    most = test.most_seconds
    if most:
        late = any(each.seconds is not None and each.seconds > most for each in pieces)
        found.append((f"each within {most:g} s", "no" if late else rest))
    if task.spec.outputs:
        lacking = any(each.missing for each in pieces)
        found.append(("each brings its outputs", "no" if lacking else rest))
    if test.check:
        check = [as_named(test.check[0]), *test.check[1:]]
        before = any(judged == "no" for _, judged in found)
        found.append((f"check {shlex.join(check)} exits 0", "not run" if before else verdict))
    return found
