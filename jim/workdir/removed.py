"""Directories of the work directory that were removed, or are away."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from jim.files import replace_durably, sync_directory

INSTANCE = "instance"  # in a work directory and a state directory: the owner
REMADE = "removed"  # in a directory that JIM has made in the place of a removed one
WRAPPER = "local-job"  # in a grid job's directory


def was_removed(work: Path, directory: Path) -> bool:
    """Tell whether a directory of a grid job was removed; an unreachable work directory is a different case.

    Nobody knows whether it comes back.
    """
    return is_absent(directory) and not is_absent(work / INSTANCE)


def remake(directory: Path) -> None:
    """Make a removed submission directory anew, with a mark. One that is there after all stays as it is."""
    directory.parent.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
        replace_durably(directory / REMADE, b"")
        sync_directory(directory.parent)


def was_remade(directory: Path) -> bool:
    """Tell whether a submission directory was removed and made anew: it has nothing of what was there."""
    return not is_absent(directory / REMADE)


def can_run_nothing(work: Path, place: Path) -> bool:
    """Tell whether a grid job's directory was removed; the tar may have made one anew, but without the wrapper."""
    return was_removed(work, place / WRAPPER)


def is_absent(path: Path) -> bool:
    """Tell whether a name certainly does not exist; any other obstacle raises an error.

    `Path.exists` takes errors for absence, and Python versions differ here.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    return False
