"""Reads the numbers that monitoring needs: counts, ages and rooms, which name nobody but an account.

How many numbers there are is bounded: each label has one of a few values that are declared here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from jim.evidence.avoiding import Avoided
from jim.model import Kind, State, Step
from jim.reading.exposition import GAUGE, Family, Sample
from jim.reading.hosts import avoided_now
from jim.reading.job.history import ENDS, last_hour
from jim.reading.site.site_state import SOON_HOURS, ending
from jim.reading.site.site_view import health, unfinished_counts
from jim.reading.view import View
from jim.site.space import room
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import paused_by_itself
from jim.workdir.credentials import KINDS as CREDENTIALS

MOST_FAILED = 20_000  # attempts that are looked at
OTHER = "other"  # a reason without a kind
PREFIX, ACCOUNT = "jim_", "account"
READ, READABLE = "jim_read_timestamp_seconds", "jim_account_readable"
DISKS, OF = ("state", "work"), ("batch system", "history")
KINDS = (OTHER, *(each.value for each in Kind if each.value))
STATES = tuple(each.value for each in State if each is not State.UNKNOWN)
Numbers = Mapping[str, Mapping[str, float]]  # by name, and by the value of its label, which is empty without one


class Declared(NamedTuple):
    """What a name means; its label, and what that may be."""

    help: str
    label: str = ""
    values: tuple[str, ...] = ("",)


DECLARED: Mapping[str, Declared] = {
    READ: Declared("When these numbers were read, in seconds since 1970"),
    "jim_local_jobs": Declared("Local jobs of unfinished grid jobs by state", "state", STATES),
    "jim_grid_jobs": Declared("Grid jobs by step", "step", tuple(each.value for each in Step)),
    "jim_local_job_changes_last_hour": Declared(
        "Attempts that started, and local jobs that ended, in the last hour", "what", ("started", *ENDS)
    ),
    "jim_attempts_failed_last_hour": Declared(
        f"Failed attempts of the last hour by the kind of the reason, of the last {MOST_FAILED:,} that ended",
        "kind",
        KINDS,
    ),
    "jim_keeper_at_work": Declared("1 if a keeper is at work"),
    "jim_keeper_refuses": Declared("1 if no keeper goes on before a person has decided"),
    "jim_keeper_heartbeat_age_seconds": Declared("Seconds since the keeper's last heartbeat; none while it is at rest"),
    "jim_unfinished": Declared("1 if there is unfinished work"),
    "jim_batch_answer_age_seconds": Declared("Seconds since the batch system's last good answer"),
    "jim_batch_answer_late": Declared("1 if the batch system has given no good answer for long, while it has jobs"),
    "jim_batch_in_trouble": Declared("1 if the keeper tells of trouble with it", "of", OF),
    "jim_batch_failures_in_a_row": Declared("Batch commands without a good answer", "of", OF),
    "jim_disk_readable": Declared("1 if the disk of the state or work directory answers", "disk", DISKS),
    "jim_disk_free_bytes": Declared("Room that the account may still fill on the disk", "disk", DISKS),
    "jim_disk_size_bytes": Declared("Size of the disk", "disk", DISKS),
    "jim_disk_warn_bytes": Declared("Room below which JIM warns", "disk", DISKS),
    "jim_disk_stop_bytes": Declared("Room below which JIM takes and sends nothing new", "disk", DISKS),
    "jim_hosts_avoided": Declared("Hosts on which JIM runs nothing, by who says so", "by", ("jim", "administrator")),
    "jim_credentials_ended": Declared(
        "Proxies or tokens of unfinished grid jobs that have ended", "kind", (*CREDENTIALS,)
    ),
    "jim_credentials_ending_soon": Declared(
        f"Proxies or tokens of unfinished grid jobs that end within {SOON_HOURS} hours", "kind", (*CREDENTIALS,)
    ),
    "jim_tasks": Declared("Tasks by state", "state", tuple(each.value for each in TaskState)),
    "jim_tasks_paused_by_themselves": Declared("Tasks that have paused by themselves, and wait for a person"),
}


def numbers_of(view: View) -> Numbers:
    """Return the numbers of an account; what cannot be known now has none."""
    numbers = dict[str, Mapping[str, float]]({READ: {"": round(view.store.clock.epoch(), 3)}})
    for part in (_work(view), _failures(view), _signs(view), _disks(view), _others(view), _tasks(view)):
        numbers |= {f"{PREFIX}{name}": values for name, values in part if values}
    return numbers


Part = Iterator[tuple[str, Mapping[str, float]]]


def _counted(name: str, counts: Mapping[Any, float]) -> tuple[str, Mapping[str, float]]:
    """Return a count for each value that the label may have."""
    return name, {each: counts.get(each, 0) for each in DECLARED[f"{PREFIX}{name}"].values}


def _work(view: View) -> Part:
    yield _counted("local_jobs", {state.value: count for state, count in unfinished_counts(view).items()})
    yield _counted("grid_jobs", {step.value: count for step, count in view.store.seen.steps().items()})
    hour = last_hour(view)
    yield _counted(
        "local_job_changes_last_hour", {what: sum(each) for what, each in hour.counts.items()} if hour else {}
    )


def _failures(view: View) -> Part:
    since = (datetime.fromisoformat(view.now()) - timedelta(hours=1)).isoformat(timespec="milliseconds")[:23]
    kinds = Counter[str]()
    for each in view.store.hosts.failed_since(since, MOST_FAILED):
        kinds[each.reason.kind.value or OTHER] += each.times
    yield "attempts_failed_last_hour", kinds


def _signs(view: View) -> Part:
    """Return whether keeper and batch system are well."""
    seen, age = health(view), view.heartbeat_age()
    yield "keeper_at_work", {"": seen.heart.at_work}
    yield "keeper_refuses", {"": seen.heart.refuses}
    yield "keeper_heartbeat_age_seconds", {} if age is None else {"": age}
    yield "unfinished", {"": seen.unfinished}
    yield "batch_answer_age_seconds", {"": view.age(seen.seen)} if seen.seen else {}
    yield "batch_answer_late", {"": seen.answers_late}
    troubles = dict(zip(OF, (view.published.trouble, view.published.history), strict=True))
    yield "batch_in_trouble", {of: bool(each.words) for of, each in troubles.items()}
    yield "batch_failures_in_a_row", {of: each.failures for of, each in troubles.items()}


def _disks(view: View) -> Part:
    rooms, thresholds = dict[str, tuple[int, int]](), view.site.disk._asdict()
    for disk, place in zip(DISKS, (view.site.state, view.site.work), strict=True):
        try:
            rooms[disk] = view.disk(lambda place=place: room(place))  # type: ignore[misc]
        except OSError:
            continue
    yield _counted("disk_readable", dict.fromkeys(rooms, 1))
    yield "disk_free_bytes", {disk: free for disk, (free, _) in rooms.items()}
    yield "disk_size_bytes", {disk: size for disk, (_, size) in rooms.items()}
    for what in ("warn", "stop"):
        yield f"disk_{what}_bytes", {disk: thresholds[f"{disk}_{what}_mb"] * 10**6 for disk in DISKS}


def _others(view: View) -> Part:
    yield _counted("hosts_avoided", Counter(map(_who, avoided_now(view).values())))
    ends, kinds = list(ending(view)), {words: kind for kind, words in CREDENTIALS.items()}
    for name, ended in (("credentials_ended", True), ("credentials_ending_soon", False)):
        yield _counted(name, Counter(kinds[each.kind] for each in ends if each.ended is ended))


def _who(avoided: Avoided) -> str:
    return "administrator" if avoided.is_named else "jim"


def _tasks(view: View) -> Part:
    tasks = view.store.tasks.all()
    yield _counted("tasks", Counter(each.state.value for each in tasks))
    yield "tasks_paused_by_themselves", {"": sum(map(paused_by_itself, tasks))}


def checked(document: Any) -> Numbers:
    """Return numbers that another account says; refuse what JIM does not count, or what is no number."""
    numbers: dict[str, dict[str, float]] = {}
    for name, values in document.items():
        if not values.keys() <= {*DECLARED[name].values}:
            raise ValueError(f"{name} has an unknown label")
        numbers[name] = {label: _finite(each) for label, each in values.items()}
    return numbers


def _finite(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("it is no number")
    return value


def families(by_account: Mapping[str, Numbers]) -> Iterator[Family]:
    """Return the numbers of accounts; a single one may have no name."""
    for name, each in DECLARED.items():
        there = ((account, numbers[name]) for account, numbers in by_account.items() if name in numbers)
        samples = [_sample(account, each.label, label, value) for account, of in there for label, value in of.items()]
        yield Family(name, GAUGE, each.help, samples)


def _sample(account: str, name: str, label: str, value: float) -> Sample:
    return Sample(value, ({ACCOUNT: account} if account else {}) | ({name: label} if name else {}))


def readable(accounts: Iterable[str], by_account: Mapping[str, Numbers]) -> Family:
    """Return which accounts could be read."""
    samples = [Sample(each in by_account, {ACCOUNT: each}) for each in accounts]
    return Family(READABLE, GAUGE, "1 if this account could be asked for its numbers", samples)
