"""Files that survive a crash, and safe reading of files that others have made."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from jim.errors import JimError

PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.EINTR, errno.EAGAIN, errno.ENFILE, errno.EMFILE}
PASSING |= {errno.ENOMEM, errno.ETIMEDOUT, errno.ENOTCONN, errno.EHOSTDOWN, errno.EREMOTEIO}

PAUSES = (0.05, 0.2, 0.8)  # seconds before a call is tried again
AWAY_SECONDS = 0.5  # a call that took so long to fail met a server that is away, not a glitch
BLOCK = 1024 * 1024
MOST_REMOVED = 100  # times that somebody may remove a lock before it is held
LONGEST_ONCE = 1024 * 1024  # of a file that is made once
HELD = ("/", "proc", "self", "fd")  # the begin of the path of a directory that is held
READING = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
T = TypeVar("T")

_DATABASES: dict[tuple[int, int], Path] = {}  # by device and inode: the databases of this process
_READ: list[frozenset[tuple[int, int]]] = []  # likewise: databases of others that it reads just now


def replace_durably(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write, fsync, rename: after a crash the file has its old or its new content, never a part."""
    replace(path, content, mode, durable=True)
    sync_directory(path.parent)


def replace(path: Path, content: bytes, mode: int = 0o600, *, durable: bool = False) -> None:
    """Replace a file for readers; after a power cut it may have its old or its new content.

    Nobody knows the name of the draft before: whoever may write there could have a pipe, which hangs, or a link there.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)  # the requested mode, independent of the umask
            file.write(content)
            file.flush()
            if durable:
                os.fsync(descriptor)
        temporary.rename(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        error.filename = str(path)  # errors of an open file carry no name
        raise


def rewrite(path: Path, content: bytes) -> None:
    """Write a file that is there anew, in place: readers may see a part, and after a failure that is what is left."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK), "wb") as file:
        file.write(content)


def append_whole(file: Path, lines: bytes, mode: int) -> None:
    """Append whole lines that survive a power cut, or nothing: readers would wait for ever at half a line."""
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        os.fchmod(descriptor, mode)
        size = _whole(descriptor)
        if lines and os.write(descriptor, lines) != len(lines):
            os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        if lines:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _whole(descriptor: int) -> int:
    """Cut off half a line that an interrupted write has left; return the size of the file."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        size = os.pread(descriptor, size, 0).rfind(b"\n") + 1
        os.ftruncate(descriptor, size)
    return size


def put_once(path: Path, content: bytes) -> bytes:
    """Make a file unless it exists, even if others do so at the same moment; return its content.

    Only reading tells who was first: over NFS the answer of `link` can be lost.
    """
    own = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    replace(own, content, durable=True)
    try:
        with suppress(FileExistsError):
            os.link(own, path)
    finally:
        own.unlink()
    sync_directory(path.parent)
    return read_regular(path, LONGEST_ONCE)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a lock, which is a file; without `wait`, a BlockingIOError says that somebody else holds it.

    Whoever waited for a file that was removed meanwhile waits for the new one: others lock that.
    """
    how = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
    for _ in range(MOST_REMOVED):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, how)
            if _is_at(path, descriptor):
                yield
                return
        finally:
            os.close(descriptor)
    raise OSError(
        errno.EBUSY, "it was removed each time that it was locked; let nothing clean up lock files", str(path)
    )


def _is_at(path: Path, descriptor: int) -> bool:
    """Tell whether a path still leads to what was opened."""
    with suppress(FileNotFoundError):
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    return False


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    _sync(open_regular(path), path)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    _sync(os.open(path, os.O_RDONLY | os.O_DIRECTORY), path)


def _sync(descriptor: int, path: Path) -> None:
    """Make what was opened durable, and close it."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(descriptor)


class LinkFound(NotADirectoryError):
    """A link stands where JIM keeps a directory. It proves nothing: not that the directory is gone, nor what it had."""

    def __str__(self) -> str:
        return (
            f"{self.filename} is a link, and JIM keeps a directory there. JIM follows no link, and tries again until "
            "the directory is back: remove the link, and move the directory back to its place"
        )


@contextmanager
def held(directory: Path) -> Iterator[Path]:
    """Open a directory in which payloads can write; yield a path that leads there, whatever becomes of its name.

    A link is refused: files that it led to could be anybody's. Errors name the directory as people know it.
    """
    is_held = directory.parts[:4] == HELD and len(directory.parts) == 5
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if is_held else os.O_NOFOLLOW))
    except NotADirectoryError as error:
        if directory.is_symlink():
            raise LinkFound(error.errno, error.strerror, str(directory)) from None
        raise
    here = f"/proc/self/fd/{descriptor}"
    try:
        yield Path(here)
    except (OSError, JimError) as error:
        name_as_known(error, here, str(directory))
        raise
    finally:
        os.close(descriptor)


def for_children(held_directory: Path) -> Path:
    """Return the path of a held directory that also programs can use which this process starts."""
    return Path("/proc", str(os.getpid()), *held_directory.parts[3:])


def name_as_known(error: Exception, here: str, known: str) -> None:
    """Let an error name a directory by its path, and not by a descriptor that is about to be closed."""
    if isinstance(error, OSError):
        for each in ("filename", "filename2"):
            name = getattr(error, each)
            if isinstance(name, str | Path) and f"{name}/".startswith(f"{here}/"):
                setattr(error, each, known + str(name)[len(here) :])
    elif isinstance(error, JimError):
        error.args = tuple(
            each.replace(f"{here}/", f"{known}/") if isinstance(each, str) else each for each in error.args
        )


def passes(error: OSError) -> bool:
    """Tell whether an error will probably pass: a file server that does not answer, a full disk or table."""
    return error.errno in PASSING


def missed(error: Exception) -> bool:
    """Tell whether a file has disappeared or is out of reach for a moment; neither proves anything about it."""
    return isinstance(error, FileNotFoundError) or (isinstance(error, OSError) and passes(error))


def patiently(call: Callable[[], T]) -> T:
    """Make a call, in a worker; make the call again where a file server fails for a moment.

    Where each call may fail, whoever reads 100,000 files without that patience never comes to the last.
    """
    for pause in PAUSES:
        begun = time.monotonic()
        try:
            return call()
        except OSError as error:
            if not passes(error) or time.monotonic() - begun > AWAY_SECONDS:
                raise
        time.sleep(pause)
    return call()


def resolved(path: Path, *, strict: bool = False) -> Path:
    """Follow links. Links in a circle raise an OSError: Python versions differ here."""
    loop = OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    try:
        found = path.resolve(strict=strict)  # the current directory may be gone, too
    except RuntimeError:
        raise loop from None
    with suppress(FileNotFoundError, NotADirectoryError):
        found.lstat()
    if found.is_symlink():
        raise loop
    return found


def open_regular(path: Path) -> int:
    """Open a file for reading if it is a regular file, no link, and no database of this process; never block."""
    by_name = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return open_again(by_name, path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # no /proc; else the path tells the same error
        return _open_by_path(path)
    finally:
        os.close(by_name)


def open_again(by_name: int, path: Path) -> int:
    """Open for reading what an `O_PATH` descriptor of the last part of a path shows, as `open_regular` does."""
    about = os.fstat(by_name)
    if not stat.S_ISREG(about.st_mode):
        raise JimError(f"{path} is {'a link' if stat.S_ISLNK(about.st_mode) else 'not a regular file'}")
    if (_DATABASES or _READ) and _is_database(about):
        raise _no_file_to_read(path)
    try:
        return os.open(f"/proc/self/fd/{by_name}", READING)
    except OSError as error:
        error.filename = str(path)
        raise


def _open_by_path(path: Path) -> int:
    """Open a file that another one may just have replaced; one that must not be closed stays open."""
    descriptor = os.open(path, READING | os.O_NOFOLLOW)
    about = os.fstat(descriptor)
    if _is_database(about):
        raise _no_file_to_read(path)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise JimError(f"{path} is not a regular file")
    return descriptor


# SQLite's locks belong to the process, which loses them as soon as it closes any other descriptor of the same file,
# whatever name it has opened. An `O_PATH` descriptor has no part in that.


def set_apart(database: Path) -> None:
    """Let `open_regular` refuse a database of this process, and the files beside it, under each of their names."""
    _DATABASES.update(_identities(database))


@contextmanager
def apart(database: Path) -> Iterator[None]:
    """Let `open_regular` refuse a database of others, as long as this process reads it."""
    identities = frozenset(_identities(database))
    _READ.append(identities)
    try:
        yield
    finally:
        _READ.remove(identities)


def beside(database: Path) -> list[Path]:
    """Return the files of an SQLite database."""
    return [database.with_name(f"{database.name}{end}") for end in ("", "-wal", "-shm", "-journal")]


def _identity(about: os.stat_result) -> tuple[int, int]:
    return about.st_dev, about.st_ino


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None if it is not there."""
    try:
        return _identity(path.stat())
    except FileNotFoundError:
        return None


def _identities(database: Path) -> dict[tuple[int, int], Path]:
    found = {}
    for place in beside(database):
        with suppress(OSError):
            found[_identity(place.stat())] = place
    return found


def _is_database(about: os.stat_result) -> bool:
    """Tell whether a file is of a database that this process has open, or opens again and again."""
    identity = about.st_dev, about.st_ino
    place = _DATABASES.get(identity)
    if place is None:
        return any(identity in each for each in _READ)
    with suppress(OSError):  # SQLite makes the files beside a database anew: another file may have the old inode
        return _identity(place.stat()) == identity
    return False


def _no_file_to_read(path: Path) -> JimError:
    return JimError(f"{path} is a file of a database that JIM has open: it cannot be sent or taken as a file")


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes."""
    return read_whole(open_regular(path), limit, path)


def read_whole(descriptor: int, limit: int, path: str | Path) -> bytes:
    """Read a file that was opened, of at most `limit` bytes, and close it."""
    content = b""
    try:  # os.read: a file object for each of very many small files costs more than to read them
        while len(content) <= limit and (more := os.read(descriptor, limit + 1 - len(content))):
            content += more
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise JimError(f"{path} is larger than {limit:,} bytes")
    return content


def copy_regular(source: Path, target: Path) -> None:
    """Copy a regular file, with its mode and times, to a place where nothing is."""
    with os.fdopen(open_regular(source), "rb") as content, target.open("xb") as copy:
        about = os.fstat(content.fileno())
        while block := content.read(BLOCK):
            copy.write(block)
        os.fchmod(copy.fileno(), stat.S_IMODE(about.st_mode))
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def cut(name: str) -> str:
    """Shorten a file name so that a prefix still fits."""
    return os.fsdecode(os.fsencode(name)[:200])
