"""Who can change the code and the settings that a process obeys: nobody whom its account need not trust.

Whoever can write a file, or a directory above it, decides what a process does that reads or imports the file.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = 0
LONGEST = 4 * 1024 * 1024  # bytes of a site file
MOST_LINKS = 40  # on one way, as the kernel allows


class Untrusted(PermissionError):
    """Others can change a file, so it is not obeyed. An `OSError`: what waits for it can go on later."""

    def __init__(self, place: Path, words: str) -> None:
        super().__init__(errno.EPERM, words, str(place))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"  # the number of the error would tell people nothing


def use(own: str) -> None:
    """Let Python import from the site's directory, unless others can change what lies there."""
    if own and own not in sys.path:
        require(Path(own))
        sys.path.append(own)


def require(own: Path) -> None:
    """Refuse the site's directory if everybody can write there; for root, if anybody but root can."""
    if place := next(open_to_all(own), None):
        raise Untrusted(place, "everybody can write to it, so JIM runs nothing of site.handlers")
    if os.geteuid() == ROOT and (place := next(of_others(own, ROOT), None)):
        raise Untrusted(place, "not only root can change it, so root runs nothing of site.handlers; accounts do")


def settings_in(file: Path, *accounts: int) -> bytes:
    """Return the content of a site file; refuse one that others can change than root and these accounts."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise Untrusted(file, "it is not a regular file")
        if about.st_uid not in (ROOT, *accounts):
            raise Untrusted(file, f"it belongs to uid {about.st_uid}, and settings are root's or the account's own")
        if about.st_mode & stat.S_IWOTH or _by_group(about):
            raise Untrusted(file, f"others can write to it: look at it, then run chmod go-w {file}")
        for each in _above(file):
            if _replaceable(each.stat()):
                raise Untrusted(file, f"others can replace it, for everybody can write to {each}: run chmod o-w {each}")
        with os.fdopen(os.dup(descriptor), "rb") as content:
            text = content.read(LONGEST + 1)
    finally:
        os.close(descriptor)
    if len(text) > LONGEST:
        raise Untrusted(file, f"it has more than {LONGEST:,} bytes")
    return text


def open_to_all(place: Path) -> Iterator[Path]:
    """Yield what everybody can write: directories above a place, the place, and all below, also where links lead."""
    above, tree = _places(place)
    yield from (each for each in above if _replaceable(each.stat()))
    yield from (each for each in tree if each.stat().st_mode & stat.S_IWOTH)


def of_others(place: Path, account: int) -> Iterator[Path]:
    """Yield, of the same, what others can write than root and an account."""
    above, tree = _places(place)
    for each in above:
        about = each.stat()
        if about.st_uid not in (ROOT, account) or (_by_group(about) and not about.st_mode & stat.S_ISVTX):
            yield each
    for each in tree:
        about = each.stat()
        if about.st_uid not in (ROOT, account) or _by_group(about):
            yield each


def _replaceable(about: os.stat_result) -> bool:
    """Tell whether everybody can replace what lies in a directory; in /tmp, nobody can replace what is another's."""
    return bool(about.st_mode & stat.S_IWOTH) and not about.st_mode & stat.S_ISVTX


def _above(place: Path) -> dict[Path, None]:
    """Return each directory in which a name on the way to a place is looked up, also on the way of links."""
    here, found, links = Path("/"), dict[Path, None](), 0
    names = [*place.absolute().parts[:0:-1]]
    while names:
        name = names.pop()
        found[here] = None
        ahead = here.parent if name == ".." else here / name
        if not ahead.is_symlink():
            here = ahead
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(place))
        target = ahead.readlink()
        here = Path("/") if target.is_absolute() else here
        names += [each for each in target.parts[::-1] if each != "/"]
    return found


def _by_group(about: os.stat_result) -> bool:
    """Tell whether a group can write a file: neither root's, nor the one that many systems give each account."""
    if not about.st_mode & stat.S_IWGRP or about.st_gid == ROOT:
        return False
    import grp  # few files may be written by a group
    import pwd

    try:
        return grp.getgrgid(about.st_gid).gr_name != pwd.getpwuid(about.st_uid).pw_name
    except KeyError:
        return True


def _places(place: Path) -> tuple[list[Path], list[Path]]:
    """Return the directories above a place, and the place with all below it; likewise for what links in it lead to."""
    there = [place, *sorted(place.rglob("*"))]
    real = dict.fromkeys(each for each in there if not each.is_symlink())
    above = _above(place)
    for link in (each for each in there if each.is_symlink() and each.exists()):
        above |= _above(link)
        target = link.resolve()
        real |= dict.fromkeys((target, *(each for each in target.rglob("*") if not each.is_symlink())))
    return list(above), list(real)
