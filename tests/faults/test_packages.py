"""A large input package that several grid jobs send along: it is written once, and unpacked once."""

from __future__ import annotations

import hashlib
import os
import tarfile

import pytest


def own_copy(place, person: str, content: list[bytes]) -> str:
    """Write a file that somebody else has as well, in a directory of their own."""
    file = place.place / person / "minbias.dat"
    file.parent.mkdir()
    with file.open("wb") as out:
        out.writelines(content)
    os.utime(file, (1e9, 1e9 + len(person)))
    return str(file)


@pytest.mark.torture
@pytest.mark.parametrize("megabytes", [200])
def test_three_grid_jobs_send_the_same_package_once(place, megabytes):
    """Whoever hands in equal files: here three people, of whom two do it at once, and one when all is over."""
    there = place(settings="[limits]\nper_submission = 1\n")
    content = [os.urandom(1_000_000) for _ in range(megabytes)]
    files = {name: own_copy(there, name, content) for name in ("ann", "bob", "eve")}
    digest = hashlib.sha256(b"".join(content)).hexdigest()
    body = "sha256sum <minbias.dat >sum"
    grids, seen = [], []
    for names in (("ann", "bob"), ("eve",)):
        grids += [there.submit(2, key=name, body=body, outputs=("sum",), inputs=(files[name],)) for name in names]
        there.finish()
        [directory] = (there.site.work / "packages").iterdir()
        package = (directory / "package.tar").stat()
        # its own name, and one for each grid job that holds it
        assert package.st_nlink == 1 + len(grids)
        assert package.st_size - megabytes * 1_000_000 < 20_480
        [unpacked] = directory.glob("unpacked.*")
        seen.append((package.st_ino, package.st_mtime_ns, unpacked.stat().st_ino))
    assert (grids, seen[1]) == ([1, 2, 3], seen[0])
    for grid in grids:
        there.check(2, grid)
        with tarfile.open(there.site.work / f"{grid}/result/{grid}.tar") as tar:
            sums = [tar.extractfile(f"{grid}.{n}/sum").read().decode() for n in range(2)]
        assert sums == [f"{digest}  -\n"] * 2
