"""Paths opened component by component."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from jim.files import open_again
from jim.site.walking import above, directory_below, id_of, opened


@pytest.fixture
def tree(tmp_path):
    """Return a directory with a file, a directory in a directory, and links to them."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/file").write_text("content")
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "absolute").symlink_to(tmp_path / "a/file")
    (tmp_path / "circle").symlink_to("circle")
    return tmp_path


@pytest.mark.parametrize("path", ["a/file", "./a//file", "a/b/../file", "link/../file", "absolute", "absolute/."])
def test_it_finds_what_the_kernel_finds(tree, path):
    with opened(f"{tree}/{path}") as place:
        assert (place.name, id_of(place.about())) == ("file", id_of((tree / "a/file").stat()))
        assert id_of(os.fstat(place.directory)) == id_of((tree / "a").stat())
        with os.fdopen(open_again(place.at, tree)) as file:
            assert file.read() == "content"


@pytest.mark.parametrize(
    ("path", "code"),
    [("none", errno.ENOENT), ("none/x", errno.ENOENT), ("a/file/x", errno.ENOTDIR), ("circle", errno.ELOOP)],
)
def test_what_cannot_be_opened_says_why(tree, path, code):
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(OSError, match=str(tree)) as error, opened(f"{tree}/{path}"):
        pass
    assert error.value.errno == code
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_the_last_name_may_be_lacking(tree):
    with opened(f"{tree}/link/new", may_lack=True) as place:
        assert (place.name, place.at, id_of(os.fstat(place.directory))) == ("new", -1, id_of((tree / "a/b").stat()))
    with pytest.raises(FileNotFoundError), opened(f"{tree}/none/new", may_lack=True):
        pass


def test_a_pipe_is_no_trap(tree):
    os.mkfifo(tree / "pipe")
    with opened(f"{tree}/pipe") as place:
        assert stat.S_ISFIFO(place.about().st_mode)


def test_a_directory_knows_what_it_lies_in(tree):
    with opened(f"{tree}/link") as place:
        found = above(place.at)
    assert found[:3] == [id_of(each.stat()) for each in (tree / "a/b", tree / "a", tree)]
    assert found[-1] == id_of(Path("/").stat())


def test_what_is_written_below_a_directory_stays_there(tree):
    seen = []
    with directory_below(str(tree / "a"), f"{tree}/a/new/deep/out", seen.append) as (at, name):
        assert id_of(os.fstat(at)) == id_of((tree / "a/new/deep").stat())
    assert (name, len(seen)) == ("out", 3)
    (tree / "a/away").symlink_to(tree / "link")
    for path in ("out", "a/../out", "a", "a/away/out", "a/file/out"):
        with (
            pytest.raises(OSError, match=r"below|Not a directory"),
            directory_below(str(tree / "a"), f"{tree}/{path}", seen.append),
        ):
            pass
    assert list((tree / "a/b").iterdir()) == []


def test_nothing_is_made_in_a_directory_that_is_refused(tree):
    def refuse(at):
        if id_of(os.fstat(at)) == id_of((tree / "a/b").stat()):
            raise PermissionError

    with pytest.raises(PermissionError), directory_below(str(tree), f"{tree}/a/b/new/out", refuse):
        pass
    assert list((tree / "a/b").iterdir()) == []
