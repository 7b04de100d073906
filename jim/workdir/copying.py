"""Copies what a worker node has of one attempt, so that people may run the payload again without JIM.

The wrapper itself runs in the copy. What it writes, and what the payload publishes, goes into the copy, where no keeper
looks.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jim.errors import BadRequest, JimError
from jim.files import copy_regular, read_regular
from jim.workdir import credentials, packages
from jim.workdir.submission import LONGEST_JOBS, PROGRAMS

LEFT = "left"  # in a copy: what the payload has left in its directory


class Copy(NamedTuple):
    """A copy of the files of one attempt."""

    place: Path
    directory: Path  # its submission directory
    index: int  # type: ignore[assignment]
    command: tuple[str, ...]  # the payload, as the attempt ran it
    missing: tuple[str, ...]  # what could not be copied

    @property
    def run(self) -> Path:
        """Return the directory in which the payload runs, if the site gives it none elsewhere."""
        return self.directory / f"run.{self.index}"

    def call(self) -> tuple[str, ...]:
        """Return the command that runs the wrapper."""
        return "/bin/sh", str(self.directory.parent / "local-job"), str(self.directory), str(self.index)


def copied(directory: Path, index: int, place: Path, through: Sequence[str] = ()) -> Copy:
    """Copy the attempt of an index of a submission directory. `through`: words before the command of the payload.

    The input package and credentials are not copied, but linked: the wrapper only reads these.
    """
    facts = _facts(directory, index)
    command = tuple(value for number, word, value in facts if word == "arg")
    for _, word, value in facts:
        if word == "directory":
            raise BadRequest(f"it runs in {value}, as its request says, and JIM copies no such directory; go there")
    copy = Copy(place, place / directory.parent.name / directory.name, index, command, ())
    copy.directory.mkdir(parents=True)
    (place / "spool").mkdir()
    for name in PROGRAMS:
        with suppress(FileNotFoundError):  # a wrapper of an older JIM has fewer parts
            shutil.copy2(directory.parent / name, copy.directory.parent / name)
    for name in (packages.PACKAGE, *credentials.KINDS):
        if os.path.lexists(directory.parent / name):
            (copy.directory.parent / name).symlink_to((directory.parent / name).resolve())
    (copy.directory / "jobs").write_bytes(b"".join(map(os.fsencode, _lines(facts, through))))
    return copy._replace(missing=_copy_left(directory / f"run.{index}", place / LEFT))


def _facts(directory: Path, index: int) -> list[tuple[str, str, str]]:
    try:
        text = os.fsdecode(read_regular(directory / "jobs", LONGEST_JOBS))
    except OSError as error:
        raise JimError(f"{directory / 'jobs'} cannot be read: {error.strerror}") from error
    found = []
    for line in text.split("\n"):
        number, _, fact = line.partition(" ")
        if number in ("*", str(index)):
            found.append((number, *fact.partition(" ")[::2]))
    return found


def _lines(facts: Sequence[tuple[str, str, str]], through: Sequence[str]) -> list[str]:
    """Return the facts, with other words before the command, and with the spool of the copy."""
    lines, before = [], [f"{facts[-1][0]} arg {word}\n" for word in through]
    for number, word, value in facts:
        if word == "arg":
            lines += before
            before = []
        place = "../../spool" if word == "spool" else value
        lines.append(f"{number} {word} {place}\n" if word != "end" else f"{number} end\n")
    return lines


def _copy_left(run: Path, left: Path) -> tuple[str, ...]:
    """Copy what an attempt has left: files, directories and links, but no pipes or sockets; return what is missing."""
    try:
        shutil.copytree(run, left, symlinks=True, ignore=_others, copy_function=_copy)
    except FileNotFoundError:  # it has not started
        left.mkdir()
    except shutil.Error as error:
        return tuple(f"{source}: {why}" for source, _, why in error.args[0])
    return ()


def _copy(source: str, target: str) -> None:
    try:
        copy_regular(Path(source), Path(target))
    except JimError as error:  # `copytree` goes on after an OSError
        raise OSError(str(error)) from error


def _others(directory: str, names: list[str]) -> list[str]:
    kinds = {name: (Path(directory) / name).lstat().st_mode for name in names}
    return [
        name for name, mode in kinds.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    ]
