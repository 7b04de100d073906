"""Tells how far a grid job is in words that need no manual: "running: 2 of 9, 3 completed"."""

from __future__ import annotations

from collections.abc import Mapping

from jim.jobs import GridJob
from jim.model import FROZEN, State, Step, Verb
from jim.reading.quantities import counted

# What people are told first of a grid job that has not ended: the first of these that some local jobs are in.
UNDER_WAY = {
    "running": (State.RUNNING, State.COMPLETING),
    "suspended": (State.SUSPENDED,),
    "held": (State.HELD,),
    "queued": (State.SUBMITTED,),
    "waiting": (State.SUBMITTING, State.WAITING),
}
ENDS = {
    "failed": (State.FAILED,),
    "completed": (State.COMPLETED,),
    "killed": (State.KILLED,),
    "never submitted": (State.NEW,),
}
UNTOLD = ("queued", "waiting")  # beside something else: they are what is left
NOT_SPLIT = {Step.ACCEPTED: "not split yet", Step.RESOLVED: "being split"}


def progress(job: GridJob, counts: Mapping[State, int]) -> str:
    """Return how far a grid job is; the number after "of" is that of the local jobs that count."""
    total = sum(count for state, count in counts.items() if state not in FROZEN)
    if not total:
        frozen = sum(counts.values())
        return f"frozen: {frozen:,} of {frozen:,}" if frozen else NOT_SPLIT.get(job.step, "no local jobs")
    groups = {name: sum(counts.get(state, 0) for state in states) for name, states in (UNDER_WAY | ENDS).items()}
    there = {name: count for name, count in groups.items() if count}
    first = job.outcome if job.outcome in there else next(iter(there))
    others = counted((name, count) for name, count in there.items() if name != first and name not in UNTOLD)
    words = f"{first}: {there[first]:,} of {total:,}{f', {others}' if others else ''}"
    if job.step is Step.COLLECTING:
        return f"collecting outputs; {words}"
    return f"{job.wish} requested; {words}" if job.wish == Verb.CANCEL and job.step is not Step.FINISHED else words
