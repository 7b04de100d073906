"""Real batch systems on this machine, for root only; a run fails when one of its tests was skipped.

`make live` runs the quick proof, `make live-long` all that is marked `long`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.live.accounts import ACCOUNT, DEBIAN, have, processes, said
from tests.live.site import ROOM, LiveSite, install, start_lab, until


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.live)


def pytest_sessionfinish(session, exitstatus):
    """Take a skipped live test for a failed one: it has shown nothing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = [each for each in reporter.stats.get("skipped", ()) if each.nodeid.startswith("tests/live/")]
    if skipped and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{len(skipped)} live tests were skipped: that is no success")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def installed():
    """This tree, installed where the lab's user may read it: the directory, and what its doors' environment holds."""
    assert os.getuid() == 0, "the labs need root"
    place = Path(tempfile.mkdtemp(prefix="jim-live-"))
    place.chmod(0o755)
    yield place, install(place)
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="session")
def lab():
    """Bring up a lab by its name, with settings of a test's own."""

    def up(name: str, *, anew: bool = False, **more: object) -> None:
        start_lab(name, anew=anew, **ROOM.get(name, {}) | more)

    return up


@pytest.fixture(scope="session")
def make_site(installed):
    """Make a JIM site on a lab that is up."""
    sites = []

    def make(system: str, **more: Any) -> LiveSite:
        place, environment = installed
        sites.append(LiveSite(place, system, environment, **more))
        return sites[-1]

    yield make
    for each in sites:
        with suppress(OSError):
            each.close()


@pytest.fixture(scope="module")
def debian():
    have(*DEBIAN)


@pytest.fixture
def account(tmp_path_factory):
    """An account of this test alone; what runs as it is ended."""
    said("useradd", "--create-home", "--shell", "/bin/sh", ACCOUNT)
    yield pwd.getpwnam(ACCOUNT)
    for pid in processes(""):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(lambda: not processes(""), "all processes of the account have ended")
    said("userdel", "--remove", ACCOUNT)
