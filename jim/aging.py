"""What is kept has an age limit, which the site sets."""

from __future__ import annotations

import logging
import shutil
import time
from contextlib import suppress
from functools import partial

from jim.clock import age_seconds
from jim.house import House
from jim.inbox import request_name
from jim.model import Step
from jim.packages import sweep
from jim.sandbox import remove_grid_directory

log = logging.getLogger(__name__)
LOOKED_EVERY = 3600.0
DAY = 86_400.0


def age(house: House) -> None:
    """Remove what finished longer ago than the site keeps it; hourly."""
    if house.clock.boot() < house.next_aging:
        return
    house.next_aging = house.clock.boot() + LOOKED_EVERY
    now = house.clock.utc()
    for job in house.store.grid_jobs(Step.FINISHED):
        kept = house.site.keep.seconds(test=job.is_test)
        if age_seconds(job.updated, now) > kept and not house.workers.busy(("age", job.id)):
            house.workers.start(
                ("age", job.id),
                partial(remove_grid_directory, house.site.work, job.id),
                partial(_forget, house, job.id, job.key),
                partial(_not_removed, job.id),
            )
    _sweep_leftovers(house, house.site.keep.seconds(test=False))
    if not house.workers.busy("packages"):
        house.workers.start("packages", partial(sweep, house.site.work), _swept, partial(_not_removed, "packages"))


def _swept(removed: int) -> None:
    if removed:
        log.info("%d input packages removed: no grid job needs them", removed)


def _forget(house: House, grid: int, key: str, _: None) -> None:
    """Remove the rows last: a kill before that leaves a grid job without files, which is removed again."""
    for path in (house.site.state / "keys" / request_name(key), house.site.state / "answers" / str(grid)):
        path.unlink(missing_ok=True)
    house.store.forget(grid)
    log.info("%d: removed, its time was over", grid)


def _not_removed(grid: int | str, error: BaseException) -> None:
    log.warning("%s: cannot be removed: %s", grid, error)


def _sweep_leftovers(house: House, limit: float) -> None:
    """Remove what wrappers or doors left unfinished, and rejected files, when old."""
    for place in ("spool", "rejected"):
        for path in (house.site.work / place).iterdir():
            if place == "spool" and not path.name.startswith("."):
                continue
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > max(limit, DAY):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
