"""Directories of the work directory that were removed, or are away."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from jim.files import held, replace_durably, sync_directory
from jim.workdir.pinned import is_absent, lacks, pinned

INSTANCE = "instance"  # in a work directory and a state directory: the owner
REMADE = "removed"  # in a directory that JIM has made in the place of a removed one
WRAPPER = "local-job"  # in a grid job's directory


def was_removed(work: Path, path: Path) -> bool:
    """Tell whether what stood in a grid job's directory was removed; an unreachable work directory is a different case.

    Nobody knows whether it comes back. A link in the place of the grid job's directory raises `LinkFound`.
    """
    return lacks(path.parent, path.name) and not is_absent(work / INSTANCE)


def remake(directory: Path) -> None:
    """Make a removed submission directory anew, with a mark. One that is there after all stays as it is."""
    with suppress(FileExistsError):
        directory.parent.mkdir(mode=0o700)
    with held(directory.parent) as place, suppress(FileExistsError):
        (place / directory.name).mkdir(mode=0o700)
        with held(place / directory.name) as here:
            replace_durably(here / REMADE, b"")
        sync_directory(place)


def was_remade(directory: Path) -> bool:
    """Tell whether a submission directory was removed and made anew: it has nothing of what was there."""
    try:
        with pinned(directory) as here:
            return not is_absent(here / REMADE)
    except FileNotFoundError:
        return False


def can_run_nothing(work: Path, place: Path) -> bool:
    """Tell whether a grid job's directory was removed; the tar may have made one anew, but without the wrapper."""
    return was_removed(work, place / WRAPPER)
