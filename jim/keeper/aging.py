"""What is kept has an age limit, which the site sets."""

from __future__ import annotations

import logging
import shutil
import time
from contextlib import suppress
from functools import partial

from jim.clock import age_seconds
from jim.doors import inbox
from jim.errors import JimError, Outdated
from jim.jobs import GridJob
from jim.keeper.keeper import House
from jim.model import Step
from jim.workdir.packages import sweep
from jim.workdir.submission import remove_grid_directory

log = logging.getLogger(__name__)
LOOKED_EVERY = 3600.0
DAY = 86_400.0


def age(house: House) -> None:
    """Remove what finished longer ago than the site keeps it; hourly."""
    if house.clock.boot() < house.next_aging:
        return
    house.next_aging = house.clock.boot() + LOOKED_EVERY
    for number, place in house.store.removed():  # by a keeper that was killed, or could not
        _remove_files(house, number, place)
    for job in house.store.grid_jobs(Step.FINISHED):
        name = ("age", job.id)
        if is_over(house, job) and not house.workers.busy(name):
            # Another keeper may have taken the work directory, and retried the grid job there.
            house.workers.start(
                name, house.hold.reach, partial(_remove, house, job), partial(_not_removed, house, job.id)
            )
    _sweep_leftovers(house, house.site.keep.seconds(test=False))
    if not house.workers.busy("packages"):
        house.workers.start(
            "packages",
            partial(sweep, house.site.work),
            partial(_swept, house),
            partial(_not_removed, house, "packages"),
        )


def is_over(house: House, job: GridJob) -> bool:
    """Tell whether a grid job has finished longer ago than the site keeps it."""
    kept = house.site.keep.seconds(test=job.is_test)
    return job.step is Step.FINISHED and age_seconds(job.updated, house.clock.utc()) > kept


def is_going(house: House, job: GridJob) -> bool:
    """Tell whether a grid job is about to be removed: its time is over, and its key is free, or all are looked through.

    The latter is what a keeper does first: one of an older JIM may have died with the directory removed, and no more.
    """
    if not is_over(house, job):
        return False
    if inbox.kept_id(house.site.state, inbox.request_name(job.key)) != job.id:
        house.next_aging = 0.0  # carried on at once
    return house.next_aging == 0.0


def _swept(house: House, removed: int) -> None:
    house.unremoved.pop("packages", None)
    if removed:
        log.info("%d input packages removed: no grid job needs them", removed)


def _remove(house: House, job: GridJob, _: None) -> None:
    """Free the key, then make the grid job unseen in one transaction, then remove its files.

    Who hands in the key from then on gets another number, and that request waits for the transaction. Until that, a
    kill leaves a whole grid job with all its files; from then on nothing opens it again, and the rest is carried on.
    """
    inbox.free(house.site.state, job.key, job.id)
    house.store.remove(job)
    log.info("%d: removed, its time was over", job.id)
    _remove_files(house, job.id, job.place)


def _remove_files(house: House, number: int, place: str) -> None:
    name = ("age", number)
    (house.site.state / "answers" / str(number)).unlink(missing_ok=True)
    if not place:  # what lies in that of its number is another's
        house.store.files_are_gone(number)
    elif not house.workers.busy(name):
        remove = partial(_remove_directory, house, place)
        house.workers.start(name, remove, partial(_gone, house, number), partial(_not_removed, house, number))


def _remove_directory(house: House, place: str) -> None:
    """Remove a grid job's directory, if it is there to be removed, and ours. Runs in a worker."""
    house.hold.reach()
    remove_grid_directory(house.site.work / place)


def _gone(house: House, number: int, _: None) -> None:
    house.unremoved.pop(number, None)
    house.store.files_are_gone(number)


def _not_removed(house: House, grid: int | str, error: BaseException) -> None:
    """Tell what hinders a removal, once; it is tried again when what is old is looked for next."""
    if isinstance(error, Outdated) or not isinstance(error, OSError | JimError):
        raise error
    if house.unremoved.get(grid) != str(error):
        log.warning("%s: cannot be removed: %s; tried again hourly", grid, error)
    house.unremoved[grid] = str(error)


def _sweep_leftovers(house: House, limit: float) -> None:
    """Remove what wrappers or doors left unfinished, and rejected files, when old."""
    for place in ("spool", "rejected"):
        for path in (house.site.work / place).iterdir():
            if place == "spool" and not path.name.startswith("."):
                continue
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > max(limit, DAY):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
