"""Continues with a state directory that was moved, restored from a backup, or copied.

The directories decide: JIM takes up again all submissions that they hold and the store has forgotten. No keeper runs
until the last step is done. If the command is killed, simply run it again.

Where worker nodes do not see the work directory, people must end the batch jobs that count no more. JIM names these
before it stores what it has found, so a killed command has named them or will do so. Then the command stops: only the
next one takes the last step.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from time import sleep
from typing import NamedTuple

from jim import command
from jim.clock import Clock
from jim.doors import inbox
from jim.doors.numbers import PLACE, used
from jim.doors.restored_requests import hand_in_again
from jim.errors import BadSite, JimError, Outdated
from jim.evidence.exit_record import JobsFile
from jim.files import read_regular, replace_durably
from jim.jobs import GridJob
from jim.keeper.opening import adapter_of
from jim.keeper.results.packing import is_anothers
from jim.keeper.serial import (
    Hold,
    home,
    home_before,
    instances_in,
    instances_of,
    is_elsewhere,
    is_used,
    own_work,
    serials,
)
from jim.model import Step, SubmissionState
from jim.site.file import Site, make_state
from jim.site.lock import alone
from jim.statusdb import open_store
from jim.statusdb.grid import restored_submissions as lost
from jim.statusdb.store import Store
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import OLDER, OVER
from jim.workdir.claims import Trace, fence, put_over, trace
from jim.workdir.pinned import lacks
from jim.workdir.removed import INSTANCE
from jim.workdir.submission import (
    LONGEST_OWNER,
    OWNER,
    has_another,
    is_owned,
    jobs_file_in,
    submissions_in,
)

End = Callable[[str], object]  # ends the batch commands of a mark that still run
OF_WAVE = re.compile(r"task:([^:]+):\d+")  # the key of a wave, not of a test


def moved(site: Site) -> Iterator[str]:
    """Continue in a new place or on a new machine; the store must be as recent as the work directory."""
    make_state(site)
    with alone(site.state), closing(open_store(site.state, Clock(), write=True)) as store:
        seen, here, before = serials(site, store), home(site), home_before(store)
        if seen.behind:
            raise Outdated(
                f"{site.state} was not only moved: its serial is {seen}, so it is older than the work done "
                "with it. Run `jim site restored`"
            )
        instances = instances_of(site.state)
        own_work(site, instances, used=is_used(site, store))
        if not is_elsewhere(here, before):
            yield f"nothing to do: {site.state} is in its place"
            return
        Hold(site, instances, store.clock).take(store, seen, here)
        yield f"{site.state} continues as {here}; before, it was {before}"


def restored(site: Site) -> Iterator[str]:
    """Continue with a state directory that is older than the work done with it, or that is a copy."""
    make_state(site)
    with alone(site.state), closing(open_store(site.state, Clock(), write=True)) as store:
        ours, there = instances_of(site.state), instances_in(site.work)
        if not there:
            own_work(site, ours, used=is_used(site, store))
        elif ours[0] not in there:
            raise BadSite(
                f"{site.work} belongs to another state directory (its instance is {there[0]}, ours is {ours[0]})"
            )
        names = os.urandom(4).hex(), *dict.fromkeys((*there, *ours))
        content = "".join(f"{each}\n" for each in names).encode()
        # From now on no other keeper can use this work directory, and none of this state directory until the last step.
        replace_durably(site.work / INSTANCE, content)
        Hold(site, names, store.clock).take(store, serials(site, store), home(site))
        yield from _take_up_all(site, store)
        store.answers.write_anew(store.answers.written())
        jobs = {job.id for job in store.grid_jobs()}
        again = hand_in_again(site.state, jobs, site.site.handlers)
        if again:
            yield (
                "status.db had forgotten these grid jobs; their requests were submitted again: "
                f"{', '.join(map(str, again))}"
            )
        number = inbox.draw_id(site.state, max([*jobs, *used(site.state, site.work), *inbox.ids(site.state), 0]))
        replace_durably(site.state / INSTANCE, content)
        yield f"{site.state} continues as {names[0]}; the next grid job is {number + 1} or above"


def _take_up_all(site: Site, store: Store) -> Iterator[str]:
    """Take up forgotten submissions; report forgotten grid jobs."""
    adapter, named = adapter_of(site), False
    end = None if adapter.shared_work else partial(command.end_marked, id_variable=adapter.id_variable)
    if not end:
        yield from _await_ends(site, [each for job in store.grid_jobs() for each in _told_to_end(site, store, job)])
    for job in store.grid_jobs():
        if job.place:
            named |= yield from _take_up(site.work / job.place, store, job, end)
            yield from _gather_anew(site.work / job.place, store, store.grid_job(job.id))
    known, keys = {job.id: job for job in store.grid_jobs()}, list[str]()
    mine = {job.place for job in known.values()}
    for name in sorted(os.listdir(site.work)):  # noqa: PTH208 - names suffice
        found, place = PLACE.fullmatch(name), site.work / name
        if not found or name.startswith(".") or name in mine:
            continue
        owner = known.get(int(found[1]))
        if owner and is_owned(place, owner):
            # Here it is not split yet, and there it was sent: the keeper will refuse it.
            keys += [owner.key] if submissions_in(place) else []
            continue
        keys.append(_key_of(place))
        its = f" (its key is {keys[-1]})" if keys[-1] else ""
        yield (
            f"{place} belongs to a grid job that JIM no longer knows{its}: its batch jobs "
            "may still run, and JIM will not report on them; the same request would make a new grid "
            "job"
        )
    yield from _pause_tasks(store, keys)
    if named:
        raise BadSite(
            f"{site.state} does not continue yet: cancel the batch jobs named above, then run `jim site restored` again"
        )


def _key_of(place: Path) -> str:
    try:
        return str(json.loads(read_regular(place / OWNER, LONGEST_OWNER))["key"])
    except (OSError, JimError, ValueError, KeyError, TypeError):
        return ""


def _pause_tasks(store: Store, keys: Iterable[str]) -> Iterator[str]:
    """Pause the tasks of which waves were handed in that nobody knows any more: they would do the same work twice."""
    waves = {found[1] for found in map(OF_WAVE.fullmatch, keys) if found}
    for task in store.tasks.all():
        if task.nonce in waves and task.state not in OVER:
            store.tasks.change(task.id, state=TaskState.PAUSED, outcome="", reason=OLDER)
            yield f"task {task.name} is paused: {OLDER}; only `jim task cancel {task.name}` is possible"


class Forgotten(NamedTuple):
    """Submissions of a grid job that have a directory and no row."""

    directories: Mapping[int, Path]  # those of all submissions
    unknown: Mapping[int, JobsFile]
    sent: Mapping[int, JobsFile]  # those whose file `jobs` says what they are
    found: Mapping[int, Mapping[int, tuple[int, int]]]
    over: Sequence[tuple[int, int]]  # submission and index of the attempts that count no more


def _forgotten(place: Path, store: Store, job: GridJob) -> Forgotten:
    there = submissions_in(place)
    for row in store.submissions(SubmissionState.INTENDED, grid=job.id):
        own = {each.idx: (each.n, each.attempt) for each in store.attempts(job.id, k=row.k)}
        if has_another(place / f"s{row.k}", JobsFile(row.mark, own)):
            lost.void(store, job, row.k)
    unknown = {
        k: jobs_file_in(there[k]) or JobsFile("", {}) for k in sorted(there.keys() - store.submission_numbers(job.id))
    }
    sent = {k: told for k, told in unknown.items() if told.attempts}
    found = {k: told.attempts for k, told in sent.items()}
    over = list(lost.superseded(store, job, found, lost.latest(store, job, found))) if found else []
    return Forgotten(there, unknown, sent, found, over)


def _told_to_end(site: Site, store: Store, job: GridJob) -> list[tuple[Path, int]]:
    """Tell attempts of a grid job to end that count no more; return those that may live."""
    place = site.work / job.place
    if not job.place or job.step in (Step.ACCEPTED, Step.RESOLVED) or not is_owned(place, job):
        return []
    return list(_end(place, _forgotten(place, store, job).over))


def _await_ends(site: Site, told: Sequence[tuple[Path, int]]) -> Iterator[str]:
    """Wait until they have ended, which their wrappers report: the store may soon have the same work done again."""
    clock, most = Clock(), site.batch.silent_seconds
    until = clock.boot() + most
    if told:
        yield f"attempts that count no more were told to end: {len(told):,}; waiting for that, {most} s at the most"
    while told and clock.boot() < until:
        sleep(min(1.0, site.batch.touch_seconds / 10))
        told = [(directory, idx) for directory, idx in told if not _has_ended(trace(directory, idx))]


def _has_ended(left: Trace) -> bool:
    return bool(left.gone or left.exit_record)


def _take_up(place: Path, store: Store, job: GridJob, end: End | None) -> Generator[str, None, bool]:
    """Take up the submissions of a grid job that have a directory and no row; tell whether batch jobs were named.

    If worker nodes do not see that directory, JIM cannot stop a running batch job of it there, only its batch command:
    `end` does so.
    """
    there, unknown, sent, found, over = _forgotten(place, store, job)
    if not unknown:
        return False
    if (place / OWNER).exists() and not is_owned(place, job):
        raise JimError(
            f"{place} is not the directory of grid job {job.id}: its {OWNER} names another. Move it away first"
        )
    if job.step in (Step.ACCEPTED, Step.RESOLVED):  # the keeper finds it when it makes the directory
        store.set_grid_job(job.id, step=Step.ACCEPTED, place="")
        return False
    if over and end:
        list(_end(place, over))
        yield (
            f"{job.id}: before you run `jim site restored` again, cancel these batch jobs if they exist: "
            f"{_named(store, job, sent, over, end)}"
        )
    lost.take_up(store, job, {k: (told.mark, told.carriers) for k, told in sent.items()}, found, max(there))
    yield f"{job.id}: submissions {', '.join(map(str, unknown))} were {lost.AFTER_THE_BACKUP}: JIM looks for them again"
    return bool(over and end)


def _named(store: Store, job: GridJob, sent: Mapping[int, JobsFile], over: Sequence[tuple[int, int]], end: End) -> str:
    """Name batch jobs as people find them; a batch command that still runs hands over none of them after that."""
    marks = {each.k: each.mark for each in store.submissions(*SubmissionState, grid=job.id)}
    marks |= {k: told.mark for k, told in sent.items()}
    for k in dict.fromkeys(k for k, _ in over):
        end(marks[k])
    return ", ".join(f"{marks[k]} index {idx}" for k, idx in over)


def _gather_anew(place: Path, store: Store, job: GridJob) -> Iterator[str]:
    """Have the tar of a finished grid job made again if it was made of other attempts than the restored ones."""
    if job.step is Step.FINISHED and job.size and is_anothers(place / "result" / f"{job.id}.tar", job, store):
        store.set_grid_job(job.id, step=Step.COLLECTING, outcome="", reason="")
        yield f"{job.id}: its tar is newer than the backup, so its outputs are collected again"


def _end(place: Path, attempts: Iterable[tuple[int, int]]) -> Iterator[tuple[Path, int]]:
    """Ensure that none of these attempts starts, and tell running ones to end: JIM no longer uses their results."""
    by_submission: dict[int, list[int]] = defaultdict(list)
    for k, idx in attempts:
        by_submission[k].append(idx)
    for k, indices in by_submission.items():
        directory = place / f"s{k}"
        if lacks(place, directory.name):
            continue
        for idx, claim in fence(directory, indices).items():
            if not (claim.fence or _has_ended(trace(directory, idx))):
                put_over(directory, idx, claim.nonce, "the state directory was restored and knows a later attempt")
                yield directory, idx
