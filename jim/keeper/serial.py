"""The serial number that a state directory and its work directory share: it reveals a copied or restored state.

The store raises the serial with each intent to write into the work directory. Before that write, a worker stores the
serial in the state directory, then in the work directory. So the work directory is ahead only if another state
directory has worked there: a copy, or this one before a restore. A kill between two of these writes leaves the work
directory behind, which is harmless.
"""

from __future__ import annotations

import errno
import os
import threading
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from jim.clock import Clock
from jim.errors import BadSite, Outdated
from jim.files import put_once, read_regular, replace_durably
from jim.guide import guide
from jim.keeper.rejecting import Rejected
from jim.model import DECIDE, Step
from jim.site.file import Site
from jim.statusdb import is_there, open_store
from jim.statusdb.store import Store
from jim.workdir.removed import INSTANCE

FILE, MACHINE = "serial", Path("/etc/machine-id")
WORKED_IN = "work"  # the fact that names the last work directory
IN_WORK = (Step.RESOLVED, Step.SPLIT, Step.ACTIVE, Step.COLLECTING)  # steps in which a grid job has its directory
LONGEST = 100_000  # bytes of these files: each restore adds one instance to a list
CHOICE = (
    f"{DECIDE}; requests are taken in, and wait. If the state directory comes from a "
    "backup or a snapshot, or is a copy: end the keeper of the other one, if any, then run `jim site restored`. If it "
    f"was only moved, and nothing uses the old one: run `jim site moved`. {guide('operating.md')}, Restored or moved"
)


class Serials(NamedTuple):
    """The serial in each of the three places; 0: none yet."""

    state: int
    store: int
    work: int

    @property
    def behind(self) -> bool:
        """Tell whether the store, or the state directory, has forgotten work that a later place shows."""
        return self.store < max(self.state, self.work) or self.state < self.work

    def __str__(self) -> str:
        return f"{self.state} in the state directory, {self.store} in its status.db, {self.work} in the work directory"


class Home(NamedTuple):
    """The machine and path of a state directory."""

    machine: str  # empty: this machine has no id
    path: str

    def __str__(self) -> str:
        return f"{self.path} on machine {self.machine or '(without an id)'}"


def serials(site: Site, store: Store) -> Serials:
    """Return the serials of the three places."""
    return Serials(_number(site.state / FILE), int(store.fact(FILE) or 0), _number(site.work / FILE))


def told(site: Site) -> str:
    """Return the serials in words; refuse a state that no keeper would continue."""
    if not is_there(site.state):
        return "no keeper has been at work yet"
    with closing(open_store(site.state, Clock())) as store:
        refuse_outdated(site, store, instances_in(site.state) or ("",))
        return f"{serials(site, store)}; at work as {home(site)}"


def _number(file: Path) -> int:
    return _told(file)[0]


def _told(file: Path) -> tuple[int, str]:
    """Read a serial and, in the work directory, the nonce of the keeper that wrote it."""
    try:
        number, _, nonce = read_regular(file, LONGEST).decode().strip().partition(" ")
        return int(number), nonce
    except FileNotFoundError:
        return 0, ""
    except ValueError as error:
        raise BadSite(f"{file} holds no serial: {error}; {CHOICE}") from error


def home(site: Site) -> Home:
    """Return the present machine and path."""
    try:
        machine = MACHINE.read_text().strip()
    except (OSError, ValueError):  # a container may have none
        machine = ""
    return Home("" if machine == "uninitialized" else machine, str(site.state.resolve()))


def home_before(store: Store) -> Home:
    """Return the machine and path of the last keeper; empty after an older version."""
    return Home(store.fact("machine"), store.fact("path"))


def refuse_outdated(site: Site, store: Store, instances: tuple[str, ...]) -> None:
    """Refuse a state directory that is behind its work directory, and one that was moved or copied."""
    found, here, before = serials(site, store), home(site), home_before(store)
    others = instances_in(site.work)
    if others and others[0] != instances[0] and instances[0] in others:
        raise Outdated(
            f"{site.work} has been taken over by another copy of {site.state}: its instance is {others[0]} now. "
            f"{CHOICE}"
        )
    if found.behind:
        raise Outdated(f"{site.state} is older than the work done with it: its serial is {found}. {CHOICE}")
    if is_elsewhere(here, before):
        raise Outdated(f"{site.state} was at work as {before}, and is now {here}: it was moved or copied. {CHOICE}")


def is_elsewhere(here: Home, before: Home) -> bool:
    """Tell whether machine or path differ from before; unknown values are not compared."""
    return any(now and then and now != then for now, then in zip(here, before, strict=True))


def instances_of(state: Path) -> tuple[str, ...]:
    """Return the state directory's instance, a part of every new mark, and its instances before restores."""
    file = state / INSTANCE
    if not file.exists():
        replace_durably(file, f"{os.urandom(4).hex()}\n".encode())
    return instances_in(state)


def instances_in(place: Path) -> tuple[str, ...]:
    """Read the instances of a directory, the present one first; none if the file is missing."""
    try:
        return tuple(read_regular(place / INSTANCE, LONGEST).decode(errors="replace").split())
    except FileNotFoundError:
        return ()


def own_work(site: Site, instances: tuple[str, ...], *, used: bool) -> None:
    """Take the work directory, unless it is that of another state directory."""
    refuse_foreign(site, instances, used=used)
    if not (site.work / INSTANCE).exists():
        put_once(site.work / INSTANCE, "".join(f"{each}\n" for each in instances).encode())
    refuse_foreign(site, instances, used=used)  # another keeper may have been first


def refuse_foreign(site: Site, instances: tuple[str, ...], *, used: bool) -> None:
    """Refuse a work directory of another state directory: both would have a grid job 1."""
    if not (site.work / INSTANCE).exists():
        if used:
            raise BadSite(
                f"grid jobs work in {site.work}, but it is empty (has no file {INSTANCE}): is it mounted? "
                f"If it was emptied on purpose, write {instances[0]} into that file"
            )
        return
    owner = next(iter(instances_in(site.work)), "")
    if owner != instances[0]:
        raise BadSite(
            f"{site.work} belongs to another state directory (its instance is {owner}, ours is {instances[0]})"
        )


class Hold:
    """A keeper's hold on its work directory, until another keeper takes it, and what it knows of the directory."""

    def __init__(self, site: Site, instances: tuple[str, ...], clock: Clock) -> None:
        self.instance, self.instances = instances[0], frozenset(instances)
        self.places: dict[int, str] = {}  # directories of grid jobs that differ from their number
        self.away: dict[Path, float] = {}  # since when directories in it are away
        from jim.idealizer.health import work  # it needs libraries: `jim site check` says if they are missing

        self.written = work(clock)  # the health of what submissions need there
        self.rejected = Rejected()
        self._state, self._work = site.state, site.work
        self._nonce, self._wanted, self._tried = os.urandom(8).hex(), 0, 0
        self._lock = threading.Lock()

    def take(self, store: Store, seen: Serials, here: Home) -> None:
        """Raise the serial above all known serials: first in the store, last in the work directory."""
        number = 1 + max(seen)
        self.places.update(store.numbers.places())
        before = home_before(store).path
        with store.transaction():
            if before not in ("", here.path):
                store.tasks.move_places(before, here.path)
            for name, value in ((FILE, str(number)), *here._asdict().items()):
                if value:  # an unknown value counts as unchanged
                    store.set_fact(name, value)
        self._write(number)

    def directory(self, grid: int) -> Path:
        """Return the directory of a grid job."""
        return self._work / self.places.get(grid, str(grid))

    def expect(self, store: Store) -> None:
        """Note the store's serial. The loop calls this before a worker writes into the work directory."""
        self._wanted = int(store.fact(FILE))

    def reach(self) -> None:
        """Check, before a write into the work directory, that it is ours, and that no other keeper raised its serial.

        An unreadable serial is tried again; only a serial that another keeper wrote ends this keeper.
        """
        with self._lock:
            found, nonce = _told(self._work / FILE)
            if nonce and (nonce != self._nonce or found > self._tried):
                raise Outdated(
                    f"another keeper has worked in {self._work}: its serial is {found}, and ours was {self._tried} at "
                    f"most. So {self._state} was rolled back, or a copy of it is at work elsewhere. {CHOICE}"
                )
            self._require_mounted()
            if self._wanted > self._tried or not nonce:  # no nonce: the directory was emptied on purpose, and is ours
                self._write(max(self._wanted, self._tried))
                self._require_mounted()  # else the serial would go into an empty mount point

    def _require_mounted(self) -> None:
        if instances_in(self._work)[:1] != (self.instance,):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._work / INSTANCE))

    def _write(self, number: int) -> None:
        self._tried = number  # also if the answer to the last write is lost
        replace_durably(self._state / FILE, f"{number}\n".encode())
        replace_durably(self._work / FILE, f"{number} {self._nonce}\n".encode())


def is_used(site: Site, store: Store) -> bool:
    """Tell whether this state directory has worked in this work directory, by its own records."""
    return store.fact(WORKED_IN) == str(site.work) or store.any_grid_job(*IN_WORK)
