"""Says in the batch system's own words why the jobs of a grid job wait in its queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jim.jobs import GridJob, LocalJob
from jim.model import Kind, State, Step
from jim.reading.quantities import how_many, span
from jim.reading.view import View
from jim.statusdb.list_filters import QueueWords

MOST = 5  # different words in one sentence


def words(view: View, job: GridJob, state: State) -> str:
    """Return what the batch system says of the waiting jobs of a grid job, the most frequent words first."""
    return _sentence(view, [each for each in _of(view, job) if each.state == state.value])


def words_for(view: View, job: GridJob, local: LocalJob) -> str:
    """Return what it says of a local job; where it says different things, of all that were submitted together."""
    own = [each for each in _of(view, job) if each.k == local.submission and each.state == local.state.value]
    if len(own) == 1:
        return f"{own[0].words}, for {span(view.age(own[0].since))}"
    return f"of its submission: {_sentence(view, own)}" if own else ""


def records(view: View, job: GridJob) -> list[dict[str, Any]]:
    """Return the groups of words for documents, with the time of the listing that they are from."""
    seen = view.seen()
    return [each.facts() | {"seen": seen} for each in _of(view, job)]


def summary(view: View, job: GridJob) -> Iterator[str]:
    """Yield what it says of each state in which jobs wait."""
    for state in (State.SUBMITTED, State.HELD):
        if said := words(view, job, state):
            yield f"{said} ({state.value})" if state is State.HELD else said


def waits_in_vain(view: View, job: GridJob) -> Iterator[str]:
    """Tell of local jobs that can never start: whoever waits for them waits for nothing."""
    if view.store.counts(job.id).get(State.SUBMITTED):
        reasons, _ = view.store.seen.reasons(job.id, (State.SUBMITTED,), MOST)
        vain = (each for each in reasons if each.reason.kind is Kind.NEVER_STARTS)
        yield from (f"{how_many(each.times, 'local job')}: {each.reason}" for each in vain)


def _of(view: View, job: GridJob) -> list[QueueWords]:
    """Return the groups of an unfinished grid job; jobs that have left the queue since the listing wait no more."""
    if job.step is Step.FINISHED:
        return []
    counts = {state.value: count for state, count in view.store.counts(job.id).items()}
    return [each for each in view.store.queue_words.of(job.id) if counts.get(each.state)]


def _sentence(view: View, groups: list[QueueWords]) -> str:
    counts, since = dict[str, int](), dict[str, str]()
    for each in groups:
        counts[each.words] = counts.get(each.words, 0) + each.jobs
        since[each.words] = min(since.get(each.words, each.since), each.since)
    largest = sorted(counts, key=lambda said: (-counts[said], said))
    parts = [f"{counts[said]:,} × {said} (for {span(view.age(since[said]))})" for said in largest[:MOST]]
    rest = sum(counts[said] for said in largest[MOST:])
    return ", ".join([*parts, f"{rest:,} in other words"] if rest else parts)
