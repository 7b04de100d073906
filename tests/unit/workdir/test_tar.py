"""A tar that is written from front to back."""

from __future__ import annotations

import io
import tarfile

from jim.workdir.tar import Tar


def test_what_is_written_is_a_tar_that_others_read():
    out = io.BytesIO()
    tar = Tar(out)
    tar.add("1.0/ümlaut.dat", 6, [b"abc", b"def"])
    tar.add("1.1/empty", 0, [])
    tar.add("long/" + "x" * 300, 512, [bytes(512)])
    tar.end()
    assert len(out.getvalue()) % tarfile.RECORDSIZE == 0
    out.seek(0)
    with tarfile.open(fileobj=out) as found:
        read = {each.name: (each.mode, found.extractfile(each).read()) for each in found}
    assert read == {
        "1.0/ümlaut.dat": (0o600, b"abcdef"),
        "1.1/empty": (0o600, b""),
        "long/" + "x" * 300: (0o600, bytes(512)),
    }
