"""Reads lists of grid jobs and local jobs, page by page, for the command line and the pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar

from jim.errors import BadRequest
from jim.jobs import GridJob
from jim.model import FROZEN, State, Step
from jim.reading.filters import TIME, Filter, Filters, numbers, read
from jim.reading.view import View
from jim.statusdb.list_filters import GridJobsAsked, LocalJobsAsked, LocalJobSeen
from jim.statusdb.status import status

Row = TypeVar("Row")
PAGE, LONGEST_PAGE = 50, 200
COUNTED = 10_000  # counts stop here
STATUSES = ("new", "submitted", "running", "suspended", "completed", "failed", "killed")
HERDS = ("single", "will split", "split", "not split")
# Whom a local job waits for.
WAITS: Mapping[str, tuple[State, ...]] = {
    "keeper": (State.WAITING,),
    "person": (State.WAITING,),
    "answer": (State.SUBMITTING,),
    "queue": (State.SUBMITTED,),
    "release": (State.HELD, State.SUSPENDED),
    "end": (State.RUNNING,),
    "verification": (State.COMPLETING,),
}
STATES = tuple(state.value for state in State if state is not State.UNKNOWN)
LIMIT = Filter(f"rows on a page, 1 to {LONGEST_PAGE}", "N", pattern=r"[1-9]\d?|1\d\d|200", once=True)
GRID_JOBS = {
    "failed": Filter("only grid jobs with failed or killed local jobs", choices=("yes",), once=True),
    "status": Filter("the status of a grid job", choices=STATUSES),
    "step": Filter("the step of a grid job", choices=tuple(step.value for step in Step)),
    "type": Filter("a job type", "NAME"),
    "owner": Filter("the owner of a grid job", "NAME"),
    "herd": Filter("whether a splitter makes the local jobs", choices=HERDS),
    "task": Filter("the name of a task, which is of a-z, 0-9 and -", "NAME", pattern=r"[a-z][a-z0-9-]{0,47}"),
    "master": Filter(
        "a grid job, and those that do its work again, as `jim recover` and `jim copy` make them",
        "G",
        pattern=r"[1-9]\d{0,14}",
    ),
    "q": Filter("words in name, type, owner, reason or key; or an id, a batch id, a mark, a host", "WORDS", once=True),
    "since": Filter(
        "created at this time or later: 2026-01-31, 2026-01-31T12:00Z, or an age: 2h, 3d", "TIME", pattern=TIME
    ),
    "until": Filter("created before this time", "TIME", pattern=TIME),
    "sort": Filter("the order: by id, or by the last change", choices=("id", "changed"), once=True),
    "after": Filter("where the page begins: the id of the last row before", pattern=r"([0-9T:.Z-]{1,40},)?\d{1,15}"),
    "limit": LIMIT,
}
LOCAL_JOBS = {
    "state": Filter("the state of a local job", choices=STATES),
    "reason": Filter("a reason as written; * stands for any words", "WORDS"),
    "host": Filter("a host on which an attempt ran", "NAME"),
    "attempt": Filter("the number of the latest attempt", "N", pattern=r"\d{1,6}"),
    "wait": Filter("whom a local job waits for", choices=tuple(WAITS)),
    "phase": Filter("a phase that has begun", "NAME"),
    "submission": Filter("the submission of the latest attempt", "K", pattern=r"\d{1,9}"),
    "n": Filter("numbers and ranges, such as 1-4,7", pattern=r"\d{1,8}(-\d{1,8})?(,\d{1,8}(-\d{1,8})?){0,99}"),
    "after": Filter("where the page begins: the number of the last row before", pattern=r"\d{1,8}", once=True),
    "limit": LIMIT,
}
WITH_WAVES = {**GRID_JOBS, "waves": Filter("also the grid jobs of tasks, one by one", choices=("yes",), once=True)}
NOT_NARROWING = ("sort", "limit", "waves")
NARROWING = tuple(name for name in LOCAL_JOBS if name not in ("after", "limit"))


class Page(NamedTuple, Generic[Row]):
    """The rows of a page, the row before the next page, and the number of all rows."""

    rows: Sequence[Row]
    after: str
    count: int | None  # type: ignore[assignment]  # None: more than COUNTED

    @property
    def shown_of(self) -> int | str:
        """Return the number of all rows, in words if they are not all counted."""
        return f"more than {COUNTED}" if self.count is None else self.count


# Grid jobs


def is_folded(filters: Filters) -> bool:
    """Tell whether a page shows tasks instead of their grid jobs: unless somebody looks for certain grid jobs."""
    return all(name in ("sort", "limit", "after") for name, _ in filters.given)


def grid_jobs(view: View, filters: Filters, *, names: bool, folded: bool = False) -> Page[GridJob]:
    """Return a page of grid jobs, the newest first, and before them those in the inbox; folded: none of tasks.

    With `names`, which only those who may see requests may have, words are also looked for in names.
    """
    asked = _asked(view, filters)._replace(folded=folded, names=names)
    limit = int(filters.one("limit", str(PAGE)))
    waiting = [] if filters.of("after") else _in_inbox(view, asked, filters)
    found = view.store.seen.grid_jobs_page(asked, limit + 1)
    more = found[limit:]
    shown = [*waiting, *found[:limit]]
    last = shown[-1] if more else None
    after = "" if last is None else f"{last.updated},{last.id}" if asked.changed else str(last.id)
    count = view.store.seen.count_grid_jobs(asked, COUNTED)
    return Page(shown, after, None if count > COUNTED else count + len(waiting))


def unfinished(view: View, filters: Filters) -> list[GridJob]:
    """Return all grid jobs that fit and are not finished, the oldest first."""
    found = {job.id: job for job in _in_inbox(view, _asked(view, filters), filters)}
    steps = [("step", step.value) for step in Step if step is not Step.FINISHED]
    asked = read(GRID_JOBS, [*filters.given, *steps, ("limit", str(LONGEST_PAGE))])
    while True:
        page = grid_jobs(view, asked, names=True)
        found |= {job.id: job for job in page.rows}
        if not page.after:
            return [found[number] for number in sorted(found)]
        asked = asked.but(after=page.after)


def _in_inbox(view: View, asked: GridJobsAsked, filters: Filters) -> list[GridJob]:
    """Return the grid jobs still in the inbox, if the list would show new grid jobs first."""
    known = {each for each in filters.given if each[0] not in NOT_NARROWING}
    if not known <= {("status", "new"), ("step", "accepted")}:
        return []
    found = view.handed_in()
    stored = {job.id for job in view.store.seen.grid_jobs_page(asked, LONGEST_PAGE)} if found else set()
    found = [job for job in found if job.id not in stored and not (asked.folded and job.is_of_task)]
    return sorted(found, key=lambda job: -job.id)


def _asked(view: View, filters: Filters) -> GridJobsAsked:
    asked = GridJobsAsked(
        steps=filters.of("step"),
        types=filters.of("type"),
        owners=filters.of("owner"),
        herds=filters.of("herd"),
        words=tuple(filters.one("q").split()),
        since=max((time_of(view, each) for each in filters.of("since")), default=""),
        until=min((time_of(view, each) for each in filters.of("until")), default=""),
        failed=bool(filters.of("failed")),
        tasks=tuple(view.store.tasks.named(each).id for each in filters.of("task")),
        masters=tuple(map(int, filters.of("master"))),
        changed=filters.one("sort") == "changed",
        after=_after(filters),
    )
    wanted = filters.of("status")
    if not wanted:
        return asked
    return asked._replace(outcomes=wanted, also=tuple(_unfinished_with(view, wanted)))


def _unfinished_with(view: View, wanted: Sequence[str]) -> list[int]:
    """Return the unfinished grid jobs with one of these statuses, which the store does not have as a column."""
    steps = tuple(step.value for step in Step if step is not Step.FINISHED)
    jobs = view.store.seen.grid_jobs_page(GridJobsAsked(steps=steps), COUNTED)
    tallies, strict = view.store.seen.tallies([job.id for job in jobs]), view.site.site.strict_status
    return [job.id for job in jobs if status(job, tallies.get(job.id, {}), strict=strict) in wanted]


def time_of(view: View, text: str) -> str:
    """Read a time or an age, and return the time in the store's form."""
    if text[-1] in "smhdw":
        unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[text[-1]]
        try:
            then = datetime.fromisoformat(view.now()) - timedelta(**{unit: int(text[:-1])})
        except OverflowError as error:
            raise BadRequest(f"{text!r} is longer ago than calendars go") from error
        return f"{then.isoformat(timespec='milliseconds')[:23]}Z"
    try:
        datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError as error:
        raise BadRequest(f"{text!r} is not a time: {error}") from error
    return text.removesuffix("Z")


def _after(filters: Filters) -> tuple[str, int] | None:
    text = filters.one("after")
    changed, _, number = text.rpartition(",")
    if text and bool(changed) != (filters.one("sort") == "changed"):
        raise BadRequest(f"after cannot be {text!r} in this order")
    return (changed, int(number)) if text else None


def records(view: View, jobs: Sequence[GridJob], names: Mapping[int, str]) -> list[dict[str, Any]]:
    """Return the record of each grid job, with its name as far as whoever asks may see it."""
    return [view.record(job) | {"name": names.get(job.id, "")} for job in jobs]


# Local jobs


def local_jobs(view: View, job: GridJob, filters: Filters) -> Page[LocalJobSeen]:
    """Return a page of the local jobs of a grid job, by number."""
    asked, limit = asked_of(filters), int(filters.one("limit", str(PAGE)))
    found = view.store.seen.local_jobs_page(job.id, asked, limit + 1) if job.size else []
    after = str(found[limit - 1].n) if len(found) > limit else ""
    return Page(found[:limit], after, _count(view, job, filters, asked))


def _count(view: View, job: GridJob, filters: Filters, asked: LocalJobsAsked) -> int | None:
    """Count local jobs; if only states are given, use the counts of the store."""
    names = {name for name, _ in filters.given} - {"after", "limit"}
    if names <= {"state"}:
        counts = view.store.counts(job.id)
        return sum(counts.get(state, 0) for state in asked.states) if names else sum(counts.values())
    count = view.store.seen.count_local_jobs(job.id, asked, COUNTED)
    return None if count > COUNTED else count


def asked_of(filters: Filters) -> LocalJobsAsked:
    """Return the filters for local jobs as the store takes them."""
    states = tuple(map(State, filters.of("state")))
    waits = filters.of("wait")
    waiting = tuple(state for each in waits for state in WAITS[each])
    held = None if {"keeper", "person"} <= {*waits} or not {"keeper", "person"} & {*waits} else "person" in waits
    if held is not None and len(waits) > 1:
        raise BadRequest("wait=keeper or wait=person alone cannot be combined with other values of wait")
    both = tuple(state for state in states if state in waiting) if states and waiting else states or waiting
    return LocalJobsAsked(
        states=both or ((State.UNKNOWN,) if states and waiting else ()),
        reasons=filters.of("reason"),
        hosts=filters.of("host"),
        attempts=tuple(map(int, filters.of("attempt"))),
        held=held,
        phases=filters.of("phase"),
        submissions=tuple(map(int, filters.of("submission"))),
        numbers=tuple(each for text in filters.of("n") for each in numbers(text, _no_range)),
        after=int(filters.one("after", "-1")),
    )


def _no_range(text: str) -> BadRequest:
    return BadRequest(f"n cannot be {text!r}: the first number of a range is the smaller one")


def is_narrowed(filters: Filters) -> bool:
    """Tell whether filters exclude any local jobs."""
    return any(name in NARROWING for name, _ in filters.given)


def counted(counts: Mapping[State, int]) -> list[tuple[State, int]]:
    """Return counts in the order in which pages show states."""
    return [(state, counts[state]) for state in IN_ORDER if counts.get(state)]


IN_ORDER = (
    State.COMPLETED,
    State.COMPLETING,
    State.RUNNING,
    State.SUSPENDED,
    State.HELD,
    State.SUBMITTED,
    State.SUBMITTING,
    State.WAITING,
    State.FAILED,
    State.KILLED,
    State.NEW,
    *sorted(FROZEN, key=lambda state: state.value),
)


def first_word(text: str) -> str:
    """Return the single word of a search, which may be a batch id, mark or host; empty if there are several."""
    found = re.fullmatch(r"\s*(\S+)\s*", text)
    return found[1] if found else ""
