"""A tar that is written from front to back."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tracemalloc
from contextlib import suppress

import pytest

from jim.errors import JimError
from jim.workdir.tar import Tar, _header, headers, may_be, stemmed


def test_what_is_written_is_a_tar_that_others_read():
    out = io.BytesIO()
    tar = Tar(out)
    tar.add("1.0/ümlaut.dat", 6, [b"abc", b"def"])
    tar.add("1.1/empty", 0, [])
    tar.add("long/" + "x" * 300, 512, [bytes(512)])
    tar.add("1.2/program", 3, [b"#!x"], executable=True)
    tar.end()
    assert len(out.getvalue()) % tarfile.RECORDSIZE == 0
    out.seek(0)
    with tarfile.open(fileobj=out) as found:
        read = {each.name: (each.mode, found.extractfile(each).read()) for each in found}
    assert read == {
        "1.0/ümlaut.dat": (0o600, b"abcdef"),
        "1.1/empty": (0o600, b""),
        "long/" + "x" * 300: (0o600, bytes(512)),
        "1.2/program": (0o700, b"#!x"),
    }


NAMES = ("", "1.0/stdout", "a" * 100, "a" * 101, "1.0/" + "é" * 60, "tab\tand space ", "d/" + "b/" * 49, "ends in /")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0, 1, 511, 8**11 - 1, 8**11])
def test_a_header_is_that_of_tarfile(name, size):
    """Also where it is made without it: names of at most 100 bytes, contents below 8 GiB."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    assert _header(name, size) == member.tobuf(tarfile.PAX_FORMAT)


@pytest.mark.parametrize("before", [0, 1, 600])
def test_a_member_whose_content_turns_out_to_be_wrong_leaves_nothing(before):
    def content():
        yield bytes(before)
        raise JimError("not what it was")

    out = io.BytesIO()
    tar = Tar(out)
    tar.add("first", 3, [b"abc"])
    with pytest.raises(JimError, match="not what it was"):
        tar.add("x" * 200, 600, content())
    tar.add("second", 2, [b"de"])
    tar.end()
    assert len(out.getvalue()) == tarfile.RECORDSIZE
    out.seek(0)
    with tarfile.open(fileobj=out) as found:
        assert {each.name: found.extractfile(each).read() for each in found} == {"first": b"abc", "second": b"de"}


CONTENTS = {"empty": b"", "é": b"x" * 511, "d/" + "n" * 200: b"y" * 512, "a b\t*": b"z" * 513, "large": bytes(3**13)}


def test_a_tar_is_read_by_others(tmp_path):
    file = tmp_path / "x.tar"
    with file.open("wb") as out:
        tar = Tar(out)
        for name, content in CONTENTS.items():
            tar.add(name, len(content), [content[:100], content[100:]])
        tar.end()
    assert file.stat().st_size % 10240 == 0
    with tarfile.open(file) as found:
        assert {member.name: found.extractfile(member).read() for member in found} == CONTENTS
        assert {(member.mode, member.type) for member in found} == {(0o600, tarfile.REGTYPE)}
    done = subprocess.run(["tar", "-xOf", file, "a b\t*"], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"z" * 513, b"")


def test_a_tar_of_nothing_is_whole():
    out = io.BytesIO()
    Tar(out).end()
    assert out.getvalue() == bytes(10240)


@pytest.mark.parametrize(
    ("member", "is_it"),
    [
        ("1.17/hist_13669_0017.root", True),
        ("1.17/hist_a_b-c+_017.root", True),
        ("1.17/hist_13669_0018.root", False),
        ("1.17/hist_13669_0117.root", False),
        ("1.17/hist_0017.root", False),
        ("1.17/hist_x/y_0017.root", False),
        ("1.18/hist_13669_0017.root", False),
        ("1.17/hist_13669_0017xroot", False),
    ],
)
def test_an_output_is_found_under_its_name_with_a_stem(member, is_it):
    assert may_be(member, "1.17/hist.root", 17) is is_it
    assert may_be(stemmed("1.17/a.b/c(.tar.gz", "x_0017"), "1.17/a.b/c(.tar.gz", 17)


def written(*members):
    out = io.BytesIO()
    tar = Tar(out)
    for name, content in members:
        tar.add(name, len(content), [content])
    tar.end()
    out.seek(0)
    return out


def test_headers_tell_where_each_member_is_and_where_the_next_one_begins():
    tar = written(("1.0/a", b"abc"), ("x" * 300, b"d" * 600))
    (first, then), (second, end) = headers(tar)
    assert (first.name, first.size, first.offset_data, then) == ("1.0/a", 3, 512, 1024)
    assert (second.name, second.size, end) == ("x" * 300, 600, second.offset_data + 1024)
    tar.seek(then)
    assert [each.name for each, _ in headers(tar)] == ["x" * 300]


def odd(kind, size=0, content=b"", pax=None):
    member = tarfile.TarInfo("1.0/a")
    member.type, member.size, member.pax_headers = kind, size, pax or {}
    return member.tobuf(tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


MANY = 8 * 1024**3


@pytest.mark.parametrize(
    "tar",
    [
        odd(tarfile.GNUTYPE_LONGNAME, MANY),
        odd(tarfile.XHDTYPE, MANY),
        odd(tarfile.XGLTYPE, MANY),
        odd(tarfile.XHDTYPE, 12, b"9 size=-99\n") + odd(tarfile.REGTYPE),
        odd(tarfile.REGTYPE, -512) + odd(tarfile.REGTYPE),
        odd(tarfile.REGTYPE, pax={"GNU.sparse.map": "x,y", "GNU.sparse.size": "1"}),
        odd(tarfile.XHDTYPE, 12, b"11 comment=\n") * 2000,
        b"no tar at all",
    ],
    ids=["name", "header", "global header", "size of pax", "size", "map", "headers in a row", "no tar"],
)
def test_what_a_payload_may_put_in_the_place_of_a_tar_costs_no_memory_and_no_time(tar, tmp_path):
    (tmp_path / "tar").write_bytes(tar)
    os.truncate(tmp_path / "tar", max(len(tar), 2 * MANY))  # it takes no room
    with (tmp_path / "tar").open("rb") as file:
        tracemalloc.start()
        try:
            with suppress(tarfile.TarError):
                assert len(list(headers(file))) < 3
            assert tracemalloc.get_traced_memory()[1] < 8 * 1024**2
        finally:
            tracemalloc.stop()
