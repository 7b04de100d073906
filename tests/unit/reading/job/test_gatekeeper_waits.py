"""What `jim explain` says of grid jobs that wait at their gatekeeper."""

import pytest

from jim.jobs import PLACED
from jim.model import Step
from jim.reading.job import waits
from jim.reading.view import View
from tests.support.stand_ins import World


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path, None)
    for number in (1, 2):
        world.store.add_grid_job(number, f"k{number}", "me", "2026-01-31T12:00:00.000Z", {"job_type": "executable"})
    return world


def explained(world, number):
    view = View(world.site, world.store)
    return [f"{each.what}; {each.next}" for each in waits.of_grid_job(view, world.store.grid_job(number))]


def test_the_grid_job_of_the_key_before_is_named_as_long_as_it_has_not_finished(world):
    world.store.at_doors.change(2, after=1)
    told = [each for each in explained(world, 2) if "nothing is sent before 1 has finished" in each]
    assert len(told) == 1
    assert "has cancelled grid job 1" in told[0]
    world.store.set_grid_job(1, step=Step.FINISHED, outcome="killed")
    assert not any("before 1" in each for each in explained(world, 2))
    world.store.removals.remove(world.store.grid_job(1))
    assert not any("before 1" in each for each in explained(world, 2))


def test_outputs_that_are_not_in_place_are_told_of(world):
    world.store.at_doors.change(1, places={"directory": "/w"})
    assert not any("/w" in each for each in explained(world, 1))
    world.store.set_grid_job(1, step=Step.FINISHED, outcome="completed")
    assert any(each.startswith("its outputs are not yet in /w, where") for each in explained(world, 1))
    world.store.at_doors.change(1, placed="the outputs cannot be placed: disk full")
    assert any(each.startswith("the outputs cannot be placed: disk full; ") for each in explained(world, 1))
    world.store.at_doors.change(1, placed=PLACED)
    assert not any("outputs" in each for each in explained(world, 1))
