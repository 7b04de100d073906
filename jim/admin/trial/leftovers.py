"""Cleans up after killed site tests: the next test cancels their jobs and removes their files."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from jim.admin.finding import OK, WARNING, Finding
from jim.admin.trial.trial_site import PREFIX, TrialSite, prefix, trial_of
from jim.errors import JimError
from jim.site.file import Site

NAME = "leftovers"


class Lock:
    """A lock on the state directory, which each running site test holds; the kernel frees it when the process ends."""

    def __init__(self, state: Path) -> None:
        self._directory = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Lock:
        self.share()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._directory)

    def share(self) -> None:
        """Run beside other tests; wait for a holder that is alone."""
        fcntl.flock(self._directory, fcntl.LOCK_SH)

    def alone(self) -> bool:
        """Exclude other tests, if none runs."""
        try:
            fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.share()  # the attempt has released the shared lock
            return False
        return True


def sweep(site: Site, lock: Lock) -> Iterator[Finding]:
    """Cancel the jobs and remove the files of killed tests. While other tests run, nobody knows which were killed."""
    if not lock.alone():
        return
    try:
        for place in sorted(each for each in site.state.glob(f"{PREFIX}*") if each.is_dir()):
            work = trial_of(site, place).work
            if place.name.startswith(prefix(site)):
                yield from _swept(site, place, work)
            else:  # another batch system may use the same ids for other jobs
                said = f"{place} was left by a killed site test of another batch system"
                todo = f"cancel its jobs there, if any are left, then run: {_removal(place, work)}"
                yield Finding(NAME, WARNING, said, todo)
        for place in {site.state, site.work}:
            for half in place.glob(f".{PREFIX}*"):  # the test was killed while it removed its files
                shutil.rmtree(half, ignore_errors=True)
    finally:
        lock.share()


def _swept(site: Site, place: Path, work: Path) -> Iterator[Finding]:
    try:
        with TrialSite(site, place=place) as trial:
            pass
    except (JimError, OSError) as error:
        said = f"{place}, left by a killed site test, is unreadable: {error}"
        yield Finding(NAME, WARNING, said, f"cancel its jobs, if any are left, then run: {_removal(place, work)}")
        return
    yield Finding(NAME, OK, f"{place.name}, left by a killed site test: its jobs were cancelled, its files removed")
    yield from trial.remains


def _removal(*places: Path) -> str:
    return shlex.join(["rm", "-r", *(str(place) for place in dict.fromkeys(places) if place.exists())])
