"""Takes a directory as removed only once it has been away for some time: perhaps somebody moves it back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from jim.errors import JimError
from jim.evidence.exit_record import Claim
from jim.workdir import submission
from jim.workdir.removed import remake, was_removed

if TYPE_CHECKING:
    from jim.keeper.keeper import Keeper


class IsAway(JimError):
    """A directory of the work directory is away, but may come back."""


def is_removed(keeper: Keeper, directory: Path) -> bool:
    """Tell whether a directory was removed; raise an error while that is not certain. Runs in a worker."""
    if not was_removed(keeper.site.work, directory):
        keeper.away.pop(directory, None)
        return False
    now = keeper.clock.boot()
    if now - keeper.away.setdefault(directory, now) < keeper.site.batch.touch_seconds:
        raise IsAway(f"{directory} is away: JIM waits until it is back, or was certainly removed")
    return True


def fence(keeper: Keeper, directory: Path, indices: Iterable[int]) -> dict[int, Claim]:
    """Fence attempts; return the holder of each claim. Runs in a worker.

    A removed directory is made anew for that: else what the batch system still has could start once it is back.
    """
    if is_removed(keeper, directory):
        remake(directory)
    return submission.fence(directory, indices)
