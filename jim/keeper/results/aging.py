"""Removes finished grid jobs that a person wants removed, and those and leftovers that are older than the age limit."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from jim.clock import age_seconds
from jim.doors import generations, inbox
from jim.errand import Errand
from jim.errors import JimError
from jim.files import held
from jim.files.trees import remove_tree
from jim.jobs import GridJob
from jim.keeper.keeper import Keeper
from jim.model import Step
from jim.statusdb.task_rows import PieceState, Task, TaskState, Wave, WaveState
from jim.tasks.effects import ENDED
from jim.workdir.packages import sweep
from jim.workdir.submission import remove_grid_directory

log = logging.getLogger(__name__)
LOOK, LOOKED_EVERY = "age", 3600.0
LOOKING, AT_ONCE = "what is old", 500  # about 10 ms of the loop
DAY = 86_400.0


class Aging:
    """The hourly move that removes grid jobs which finished longer ago than the site keeps them."""

    def __init__(self) -> None:
        self._told: dict[int | str, str] = {}  # the last logged failure of each removal

    def __call__(self, keeper: Keeper) -> None:
        """Look for old grid jobs and leftovers, once per hour."""
        if not keeper.workers.ready(LOOK):
            return
        keeper.workers.wait(LOOK, LOOKED_EVERY)
        for (
            number,
            place,
        ) in keeper.store.removals.to_finish():  # by a keeper that was killed or failed before the files were gone
            self._remove_files(keeper, number, place)
        keeper.store.derived.thin()
        self._forget_senders(keeper)
        self._look_through(keeper, 0)
        _sweep_leftovers(keeper, keeper.site.keep.seconds(test=False))
        packages = partial(sweep, keeper.site.work)
        self._start(keeper, Errand("packages", packages, self._swept, partial(self._failed, "packages")))

    def _look_through(self, keeper: Keeper, above: int) -> None:
        """Remove grid jobs whose time is over, in parts: very many may have finished."""
        jobs = keeper.store.finished(above, AT_ONCE)
        for job in jobs:
            if is_over(keeper, job) and not keeper.store.senders.is_unaccounted(job.id):
                self._start(keeper, self._removal(keeper, job, "older than the site's age limit"))
        if len(jobs) == AT_ONCE:
            keeper.workers.later(LOOKING, partial(self._look_through, keeper, jobs[-1].id))

    def _forget_senders(self, keeper: Keeper) -> None:
        """Forget who sent grid jobs that finished longer ago than the site keeps that: first in their keys' files."""
        before = datetime.fromisoformat(keeper.clock.utc()) - timedelta(days=keeper.site.keep.identity_days)
        for number, key in keeper.store.senders.old(before.strftime("%Y-%m-%dT%H:%M:%S.000Z"), AT_ONCE):
            try:
                inbox.forget_sender(keeper.site.state, key, number)
            except (JimError, OSError, ValueError) as error:  # one broken file keeps no other
                self._failed(f"sender of grid job {number}", error)
            else:
                keeper.store.senders.forget(number)

    def remove(self, keeper: Keeper, job: GridJob) -> None:
        """Begin to remove a finished grid job that a person no longer wants; called until it is gone."""
        if not keeper.workers.busy(("age", job.id)) and not keeper.store.senders.is_unaccounted(job.id):
            keeper.workers.start(self._removal(keeper, job, "as a person asked"))

    def _removal(self, keeper: Keeper, job: GridJob, why: str) -> Errand[Any]:
        """Check first: another keeper may have taken the work directory and retried the grid job there."""
        remove, failed = partial(self._remove, keeper, job, why), partial(self._failed, job.id)
        return Errand(("age", job.id), keeper.hold.reach, remove, failed)

    def _start(self, keeper: Keeper, errand: Errand[Any]) -> None:
        """Start an errand now, even if it failed an hour ago."""
        if not keeper.workers.busy(errand.key):
            keeper.workers.forget(errand.key)
            keeper.workers.start(errand)

    def _swept(self, removed: int) -> None:
        self._told.pop("packages", None)
        if removed:
            log.info("%d input packages removed: no grid job needs them", removed)

    def _remove(self, keeper: Keeper, job: GridJob, why: str, _: None) -> None:
        """Free the key, then hide the grid job in one transaction, then remove its files.

        Once the key is free, a request with this key gets a new number and waits for the transaction. A kill before the
        transaction leaves a whole grid job with all its files. After the transaction nothing opens the grid job again,
        and the next keeper completes the removal.
        """
        generations.free(keeper.site.state, job.key, job.id)
        keeper.store.removals.remove(job)
        log.info("%d: removed: %s", job.id, why)
        self._remove_files(keeper, job.id, job.place)

    def _remove_files(self, keeper: Keeper, number: int, place: str) -> None:
        (keeper.site.state / "answers" / str(number)).unlink(missing_ok=True)
        if not place:  # the directory of its number belongs to another grid job
            keeper.store.removals.files_are_gone(number)
            return
        remove, gone = partial(_remove_directory, keeper, place), partial(self._gone, keeper, number)
        self._start(keeper, Errand(("age", number), remove, gone, partial(self._failed, number)))

    def _gone(self, keeper: Keeper, number: int, _: None) -> None:
        self._told.pop(number, None)
        keeper.store.removals.files_are_gone(number)

    def _failed(self, what: int | str, error: BaseException) -> None:
        """Log once what hinders a removal; the next hourly look, or the wish that still waits, tries it again."""
        if self._told.get(what) != str(error):
            log.warning("%s: cannot be removed: %s; it is tried again", what, error)
        self._told[what] = str(error)


def is_over(keeper: Keeper, job: GridJob) -> bool:
    """Tell whether a grid job has finished longer ago than the site keeps it."""
    kept = keeper.site.keep.seconds(test=job.is_test)
    if job.step is not Step.FINISHED or age_seconds(job.updated, keeper.clock.utc()) <= kept:
        return False
    return not (job.is_of_task and _is_wanted(keeper, job))


def _is_wanted(keeper: Keeper, job: GridJob) -> bool:
    """Tell whether a task has still to follow a grid job, may try pieces of it again, or has to judge a test by it."""
    wave = keeper.store.waves.of_grid_job(job.id)
    task = keeper.store.tasks.one(wave.task) if wave else None
    if wave is None or task is None:
        return False
    if not wave.t and (_is_read(keeper, task) or _may_go_on(keeper, task, wave)):
        return True
    return wave.state is WaveState.HANDED_IN or (wave.t == task.tests > 0 and task.state is TaskState.TESTING)


def _may_go_on(keeper: Keeper, task: Task, wave: Wave) -> bool:
    """Tell whether a task that has not ended may try failed pieces of a wave again."""
    failed = (each.state is PieceState.FAILED for each in keeper.store.pieces.of_wave(task.id, wave.w))
    return task.state not in ENDED and any(failed)


def _is_read(keeper: Keeper, task: Task) -> bool:
    """Tell whether a task that has not ended reads outputs of a task in the work directory."""
    places = {each.name for each in task.spec.outputs if not each.store}
    fed = {each.task for each in keeper.store.chains.fed_by(task.id) if each.stream in places}
    return any(each.state not in ENDED for number in fed if (each := keeper.store.tasks.one(number)))


def is_going(keeper: Keeper, job: GridJob) -> bool:
    """Tell whether a grid job is about to be removed: its time is over, and its key is free or a look is under way.

    Every keeper looks first: a keeper of an older JIM may have died after it removed the directory and nothing else.
    """
    if not is_over(keeper, job):
        return False
    if inbox.kept_id(keeper.site.state, inbox.request_name(job.key)) != job.id:
        keeper.workers.forget(LOOK)  # complete the removal at once
    return keeper.workers.due(LOOK) == 0.0 or keeper.workers.busy(LOOKING)


def _remove_directory(keeper: Keeper, place: str) -> None:
    """Remove a grid job's directory if the work directory is there and ours. Runs in a worker."""
    keeper.hold.reach()
    remove_grid_directory(keeper.site.work / place)


def _sweep_leftovers(keeper: Keeper, limit: float) -> None:
    """Remove old rejected files, and old unfinished files of wrappers and doors."""
    for place in ("spool", "rejected"):
        with suppress(NotADirectoryError), held(keeper.site.work / place) as here:
            for path in here.iterdir():
                if place == "spool" and not path.name.startswith("."):
                    continue
                with suppress(OSError):
                    if time.time() - path.lstat().st_mtime > max(limit, DAY):
                        remove_tree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
