"""Keeps what a task sends along: its inputs, its standard input and the program that checks its tests.

`state/tasks/NAME.NONCE/` has the copies. All grid jobs of the task use these, whatever becomes of the originals.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from jim.errors import JimError
from jim.files import copy_regular, open_regular, sync_directory
from jim.statusdb.task_spec import Spec

DAY = 86_400.0


def places(spec: Spec) -> dict[str, str]:
    """Return what a task sends along, by the name of its copy."""
    request, here = spec.request, Path(spec.file).parent
    named = {f"inputs/{n}": each for n, each in enumerate(request.get("inputs") or ())}
    if request.get("stdin"):
        named["stdin"] = request["stdin"]
    check = spec.test.check
    if check and check[0].startswith("/") and Path(check[0]).is_relative_to(here):
        named["check"] = check[0]
    return {name: str(here / each) for name, each in named.items()}


def digest(spec: Spec, *, tested: bool = False) -> str:
    """Return a checksum of a task with the content of what it sends along; or only of what a test depends on."""
    record = spec.to_record()
    parts = ("request", "split", "test", "analyser", "output") if tested else tuple(sorted(record.keys() - {"file"}))
    summed = [record[name] for name in parts if name in record]  # a task may have no outputs
    found = hashlib.sha256(json.dumps(summed, sort_keys=True).encode())
    for name, place in places(spec).items():
        found.update(f"\0{name}\0".encode())
        for path in _walked(Path(place)):
            found.update(f"\0{path.relative_to(place)}\0{path.lstat().st_mode & 0o111}\0".encode())
            found.update(_content(path))
    return found.hexdigest()


def _walked(place: Path) -> Iterator[Path]:
    yield place
    if place.is_dir() and not place.is_symlink():
        for each in sorted(place.iterdir()):
            yield from _walked(each)


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(path.readlink())
    if path.is_dir():
        return b""
    with os.fdopen(open_regular(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def keep(state: Path, spec: Spec, nonce: str) -> Spec:
    """Copy what a task sends along; return the task with the copies in place of the originals."""
    own = directory(state, spec.name, nonce)
    own.mkdir(parents=True, mode=0o700)
    kept: dict[str, str] = {}
    for name, place in places(spec).items():
        target = own / name / Path(place).name
        target.parent.mkdir(parents=True, mode=0o700)
        _copy(Path(place), target)
        kept[name] = str(target)
    for path in _walked(own):
        if path.is_dir() and not path.is_symlink():
            sync_directory(path)
    sync_directory(own.parent)
    request = dict(spec.request)
    if "inputs" in request:
        request["inputs"] = [kept[f"inputs/{n}"] for n in range(len(request["inputs"]))]
    if "stdin" in kept:
        request["stdin"] = kept["stdin"]
    check = (kept["check"], *spec.test.check[1:]) if "check" in kept else spec.test.check
    return spec._replace(request=request, test=spec.test._replace(check=check))


def _copy(place: Path, target: Path) -> None:
    if place.is_dir():
        shutil.copytree(place, target, symlinks=True, copy_function=_copy_file)
    else:
        _copy_file(place, target)
    for path in _walked(target):
        if stat.S_ISREG(path.lstat().st_mode):
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _copy_file(place: str | Path, target: str | Path) -> None:
    copy_regular(Path(place), Path(target))


def directory(state: Path, name: str, nonce: str) -> Path:
    """Return the directory with the copies of a task."""
    return state / "tasks" / f"{name}.{nonce}"


def forget(state: Path, name: str, nonce: str) -> None:
    """Remove the copies of a task that is forgotten."""
    with suppress(FileNotFoundError):
        shutil.rmtree(directory(state, name, nonce))


def sweep(state: Path, known: set[str]) -> None:
    """Remove copies without a task, a day later: somebody may be about to create it."""
    for path in (state / "tasks").iterdir() if (state / "tasks").is_dir() else ():
        if path.name not in known and time.time() - path.lstat().st_mtime > DAY:
            with suppress(OSError, JimError):
                shutil.rmtree(path)
