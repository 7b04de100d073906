"""Reads the overview of the site: its health, grid jobs in trouble, and the reasons for waiting."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jim.jobs import GridJob
from jim.model import NOTHING, State, Step
from jim.reading.before_submission import Wait
from jim.reading.job.waits import under_way
from jim.reading.keeper_life import Heart
from jim.reading.quantities import how_many
from jim.reading.view import Trouble, View
from jim.statusdb.list_filters import GridJobsAsked
from jim.statusdb.task_rows import PieceState, TaskState
from jim.tasks.effects import paused_by_itself

EXPLAINED = 50  # grid jobs with the most unsent local jobs
IN_TROUBLE = 10
STALE_INTERVALS = 3
LEAST_STALE = 15.0  # seconds
OPEN = tuple(step.value for step in Step if step is not Step.FINISHED)
NUMBER = re.compile(r"\b\d[\d,.]*\b")


class Health(NamedTuple):
    """The signs that the shown states are up to date."""

    heart: Heart
    seen: str  # when the batch system last gave a good answer
    trouble: Trouble
    system: str
    unfinished: bool
    answers_late: bool  # no good answer for longer than three query intervals, while there is work

    @property
    def stale(self) -> bool:
        """Tell whether states may have changed since they were seen."""
        return self.unfinished and (not self.heart.at_work or self.answers_late)


def health(view: View) -> Health:
    """Return the signs: the heartbeat, the last good answer, and known trouble."""
    heart, seen = view.heart(), view.seen()
    unfinished = view.store.unfinished() or bool(view.handed_in())
    limit = max(LEAST_STALE, STALE_INTERVALS * view.site.batch.query_seconds)
    late = bool(seen) and bool(view.store.in_batch()) and view.age(seen) > limit
    return Health(heart, seen, view.published.trouble, view.site.batch.system, unfinished, late)


def unfinished_counts(view: View) -> dict[State, int]:
    """Count the local jobs of unfinished grid jobs by state."""
    return view.store.seen.unfinished()


def in_trouble(view: View, since: str, aside: Mapping[str, str] = NOTHING) -> list[GridJob]:
    """Return unfinished grid jobs with failed local jobs, and grid jobs that have failed since that time.

    Without those of tasks: a task may have many, and tries again itself. Without those that somebody has laid aside:
    `aside` has the last change of each by its name, and whatever has gone on since is back.
    """
    unfinished = view.store.seen.grid_jobs_page(GridJobsAsked(steps=OPEN, failed=True, folded=True), IN_TROUBLE)
    ended = GridJobsAsked(outcomes=("failed",), changed=True, folded=True)
    ended_lately = [
        job for job in view.store.seen.grid_jobs_page(ended, IN_TROUBLE + len(aside)) if job.updated >= since
    ]
    return [*unfinished, *(job for job in ended_lately if aside.get(str(job.id)) != job.updated)][:IN_TROUBLE]


class WhatWaits(NamedTuple):
    """One reason for waiting, with the grid jobs that have the same reason except for numbers."""

    wait: Wait  # of the first of them
    grid_jobs: Sequence[int]
    differs: bool = False  # others have other numbers


def what_waits(view: View) -> list[WhatWaits]:
    """Return why the grid jobs with the most unsent local jobs wait; those in trouble are told of by `in_trouble`."""
    jobs = view.store.seen.grid_jobs_page(GridJobsAsked(steps=OPEN), 10_000)
    tallies = view.store.seen.tallies([job.id for job in jobs])
    jobs.sort(key=lambda job: -tallies.get(job.id, {}).get(State.WAITING, 0))
    by_words: dict[tuple[str, str], list[tuple[Wait, int]]] = {}
    for job in jobs[:EXPLAINED]:
        for wait in under_way(view, job):
            by_words.setdefault((NUMBER.sub("", wait.what), wait.witness), []).append((wait, job.id))
    groups = [
        WhatWaits(waits[0][0], [number for _, number in waits], len({wait.what for wait, _ in waits}) > 1)
        for waits in by_words.values()
    ]
    return sorted(groups, key=lambda group: -len(group.grid_jobs))


class Wanting(NamedTuple):
    """A task that wants a person."""

    name: str
    why: str
    more: str = ""  # what not everybody may read


class TasksSeen(NamedTuple):
    """The tasks at a glance."""

    counts: dict[str, int]  # by state
    with_failures: int  # tasks of which pieces have failed
    wanting: list[Wanting]


def tasks_seen(view: View, since: str, aside: Mapping[str, str] = NOTHING) -> TasksSeen:
    """Count the tasks, and name those that want a person: paused by itself, ended badly of late, blind at a source.

    What has ended badly and was laid aside, as for `in_trouble`, wants nobody.
    """
    tasks = view.store.tasks.all()
    counts = (
        view.store.seen_tasks.counts([each.id for each in tasks]) if tasks else {}
    )  # an older store has no such table
    failed = {task: found.get("pieces", {}).get(PieceState.FAILED, 0) for task, found in counts.items()}
    wanting = [Wanting(each.name, each.reason) for each in tasks if paused_by_itself(each)]
    for each in tasks:
        ended_badly = each.state is TaskState.FINISHED and each.outcome != State.COMPLETED.value
        if ended_badly and each.updated >= since and aside.get(each.name) != each.updated:
            pieces = failed.get(each.id)
            told = f": {how_many(pieces, 'piece')} failed" if pieces else each.reason and f": {each.reason}"
            wanting.append(Wanting(each.name, f"finished {each.outcome}{told}"))
        if each.state is TaskState.RUNNING:
            blind = [source.reason for source in view.store.pools.sources(each.id) if source.reason]
            wanting += [Wanting(each.name, "a source cannot be looked at", reason) for reason in blind[:1]]
    states = Counter(each.state.value for each in tasks)
    return TasksSeen(dict(states), sum(map(bool, failed.values())), wanting)
