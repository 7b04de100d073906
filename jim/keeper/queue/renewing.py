"""Passes renewed proxies and tokens on to running jobs, and sends nothing with an expired one."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from jim.errand import Errand
from jim.errors import BadRequest
from jim.files import passes
from jim.jobs import GridJob
from jim.keeper.keeper import Keeper
from jim.keeper.workers import NEVER
from jim.model import Step, Witness
from jim.site.file import Site
from jim.site.realm import Opener, opener_of
from jim.workdir import credentials

log = logging.getLogger(__name__)
LOOKED_EVERY = 10.0
STEPS = (Step.RESOLVED, Step.SPLIT, Step.ACTIVE)


class Named(NamedTuple):
    """The credentials that a grid job names."""

    files: Mapping[str, str]  # by their kinds
    realm: str  # which files its sender may name


class Seen(NamedTuple):
    """The finding about one credential of a grid job."""

    grid: int
    kind: str
    what: str  # renewed, expired, cannot be renewed; empty: unchanged
    reason: str


class Renewing:
    """The move that looks whether the proxies and tokens that requests name have changed."""

    def __init__(self) -> None:
        self._named: dict[int, Named] = {}  # by the request of each grid job
        self._told: dict[tuple[int, str], Seen] = {}  # the last finding about each credential
        self._expired: set[int] = set()  # grid jobs that send nothing until their credential is renewed

    def __call__(self, keeper: Keeper, job: GridJob) -> float:
        """Note which files a grid job names."""
        files = credentials.paths_in(job.request) if job.step in STEPS else {}
        if files:
            self._named[job.id] = Named(files, job.realm)
        else:
            self._named.pop(job.id, None)
        return NEVER

    def renew(self, keeper: Keeper) -> None:
        """Let a worker check the files for changes, if the interval is over."""
        if not keeper.workers.ready("credentials"):
            return
        wanted = dict(self._named)
        self._stop(keeper, self._expired & wanted.keys())
        places = {grid: keeper.directory(grid) for grid in wanted}
        if wanted:
            look, tell = partial(_look, keeper.site, places, wanted), partial(self._tell, keeper)
            keeper.workers.start(Errand("credentials", look, tell, _could_not_look, heeds=(OSError,)))
        keeper.workers.wait("credentials", LOOKED_EVERY)

    def _tell(self, keeper: Keeper, seen: list[Seen]) -> None:
        """Note each new finding once, and stop grid jobs with expired credentials."""
        for each in seen:
            name = (each.grid, each.kind)
            if each.what and self._told.get(name) != each:
                keeper.store.note(each.grid, f"{each.kind} {each.what}", Witness.KEEPER, each.reason)
                log.info("%d: %s %s: %s", each.grid, each.kind, each.what, each.reason)
            self._told[name] = each
        self._stop(keeper, {each.grid for each in seen if each.what == "expired"})

    def _stop(self, keeper: Keeper, expired: set[int]) -> None:
        """Stop sending for these grid jobs, and resume sending for all others."""
        for grid in self._expired - expired:
            keeper.workers.forget(("send", grid))
        keeper.looks.add(self._expired - expired)
        for grid in expired:
            keeper.workers.wait(("send", grid), math.inf)
        self._expired = expired


def _look(site: Site, places: Mapping[int, Path], wanted: Mapping[int, Named]) -> list[Seen]:
    """Pass on renewed credentials. Runs in a worker: a home directory may be far away."""
    now = credentials.now()
    return [
        _of(places[grid], grid, kind, path, now, partial(opener_of, site, named.realm))
        for grid, named in wanted.items()
        for kind, path in named.files.items()
    ]


def _of(place: Path, grid: int, kind: str, path: str, now: float, opener: Callable[[], Opener]) -> Seen:
    try:
        content = credentials.usable(kind, path, now, opener())
        if credentials.pass_on(place, kind, content):
            end = credentials.ends(kind, content)
            return Seen(grid, kind, "renewed", "" if end is None else f"good until {credentials.shown_time(end)}")
    except BadRequest as error:
        return Seen(grid, kind, "expired" if credentials.expired(place, now) else "cannot be renewed", str(error))
    except FileNotFoundError:  # the grid job's directory was removed
        pass
    except OSError as error:  # what its payload has made of the directory holds up no other grid job
        if passes(error):
            raise
        return Seen(grid, kind, "cannot be renewed", str(error))
    return Seen(grid, kind, "", "")


def _could_not_look(error: BaseException) -> None:
    log.warning("proxies and tokens cannot be passed on: %s", error)
