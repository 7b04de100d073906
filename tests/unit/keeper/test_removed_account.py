"""An account that is removed while its keeper runs: the keeper has its uid, and its grid jobs end as they would."""

from __future__ import annotations

import grp
import os
import pwd

import pytest

from jim.errors import BadSite
from jim.site import file as site_file
from tests.support.stand_ins import World


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No account and no group is known, as after `userdel`."""

    def unknown(name: object) -> None:
        raise KeyError(f"not found: {name!r}")

    for module, name in ((pwd, "getpwuid"), (pwd, "getpwnam"), (grp, "getgrgid"), (grp, "getgrnam")):
        monkeypatch.setattr(module, name, unknown)
    for name in ("HOME", "USER", "LOGNAME", "JIM_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_grid_jobs_of_a_removed_account_end(world: World, request: pytest.FixtureRequest) -> None:
    grid = world.submit(key="before")
    world.until(lambda: bool(world.batch.tasks))
    request.getfixturevalue("removed")
    world.restart()
    world.wish("retry", "1")
    world.run_all(grid)
    assert world.finished(grid)
    world.store.close()


def test_its_doors_say_so(removed: None) -> None:
    with pytest.raises(BadSite, match=f"^this machine has no account with uid {os.getuid()}; set JIM_STATE$"):
        site_file.load()
