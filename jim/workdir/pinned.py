"""Opens the directories of grid jobs for the keeper, who follows no link that a payload puts in the place of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jim.files import LinkFound, held, open_regular


@contextmanager
def pinned(directory: Path) -> Iterator[Path]:
    """Open a submission directory, in that of its grid job; yield a path that leads there, whatever its name becomes.

    A link in the place of either raises `LinkFound`.
    """
    with held(directory.parent) as place, held(place / directory.name) as here:
        yield here


def open_result(file: Path) -> int:
    """Open a file in the directory of a grid job's result, and no file that a link leads to."""
    with pinned(file.parent) as here:
        return open_regular(here / file.name)


def link_above(run: Path) -> LinkFound | None:
    """Return the link that stands in the place of a submission directory, or its grid job's, above a run directory."""
    try:
        with pinned(run.parent):
            return None
    except LinkFound as error:
        return error
    except OSError:
        return None


def lacks(directory: Path, name: str) -> bool:
    """Tell whether a directory certainly has no such name, or is not there; any other obstacle raises an error."""
    try:
        with held(directory) as here:
            return is_absent(here / name)
    except FileNotFoundError:
        return True


def is_absent(path: Path) -> bool:
    """Tell whether a name certainly does not exist; any other obstacle raises an error.

    `Path.exists` takes errors for absence, and Python versions differ here.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    return False
