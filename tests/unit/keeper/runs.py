"""Grid jobs that run by hand, for tests of what becomes of their outputs."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

from tests.support.stand_ins import World


def files(**contents: bytes) -> dict:
    """Give what the stand-in of the wrapper writes, and what it says of it."""
    lines = [f"file {len(c)} {hashlib.sha256(c).hexdigest()} {name}\n" for name, c in contents.items()]
    return {"extra": "".join(lines), "files": list(contents.items())}


def started(world: World, size: int) -> int:
    grid = world.submit(size)
    world.until(lambda: len(world.batch.tasks) == size)
    for index in range(1, size + 1):
        world.batch.start(1, index)
    world.go(2)
    return grid


def run_of(world: World, grid: int, index: int) -> Path:
    return world.site.work / str(grid) / "s1" / f"run.{index}"


def tar_of(world: World, grid: int) -> dict[str, bytes]:
    """Return what is in the tar, but for its folder jim/."""
    world.until(lambda: world.finished(grid))
    with tarfile.open(world.store.grid_job(grid).result["tar"]) as tar:
        chosen = [each for each in tar if not each.name.startswith("jim/")]
        return {member.name: tar.extractfile(member).read() for member in chosen}
