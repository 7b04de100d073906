"""What killed site tests have left: found again by the next one, which ends the jobs and removes the files."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from jim.admin.finding import OK, WARNING, Finding
from jim.admin.trial.trial_site import PREFIX, TrialSite, prefix
from jim.errors import JimError
from jim.site.file import Site

NAME = "leftovers"


class Lock:
    """The state directory, locked by each site test that runs; it goes with the process, whatever ends it."""

    def __init__(self, state: Path) -> None:
        self._directory = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Lock:
        self.share()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._directory)

    def share(self) -> None:
        """Run beside others; wait for who is alone."""
        fcntl.flock(self._directory, fcntl.LOCK_SH)

    def alone(self) -> bool:
        """Keep others from beginning, if none runs."""
        try:
            fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.share()  # the attempt has cost us our share
            return False
        return True


def sweep(site: Site, lock: Lock) -> Iterator[Finding]:
    """End the jobs, and remove the files, of site tests that were killed. While others run, nobody knows which are."""
    if not lock.alone():
        return
    try:
        for place in sorted(each for each in site.state.glob(f"{PREFIX}*") if each.is_dir()):
            work = site._replace(state=place).work
            if place.name.startswith(prefix(site)):
                yield from _swept(site, place, work)
            else:  # another batch system may have given its ids to other jobs
                said = f"{place} was left by a site test that was killed, of another batch system"
                todo = f"end its jobs there, if any are left, then: {_removal(place, work)}"
                yield Finding(NAME, WARNING, said, todo)
        for place in {site.state, site.work.parent}:
            for half in place.glob(f".{PREFIX}*"):  # killed while it removed them
                shutil.rmtree(half, ignore_errors=True)
    finally:
        lock.share()


def _swept(site: Site, place: Path, work: Path) -> Iterator[Finding]:
    try:
        with TrialSite(site, place=place) as trial:
            pass
    except (JimError, OSError) as error:
        said = f"{place}, left by a site test that was killed, cannot be opened: {error}"
        yield Finding(NAME, WARNING, said, f"end its jobs, if any are left, then: {_removal(place, work)}")
        return
    yield Finding(
        NAME, OK, f"{place.name}, left by a site test that was killed: its jobs were ended, its files removed"
    )
    yield from trial.remains


def _removal(*places: Path) -> str:
    return shlex.join(["rm", "-r", *(str(place) for place in dict.fromkeys(places) if place.exists())])
