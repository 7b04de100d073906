"""State directories that were moved, restored or copied; tests/unit/keeper/test_serial.py tries whole stories."""

from __future__ import annotations

import pytest

from jim.admin.restoring import PLACE, moved, restored
from jim.errors import BadSite, JimError
from jim.site.lock import Lock
from tests.support.splitting_work import submit


def test_a_state_directory_in_its_place_needs_nothing(world):
    submit(world)
    world.go(2)
    assert list(moved(world.site)) == [f"nothing to do: {world.site.state} is in its place"]


def test_a_work_directory_of_another_state_directory_is_refused(world):
    submit(world)
    world.go(2)
    (world.site.work / "instance").write_text("0123cafe\n")
    with pytest.raises(BadSite, match="belongs to another state directory"):
        list(restored(world.site))


def test_nothing_is_changed_while_a_keeper_works(world, monkeypatch):
    monkeypatch.setattr("jim.site.lock.OPENING_SECONDS", 0.0)
    submit(world)
    world.go(2)
    keeper = Lock(world.site.state)
    keeper.take()
    for verb in (moved, restored):
        with pytest.raises(JimError, match="a keeper is at work"):
            list(verb(world.site))
    keeper.release()


@pytest.mark.parametrize(
    ("name", "number"),
    [("12", "12"), ("12-3f", "12"), (".removed-7-3f", "7"), ("0", None), ("packages", None), ("12x", None)],
)
def test_directories_of_grid_jobs_and_their_remains_are_recognised(name, number):
    found = PLACE.fullmatch(name)
    assert (found and found[1]) == number
