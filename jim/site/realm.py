"""Which files of this machine the sender of a request may name, and how JIM opens them.

Whoever submits as the account may name what the account can read. Whoever comes in by a gatekeeper may not: many
people share an account, and its files are not theirs. So a door gives their request a realm, which is stored with it.
The realm is checked on what is opened, each time that a file is read: at the door, when files are sent, at renewals.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import BadRequest
from jim.files import open_again, open_regular, passes, resolved
from jim.site import file as site_file
from jim.site.file import Site
from jim.site.walking import Id, Place, above, id_of, opened

DATABASES = ("status.db", "batch/queue.db")
SECRETS = ("pages.key", "pages.tokens")
CREDENTIALS = ("proxy", "token")  # in the directory of a grid job


class Realm(NamedTuple):
    """What the sender of a request may name: files below these directories, and these files."""

    below: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return it as the store keeps it."""
        return json.dumps(self._asdict())


def realm_of(stored: Mapping[str, Any]) -> Realm:
    """Return the realm that an inbox or a store has kept; refuse a damaged one, which must not open anything."""
    below, files = stored.get("below"), stored.get("files")
    for each in (below, files):
        if not isinstance(each, list) or not all(isinstance(path, str) for path in each):
            raise ValueError("expected two lists of paths")
    return Realm(tuple(below or ()), tuple(files or ()))


def with_files(realm: str, files: Iterable[str]) -> str:
    """Return a realm with further files, as the store keeps it; the account itself needs none."""
    if not realm:
        return realm
    before = realm_of(json.loads(realm))
    return before._replace(files=(*dict.fromkeys((*before.files, *files)),)).text


class Opener:
    """Opens files for a request of the account itself: whatever the account can read."""

    def open(self, path: str, about: str, *, follow: bool = True) -> int:
        """Open a regular file for reading, without blocking; `about` is the attribute that names it."""
        return open_regular(resolved(Path(path)) if follow else Path(path))

    def require(self, path: str, about: str) -> None:
        """Refuse a file or directory that the sender may not name."""

    def require_place(self, directory: int, path: str) -> None:
        """Refuse an opened directory if nothing may be written there for the sender; `path` is what for."""

    def require_foreign(self, directory: int, path: str, about: str) -> None:
        """Refuse an opened directory of JIM's own; `path` is what for."""

    def require_outside(self, path: str, about: str) -> None:
        """Refuse a file of JIM's own, and a name in a directory of JIM's own, whether there is such a file or not."""


OWN = Opener()


def opener_of(site: Site, realm: str) -> Opener:
    """Return what opens the files of a request with this realm; without one, the account itself has sent it."""
    if not realm:
        return OWN
    try:
        told = realm_of(json.loads(realm))
    except (ValueError, AttributeError) as error:
        words = f"which files its sender may name is damaged in the store ({error}), so none is opened"
        raise BadRequest(words) from error
    return Confined(site, told)


class Confined(Opener):
    """Opens what lies in a realm.

    From a file upwards, the first directory that is open to the sender, or closed to all senders, decides. Directories
    are compared by device and inode, so links, `..` and bind mounts change nothing.
    """

    def __init__(self, site: Site, realm: Realm) -> None:
        self._site, self._realm = site, realm
        self._places = (*realm.below, *site.site.inputs_below)
        # What was no link at the door has become one: whoever may write beside it could have led it anywhere.
        self._open = {*_ids(realm.below, follow=False), *_ids(site.site.inputs_below)}
        work = [site.work] if site.work.is_absolute() else []
        self._closed = set(_sure_ids([site.state, *work, site_file.MANAGED_FILE.parent, site_file.MANAGED_STATE]))

    def open(self, path: str, about: str, *, follow: bool = True) -> int:
        """Open a regular file for reading, without blocking; refuse one outside the realm, wherever links lead."""
        with self._opened(path, about) as place:
            if not stat.S_ISREG(place.about().st_mode):
                raise BadRequest(f"{path} is not a regular file", about)
            return open_again(place.at, Path(path))

    def require(self, path: str, about: str) -> None:
        """Refuse a file or directory outside the realm."""
        with self._opened(path, about):
            pass

    def require_place(self, directory: int, path: str) -> None:
        """Refuse an opened directory outside the realm."""
        if not self._decides(directory):
            raise self._refusal(path, "directory")

    def require_foreign(self, directory: int, path: str, about: str) -> None:
        """Refuse an opened directory of JIM's own."""
        if self._decides(directory) is False:
            raise BadRequest(f"{path} is JIM's own, and no place for a job", about)

    def require_outside(self, path: str, about: str) -> None:
        """Refuse a file of JIM's own, and a name in a directory of JIM's own, whether there is such a file or not."""
        with opened(path, may_lack=True) as place:
            seen = place.about() if place.at >= 0 else None
            is_directory = seen is not None and stat.S_ISDIR(seen.st_mode)
            self.require_foreign(place.at if is_directory else place.directory, path, about)
            if seen and (id_of(seen) in self._secrets or (seen.st_nlink > 1 and id_of(seen) in self._credentials)):
                raise BadRequest(f"{path} is JIM's own, and no file for a job", about)

    @contextmanager
    def _opened(self, path: str, about: str) -> Iterator[Place]:
        try:
            with opened(path) as place:
                if not self._holds(place):
                    raise self._refusal(path, about)
                yield place
        except OSError as error:
            if passes(error) or self._is_named_below(path):
                raise
            raise self._refusal(path, about) from None  # nobody learns what is there

    def _holds(self, place: Place) -> bool:
        """Tell whether a file or directory is in the realm."""
        seen = place.about()
        is_directory, file = stat.S_ISDIR(seen.st_mode), id_of(seen)
        if file in self._secrets or (seen.st_nlink > 1 and not is_directory and file in self._credentials):
            return False
        decision = self._decides(place.at if is_directory else place.directory)
        return (id_of(os.fstat(place.directory)), place.name) in self._files if decision is None else decision

    def _decides(self, directory: int) -> bool | None:
        """Tell whether a directory lies in one that is open to the sender, or in a closed one; None: in neither."""
        for each in above(directory):
            if each in self._closed:
                return False
            if each in self._open:
                return True
        return None

    @cached_property
    def _files(self) -> set[tuple[Id, str]]:
        """The single files of the realm, by directory and name: a link that has such a name leads elsewhere."""
        parted = (os.path.split(each) for each in self._realm.files)
        return {(here, name) for directory, name in parted for here in _ids([directory])}

    @cached_property
    def _secrets(self) -> set[Id]:
        """What no sender may name, under whatever name."""
        bases = [str(self._site.state / name) for name in DATABASES]
        files = [f"{base}{end}" for base in bases for end in ("", "-wal", "-shm", "-journal")]
        files += [str(self._site.state / name) for name in SECRETS]
        return set(_sure_ids([*files, *filter(None, [self._site.pages.proxy_secret])]))

    @cached_property
    def _credentials(self) -> set[Id]:
        """What other grid jobs were handed: only a second name leads to it from outside the work directory."""
        with suppress(FileNotFoundError):
            places = self._site.work.iterdir()
            return set(_sure_ids(place / name for place in places for name in CREDENTIALS))
        return set()

    def _is_named_below(self, path: str) -> bool:
        """Tell whether a path names something in the realm: then its sender may learn why it cannot be read."""
        plain = os.path.normpath(path)
        return plain in self._realm.files or any(
            f"{plain}/".startswith(f"{each.rstrip('/')}/") for each in self._places
        )

    def _refusal(self, path: str, about: str) -> BadRequest:
        if moved := [each for each in self._realm.below if os.path.islink(each)]:  # noqa: PTH114 - a text
            return BadRequest(
                f"{path}: {moved[0]} is a link now, and JIM follows none there: remove the link, and move the "
                "directory back to its place",
                about,
            )
        places = [*self._places, *self._realm.files]
        nothing = "no files of this machine, as none were spooled for it (HTCondor: condor_submit -spool)"
        allowed = f"only files of {', '.join(places)}, but none of JIM's own" if places else nothing
        return BadRequest(
            f"{path}: a request that comes through this gatekeeper may name {allowed}; "
            "administrators of the site can open further directories, with site.inputs_below",
            about,
        )


def _sure_ids(paths: Iterable[str | Path]) -> Iterator[Id]:
    """Yield the ids of what is there, and no sender may have; if a disk does not tell, nothing can be opened."""
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            yield id_of(os.stat(path))  # noqa: PTH116 - texts, too


def _ids(paths: Iterable[str | Path], *, follow: bool = True) -> Iterator[Id]:
    """Yield the ids of what is there, and senders may have."""
    for path in paths:
        with suppress(OSError, ValueError):
            yield id_of(os.stat(path, follow_symlinks=follow))  # noqa: PTH116 - texts, too
