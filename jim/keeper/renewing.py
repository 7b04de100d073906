"""The move that hands renewed proxies and tokens to jobs that run; until then, nothing starts with an expired one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from jim.errors import BadRequest
from jim.keeper.keeper import House
from jim.model import Step, Witness
from jim.workdir import credentials

log = logging.getLogger(__name__)
LOOKED_EVERY = 10.0
STEPS = (Step.RESOLVED, Step.SPLIT, Step.ACTIVE)
Files = Mapping[str, str]  # of one grid job, by their kind


class Seen(NamedTuple):
    """What was found of one credential of a grid job."""

    grid: int
    kind: str
    what: str  # renewed, expired, cannot be read; or as it was
    reason: str


def renew(house: House) -> None:
    """Look whether the files that requests name have changed."""
    if house.clock.boot() < house.next_renewal or house.workers.busy("credentials"):
        return
    house.next_renewal = house.clock.boot() + LOOKED_EVERY
    jobs = house.store.grid_jobs(*STEPS)
    house.credentials = {
        job.id: house.credentials[job.id] if job.id in house.credentials else credentials.paths_in(job.request)
        for job in jobs
    }
    wanted = {grid: files for grid, files in house.credentials.items() if files}
    if wanted:
        places = {grid: house.directory(grid) for grid in wanted}
        house.workers.start("credentials", partial(_look, places, wanted), partial(_tell, house), _could_not_look)


def _look(places: Mapping[int, Path], wanted: Mapping[int, Files]) -> list[Seen]:
    """Pass on what is new. Runs in a worker: a home directory may be far away."""
    now = credentials.now()
    return [_of(places[grid], grid, kind, path, now) for grid, files in wanted.items() for kind, path in files.items()]


def _of(place: Path, grid: int, kind: str, path: str, now: float) -> Seen:
    try:
        content = credentials.usable(kind, path, now)
        if credentials.pass_on(place, kind, content):
            end = credentials.ends(kind, content)
            return Seen(grid, kind, "renewed", "" if end is None else f"good until {credentials.shown_time(end)}")
    except BadRequest as error:
        return Seen(grid, kind, "expired" if credentials.expired(place, now) else "cannot be renewed", str(error))
    except FileNotFoundError:  # the grid job's directory: it was removed
        pass
    return Seen(grid, kind, "", "")


def _tell(house: House, seen: list[Seen]) -> None:
    """Note what is new, once."""
    for each in seen:
        name = (each.grid, each.kind)
        if each.what and house.told_of_credentials.get(name) != each:
            house.store.note(each.grid, f"{each.kind} {each.what}", Witness.KEEPER, each.reason)
            log.info("%d: %s %s: %s", each.grid, each.kind, each.what, each.reason)
        house.told_of_credentials[name] = each
    house.expired = frozenset(each.grid for each in seen if each.what == "expired")


def _could_not_look(error: BaseException) -> None:
    if not isinstance(error, OSError):
        raise error
    log.warning("proxies and tokens cannot be passed on: %s", error)
