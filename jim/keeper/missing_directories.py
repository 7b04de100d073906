"""Takes a directory as removed only once it has been away for some time: perhaps somebody moves it back."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from jim.errors import JimError
from jim.evidence.exit_record import Claim
from jim.files import LinkFound
from jim.jobs import Key
from jim.workdir import claims
from jim.workdir.removed import remake, was_removed
from jim.workdir.submission import submission_directory

if TYPE_CHECKING:
    from jim.keeper.keeper import Keeper

Holders = Mapping[Key, Claim | None]  # None: nobody can make a claim any more
log = logging.getLogger(__name__)
TOLD_SECONDS, TOLD = 60.0, "told"


class IsAway(JimError):
    """A directory of the work directory is away, or a link stands in its place, but it may come back."""


def is_removed(keeper: Keeper, directory: Path) -> bool:
    """Tell whether a directory was removed; raise an error while that is not certain. Runs in a worker."""
    try:
        removed = was_removed(keeper.site.work, directory)
    except LinkFound as error:
        raise _behind_link(keeper, directory, error) from error
    if not removed:
        keeper.hold.away.pop(directory, None)
        return False
    now = keeper.clock.boot()
    if now - keeper.hold.away.setdefault(directory, now) < keeper.site.batch.touch_seconds:
        raise IsAway(f"{directory} is away: JIM waits until it is back, or was certainly removed")
    return True


def fence(keeper: Keeper, directory: Path, indices: Iterable[int]) -> dict[int, Claim]:
    """Fence attempts; return the holder of each claim. Runs in a worker.

    A removed directory is made anew for that: else what the batch system still has could start once it is back.
    """
    if is_removed(keeper, directory):
        remake(directory)
    try:
        return claims.fence(directory, indices)
    except LinkFound as error:
        raise _behind_link(keeper, directory, error) from error


def take_claims(keeper: Keeper, keys: list[Key]) -> Holders:
    """Fence attempts; return the holder of each claim. Runs in a worker."""
    by_submission: dict[tuple[int, int], list[int]] = {}
    for grid, k, index in keys:
        by_submission.setdefault((grid, k), []).append(index)
    holders: dict[Key, Claim | None] = {}
    for (grid, k), indices in by_submission.items():
        directory = submission_directory(keeper.directory(grid), k)
        with suppress(IsAway):
            holders |= {(grid, k, index): claim for index, claim in fence(keeper, directory, indices).items()}
    return holders


def _behind_link(keeper: Keeper, directory: Path, error: LinkFound) -> IsAway:
    """Warn of a link, once a minute. It proves nothing: whether the directory was removed is asked anew after it."""
    keeper.hold.away.pop(directory, None)
    key, now = Path(error.filename) / TOLD, keeper.clock.boot()
    if now - keeper.hold.away.get(key, -math.inf) >= TOLD_SECONDS:
        keeper.hold.away[key] = now
        log.warning("%s", error)
    return IsAway(str(error))
