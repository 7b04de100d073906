"""Files that survive a crash, and safe reading of files that others have made."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from jim import files
from jim.database import first_column, opened
from jim.errors import JimError
from jim.files import cut, locked, missed, passes, patiently, put_once, read_regular, replace, resolved
from jim.workdir import credentials


def test_a_write_that_fails_leaves_the_old_content_and_no_other_file(tmp_path, monkeypatch):
    file = tmp_path / "status"
    replace(file, b"old")
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full", "hidden")))
    with pytest.raises(OSError, match="full") as refused:
        replace(file, b"new")
    assert refused.value.filename == str(file)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("status", b"old")]


def test_a_file_has_the_mode_that_was_asked_for_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        replace(tmp_path / "summary", b"", 0o644)
    finally:
        os.umask(before)
    assert (tmp_path / "summary").stat().st_mode & 0o777 == 0o644


def test_only_the_first_of_two_writers_is_kept(tmp_path):
    assert put_once(tmp_path / "claim", b"first") == b"first"
    assert put_once(tmp_path / "claim", b"second") == b"first"
    assert [each.name for each in tmp_path.iterdir()] == ["claim"]


def test_links_pipes_and_long_files_are_refused_without_waiting(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    for name, limit, why in (("link", 9, "is a link"), ("pipe", 9, "not a regular file"), ("file", 4, "larger than 4")):
        with pytest.raises(JimError, match=why):
            read_regular(tmp_path / name, limit)
    assert read_regular(file, 5) == b"12345"


def test_links_in_a_circle_are_an_error_and_a_missing_file_is_none(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        resolved(tmp_path / "a")
    assert resolved(tmp_path / "new") == tmp_path / "new"
    with pytest.raises(FileNotFoundError):
        resolved(tmp_path / "new", strict=True)


def test_a_name_in_a_directory_that_is_gone_is_a_missing_file(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileNotFoundError):
        resolved(Path("request.toml"))
    assert resolved(tmp_path / "new") == tmp_path / "new"


@pytest.mark.parametrize(
    ("number", "soon", "gone"),
    [
        (errno.ENOSPC, True, True),
        (errno.ESTALE, True, True),
        (errno.EACCES, False, False),
        (errno.ENOENT, False, True),  # only of a file that existed a moment ago
    ],
)
def test_which_errors_pass_and_which_prove_nothing(number, soon, gone):
    error = OSError(number, "x")
    assert (passes(error), missed(error)) == (soon, gone)


def test_a_long_name_is_cut_in_bytes_not_in_letters():
    assert cut("ü" * 150) == "ü" * 100
    assert cut("short") == "short"


# A file server that fails for a moment


class Glitches:
    """A call that fails a few times, after a while, before a value comes."""

    def __init__(self, monkeypatch, *errors: int, takes: float = 0) -> None:
        self.errors, self.takes, self.now, self.slept = list(errors), takes, 0.0, []
        monkeypatch.setattr(files.time, "sleep", self.slept.append)
        monkeypatch.setattr(files.time, "monotonic", lambda: self.now)

    def __call__(self) -> str:
        self.now += self.takes
        if self.errors:
            raise OSError(self.errors.pop(0), "said")
        return "value"


def test_a_call_that_fails_for_a_moment_is_made_again(monkeypatch):
    call = Glitches(monkeypatch, errno.EIO, errno.ESTALE, errno.ETIMEDOUT)
    assert patiently(call) == "value"
    assert call.slept == [0.05, 0.2, 0.8]


def test_four_failures_are_more_than_a_moment(monkeypatch):
    call = Glitches(monkeypatch, *[errno.EIO] * 4)
    with pytest.raises(OSError, match="said"):
        patiently(call)
    assert not call.errors


@pytest.mark.parametrize("error", [errno.ENOENT, errno.EACCES])
def test_a_failure_that_will_not_pass_is_no_glitch(monkeypatch, error):
    call = Glitches(monkeypatch, error)
    with pytest.raises(OSError, match="said"):
        patiently(call)
    assert not call.slept


def test_a_server_that_is_away_is_not_asked_again_at_once(monkeypatch):
    call = Glitches(monkeypatch, errno.EIO, takes=1)
    with pytest.raises(OSError, match="said"):
        patiently(call)
    assert not call.slept


def test_a_lock_excludes_others_and_waits_for_no_pipe(tmp_path):
    with locked(tmp_path / "lock"), pytest.raises(BlockingIOError), locked(tmp_path / "lock", wait=False):
        pass
    with locked(tmp_path / "lock", wait=False):
        pass
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"), locked(tmp_path / "pipe"):
        pass


def waits_for(file) -> bool:
    """Tell whether anybody waits for the lock of a file."""
    return bool(re.search(rf"-> FLOCK .*:{file.stat().st_ino} ", Path("/proc/locks").read_text()))


def until(true) -> None:
    for _ in range(1000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("not within ten seconds")


def test_who_waits_for_a_lock_that_is_removed_waits_for_the_new_one(tmp_path):
    file, inside, go = tmp_path / "lock", threading.Event(), threading.Event()

    def take():
        with locked(file):
            inside.set()
            go.wait(10)

    waiter = threading.Thread(target=take)
    with locked(file):
        waiter.start()
        until(lambda: waits_for(file))
        file.unlink()
        new = locked(file)
        new.__enter__()
    until(lambda: waits_for(file))  # it has got the old one, which protects nothing any more
    assert not inside.is_set()
    new.__exit__(None, None, None)
    assert inside.wait(10)
    with pytest.raises(BlockingIOError), locked(file, wait=False):
        pass
    go.set()
    waiter.join()


def test_a_lock_that_is_removed_again_and_again_is_an_error(tmp_path, monkeypatch):
    file, real, times = tmp_path / "lock", files.fcntl.flock, []

    def flock(descriptor, how):
        real(descriptor, how)
        times.append(file.unlink())

    monkeypatch.setattr(files.fcntl, "flock", flock)
    with pytest.raises(OSError, match="removed each time"), locked(file):
        raise AssertionError("held")
    assert len(times) == files.MOST_REMOVED


def test_what_fails_under_a_lock_is_told_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError, match="mine"), locked(tmp_path / "lock"):
        raise FileNotFoundError("mine")
    with locked(tmp_path / "lock", wait=False):
        pass


# A database of this process


@pytest.fixture
def database(tmp_path):
    """A database that this process has open, with locks on two of its files."""
    file = tmp_path / "status.db"
    db, _ = opened(file, write=True)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE one (a)")
    files.set_apart(file)
    assert {each.name for each in files.beside(file) if locks_on(each)} == {"status.db", "status.db-shm"}
    with closing(db):
        yield file


def locks_on(file: Path) -> int:
    """Return how many locks this process has on a file."""
    own = f" {os.getpid()} "
    inode = f":{file.stat().st_ino} " if file.exists() else "nothing"
    return sum(
        "POSIX" in line and own in line and inode in line for line in Path("/proc/locks").read_text().splitlines()
    )


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_no_name_of_a_database_of_this_process_lets_its_locks_go(tmp_path, database, end):
    """SQLite's locks belong to the process: to close another descriptor of the same file would end them."""
    before = [locks_on(each) for each in files.beside(database)]
    (tmp_path / "run").mkdir()
    (tmp_path / "run/dat").hardlink_to(f"{database}{end}")
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    for name in (f"status.db{end}", "run/dat", f"elsewhere/status.db{end}", f"run/../status.db{end}"):
        with pytest.raises(JimError, match="is a file of a database that JIM has open: it cannot be sent"):
            read_regular(tmp_path / name, 1_000_000)
    assert [locks_on(each) for each in files.beside(database)] == before


def test_a_credential_in_the_work_directory_that_is_a_database_is_replaced_and_not_read(tmp_path, database):
    """A payload may put another name of a database there."""
    before = [locks_on(each) for each in files.beside(database)]
    (tmp_path / "token").hardlink_to(database)
    assert credentials.expired(tmp_path, 0) == ""
    assert credentials.pass_on(tmp_path, "token", b"abc\n")
    assert (tmp_path / "token").read_bytes() == b"abc\n"
    assert not credentials.pass_on(tmp_path, "token", b"abc\n")
    assert [locks_on(each) for each in files.beside(database)] == before


def test_without_proc_a_database_is_refused_too_and_no_lock_is_lost(tmp_path, database, monkeypatch):
    """A name that is a database by the second look is left open: only to close it would let the locks go."""
    real, swapped = os.open, tmp_path / "dat"
    swapped.write_bytes(b"whole")

    def without_proc(path, flags, *more, **others):
        if str(path).startswith("/proc/self/fd/"):
            raise FileNotFoundError(errno.ENOENT, "no /proc", path)
        return real(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", without_proc)
    assert read_regular(swapped, 9) == b"whole"

    def swapping(path, flags, *more, **others):
        if not flags & os.O_PATH and Path(path) == swapped:
            swapped.unlink()
            swapped.hardlink_to(database)
        return without_proc(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", swapping)
    before = locks_on(database)
    with pytest.raises(JimError, match="that JIM has open"):
        read_regular(swapped, 9)
    assert locks_on(database) == before > 0


def test_a_file_with_an_inode_that_a_database_had_before_is_read(tmp_path, database):
    """SQLite removes the files beside a database with its last connection, and others may get their inodes."""
    log = files.beside(database)[1]
    (tmp_path / "dat").hardlink_to(log)
    log.unlink()
    assert read_regular(tmp_path / "dat", 1_000_000)


def test_a_site_s_database_is_set_apart_as_long_as_it_is_read(tmp_path):
    file = tmp_path / "catalogue.db"
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE file (name)")
        db.execute("INSERT INTO file VALUES ('a')")
    with files.apart(file), pytest.raises(JimError, match="that JIM has open"):
        read_regular(file, 1_000_000)
    assert first_column(file, "SELECT name FROM file WHERE name = ?", "a") == ["a"]
    assert read_regular(file, 1_000_000)


def test_an_error_of_a_file_names_its_path(tmp_path, monkeypatch):
    file, real = tmp_path / "dat", os.open
    file.touch()
    for number in (errno.EACCES, errno.EIO):

        def failing(path, flags, *more, number=number, **others):
            if flags & os.O_PATH:
                return real(path, flags, *more, **others)
            raise OSError(number, os.strerror(number), str(path))

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", failing)
            with pytest.raises(OSError, match=os.strerror(number)) as refused:
                read_regular(file, 9)
        assert (refused.value.errno, refused.value.filename) == (number, str(file))


def test_a_copy_has_the_mode_and_time_of_the_original_and_replaces_nothing(tmp_path):
    original, copy = tmp_path / "original", tmp_path / "copy"
    original.write_bytes(b"#!/bin/sh")
    original.chmod(0o750)
    os.utime(original, (1, 1_000_000_001))
    files.copy_regular(original, copy)
    assert (copy.read_bytes(), copy.stat().st_mode & 0o777, copy.stat().st_mtime) == (
        b"#!/bin/sh",
        0o750,
        1_000_000_001,
    )
    with pytest.raises(FileExistsError):
        files.copy_regular(original, copy)


@pytest.mark.parametrize("kind", ["pipe", "link", "second name", "directory"])
def test_what_a_payload_has_put_in_the_way_of_a_draft_is_neither_waited_for_nor_written(tmp_path, monkeypatch, kind):
    """It knows the pid of a keeper: each fence has it."""
    other, draft = tmp_path / "other", tmp_path / f".serial.{os.getpid()}"
    other.write_bytes(b"theirs")
    makes = {
        "pipe": lambda: os.mkfifo(draft),
        "link": lambda: draft.symlink_to(other),
        "second name": lambda: os.link(other, draft),
        "directory": draft.mkdir,
    }
    makes[kind]()
    if kind == "pipe":  # instead of waiting for ever
        opened = os.open
        monkeypatch.setattr(
            os, "open", lambda path, how, *more, **named: opened(path, how | os.O_NONBLOCK, *more, **named)
        )
    replace(tmp_path / "serial", b"new")
    assert (other.read_bytes(), (tmp_path / "serial").read_bytes()) == (b"theirs", b"new")
