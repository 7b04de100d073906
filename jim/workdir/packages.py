"""Input packages: the files that every local job finds in `input/`, packed once and shared by equal grid jobs.

The name of a package is the checksum of its content: `work/packages/SHA256/package.tar`. Each grid job has a hard link
to its package, so the number of links shows whether anyone still needs it, even after a kill.

Payloads of all senders run as one account, so each can change a package that it has. So grid jobs share a package only
if they are of the same sender; those of another one have a copy of their own in a directory of that sender.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tarfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

from jim.errors import BadRequest
from jim.files import held, passes, resolved, sync_directory
from jim.files.trees import remove_tree
from jim.site.realm import OWN, Opener

PACKAGES = "packages"  # in the work directory
HELD = "package.tar"  # in a grid job's directory: the hard link
OF_SENDER = "of-"  # begins the names of directories for senders
PACKAGE = "package"  # in a grid job's directory: the place of the package, and of its files
STDIN = "stdin"  # the standard input of the local jobs
TOOLS = "tools"  # files that a site sends with every grid job
MOST_FILES = 100_000
MOST_SENT = 5  # times that a package is sent for one grid job
LEFT_SECONDS = 86_400.0  # seconds after which nobody will finish a half-written package
KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}
# Only one keeper shares packages, in several threads: none may be removed while another thread links it.
_SHARING = threading.Lock()
_SENDING: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # by the name of the package


class Member(NamedTuple):
    """One name in a package: a file, a directory, or a link that stays within its own tree."""

    name: str
    source: Path
    seen: os.stat_result
    opener: Opener = OWN  # of those who named it


def members(inputs: Sequence[str], most_bytes: int, stdin: str = "", opener: Opener = OWN) -> list[Member]:
    """Return the members of the package for the inputs and the stdin of a request; refuse what cannot be sent."""
    for path, about in (*((each, "inputs") for each in inputs), *([(stdin, STDIN)] if stdin else [])):
        if path.startswith("/"):
            _require(opener, path, about)
    names: dict[str, str] = {}
    for each in inputs:
        name = Path(each).name
        if not name or name == ".." or not each.startswith("/"):
            raise BadRequest(f"{each!r}: expected the path of a file or directory", "inputs")
        if name in names:
            raise BadRequest(f"{names[name]} and {each} have the same name, so both would get the same place", "inputs")
        names[name] = each
    if reserved := names.keys() & {TOOLS, "input", "stdout", "stderr", *([STDIN] if stdin else [])}:
        first = min(reserved)
        raise BadRequest(f"{names[first]}: a local job uses the name {first!r} for something else", "inputs")
    found = (one for name, each in names.items() for one in walked(Path(each), name, opener))
    return _bounded(chain([_stdin(stdin, opener)] if stdin else [], found), most_bytes)


def _require(opener: Opener, path: str, about: str) -> None:
    try:
        opener.require(path, about)
    except OSError as error:
        raise _why(error, path, about) from error


def _stdin(path: str, opener: Opener) -> Member:
    """Return the member that local jobs read as their standard input."""
    try:
        place = resolved(Path(path), strict=True)
        seen = place.stat()
        if not stat.S_ISREG(seen.st_mode):
            raise BadRequest(f"{path} is not a regular file", STDIN)
        os.close(opener.open(str(place), STDIN, follow=False))
    except OSError as error:
        raise _why(error, path, STDIN) from error
    return Member(STDIN, place, seen, opener)


def _bounded(found: Iterable[Member], most_bytes: int) -> list[Member]:
    """Refuse too many or too large members: a sparse file claims terabytes and costs nothing."""
    kept, size = [], 0
    for one in found:
        size += one.seen.st_size if stat.S_ISREG(one.seen.st_mode) else 0
        if size > most_bytes:
            raise BadRequest(
                f"with {one.source} they have {size:,} bytes, more than the {most_bytes:,} that this site "
                "sends with a grid job; leave large files where worker nodes can read them, and pass "
                "their paths",
                "inputs",
            )
        kept.append(one)
        if len(kept) > MOST_FILES:
            raise BadRequest(f"more than {MOST_FILES:,} files; pack them into an archive and send that", "inputs")
    return kept


def walked(place: Path, name: str = "", opener: Opener = OWN) -> Iterator[Member]:
    """Return everything at and below a place, by its name in the package; `name` is that of the place itself."""
    try:
        root = resolved(place, strict=True)
        yield from _walked(root, root, name, opener)
    except OSError as error:
        inside = error.filename if name and str(error.filename).startswith(f"{place}/") else place
        raise _why(error, inside, "inputs") from error


def _why(error: OSError, place: object, attribute: str) -> OSError | BadRequest:
    """Return the error to raise for a file that cannot be read; one that will pass is no fault of the request."""
    return error if passes(error) else BadRequest(f"cannot read {place}: {error.strerror}", attribute)


def _walked(root: Path, place: Path, name: str, opener: Opener) -> Iterator[Member]:
    seen = place.lstat()
    kind = stat.S_IFMT(seen.st_mode)
    if kind in KINDS:
        raise BadRequest(f"{place} is {KINDS[kind]}; only files and directories can be sent", "inputs")
    if kind == stat.S_IFLNK:
        _check_link(root, place)
    elif not os.access(place, os.R_OK | (os.X_OK if kind == stat.S_IFDIR else 0)):
        raise BadRequest(f"cannot read {place}: Permission denied", "inputs")
    if name:
        yield Member(name, place, seen, opener)
    if kind == stat.S_IFDIR:
        opener.require(str(place), "inputs")
        for each in sorted(os.listdir(place)):  # noqa: PTH208 - names are enough
            yield from _walked(root, place / each, f"{name}/{each}" if name else each, opener)


def _check_link(root: Path, place: Path) -> None:
    """Accept a link only if it leads to the same file after unpacking."""
    target = place.readlink()
    try:
        leads = resolved(place, strict=True)
    except OSError as error:
        raise BadRequest(f"{place} is a link that leads nowhere ({target})", "inputs") from error
    if target.is_absolute() or not leads.is_relative_to(root):
        raise BadRequest(
            f"{place} is a link that leads out of {root} ({target}); send the file it leads to instead", "inputs"
        )


def share(work: Path, place: Path, found: Iterable[Member], sharing: str = "") -> None:
    """Link the package of these members in `place`, a grid job's directory; repeating this changes nothing.

    Only grid jobs with the same words share a package; empty: those of the account itself.
    """
    ordered = sorted(found, key=lambda each: each.name)
    if not ordered:
        return
    digest, path = _pack(ordered, None), [PACKAGES]
    if sharing:
        path.append(f"{OF_SENDER}{hashlib.sha256(sharing.encode(errors='surrogateescape')).hexdigest()[:32]}")
    lock = _SENDING["/".join((path[-1], digest))]
    # Of several equal packages at the same time, one is written and the others wait for it.
    with lock, _made(work, path) as packages, held(place) as here:
        leads = Path(os.path.relpath(work.joinpath(*path), place))
        holds, left = _hold(packages, digest, here, leads), MOST_SENT
        while not holds and left:  # between sending and holding, a sweep may take the package away
            holds, left = _hold(packages, _send(packages, ordered), here, leads), left - 1
    if not holds:  # a local job without its files would end wrongly
        raise OSError(errno.ESTALE, "its package vanishes again and again", str(work.joinpath(*path)))


@contextmanager
def _made(directory: Path, names: Sequence[str]) -> Iterator[Path]:
    """Make a directory below another and open it; follow no link."""
    with ExitStack() as stack:
        for name in names:
            directory /= name
            with suppress(FileExistsError):
                directory.mkdir(mode=0o700)
            directory = stack.enter_context(held(directory))
        yield directory


def _send(packages: Path, ordered: Sequence[Member]) -> str:
    """Write a package where worker nodes see it; it appears whole. If a file changed meanwhile, its name differs."""
    draft = packages / f".draft-{os.urandom(8).hex()}"
    draft.mkdir(mode=0o700)
    try:
        with (draft / HELD).open("wb") as file:
            digest = _pack(ordered, file)
            file.flush()
            os.fsync(file.fileno())
        sync_directory(draft)
        with suppress(OSError):  # an equal package came first
            draft.rename(packages / digest)
        sync_directory(packages)
    finally:
        with suppress(OSError):
            remove_tree(draft)
    return digest


def _hold(packages: Path, digest: str, place: Path, leads: Path) -> bool:
    """Link a package, if it exists; `leads` is the way from a grid job's directory to the packages."""
    with _SHARING:
        with suppress(FileNotFoundError):
            (place / HELD).unlink()
        try:
            os.link(packages / digest / HELD, place / HELD)
        except FileNotFoundError:
            return False
    draft = place / f".{PACKAGE}"
    draft.unlink(missing_ok=True)
    draft.symlink_to(leads / digest)
    draft.rename(place / PACKAGE)
    sync_directory(place)
    return True


class _Sum:
    """Receives the bytes of a package: computes its name and writes its file, if there is one."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file, self.sum = file, hashlib.sha256()

    def write(self, block: bytes) -> int:
        """Take the next bytes."""
        self.sum.update(block)
        if self._file:
            self._file.write(block)
        return len(block)


def _pack(ordered: Sequence[Member], file: IO[bytes] | None) -> str:
    """Pack members in order; the same content gives the same bytes, whatever owner and time the files have.

    The format is GNU's, because busybox knows no other for long names. Worker nodes share the unpacked files, which are
    read-only.
    """
    out = _Sum(file)
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:  # type: ignore[call-overload]
        for one in ordered:
            entry = tarfile.TarInfo(one.name)
            if stat.S_ISDIR(one.seen.st_mode):
                entry.type, entry.mode = tarfile.DIRTYPE, 0o700
                tar.addfile(entry)
            elif stat.S_ISLNK(one.seen.st_mode):
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, str(one.source.readlink()), 0o700
                tar.addfile(entry)
            else:
                entry.mode = 0o500 if one.seen.st_mode & 0o111 else 0o400
                with os.fdopen(one.opener.open(str(one.source), "inputs", follow=False), "rb") as content:
                    entry.size = os.fstat(content.fileno()).st_size
                    tar.addfile(entry, content)
    return out.sum.hexdigest()


def sweep(work: Path) -> int:
    """Remove packages without a grid job, and half-written ones of ended keepers; return the number."""
    packages = work / PACKAGES
    if not packages.is_dir():
        return 0
    with held(packages) as here:
        removed = _swept(here)
        for each in list(here.glob(f"{OF_SENDER}*")):
            with suppress(NotADirectoryError), held(each) as of_sender:
                removed += _swept(of_sender)
            if time.time() - each.lstat().st_mtime > LEFT_SECONDS:  # one that is used anew just now is made anew
                with _SHARING, suppress(OSError):
                    each.rmdir()
    return removed


def _swept(packages: Path) -> int:
    removed = 0
    for each in list(packages.iterdir()):
        if each.name.startswith(OF_SENDER):
            continue
        doomed = each
        if not each.name.startswith("."):
            with _SHARING:
                try:
                    if (each / HELD).stat().st_nlink > 1:
                        continue
                except FileNotFoundError:  # it was never whole, or is half removed
                    pass
                doomed = packages / f".removed-{each.name}"
                each.rename(doomed)
            removed += 1
        elif not each.name.startswith(".removed-") and time.time() - each.stat().st_mtime < LEFT_SECONDS:
            continue
        with suppress(OSError):
            remove_tree(doomed)
    return removed
