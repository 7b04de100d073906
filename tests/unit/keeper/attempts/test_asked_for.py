"""What local jobs ask for, and with what they were sent."""

from __future__ import annotations

import math

import pytest

from jim.keeper.attempts import asked_for
from jim.model import Resources
from tests.unit.keeper.runs import started


def test_the_limit_with_which_it_was_sent_counts_whatever_the_request_says_later(world):
    grid = started(world, 1)
    world.store.set_submission(grid, 1, wall_seconds=600)
    assert asked_for.wall_seconds(world.keeper, grid, 0) == 600
    assert asked_for.wall_seconds(world.keeper, grid, 0, k=1) == 600


def test_without_any_limit_its_time_is_infinite(world):
    grid = started(world, 1)
    world.store.set_submission(grid, 1, wall_seconds=0)
    assert asked_for.wall_seconds(world.keeper, grid, 0) == math.inf


@pytest.mark.parametrize("job_type", ["gone", "no/name"])
def test_of_a_job_type_that_is_gone_it_asks_for_the_site_s_limit(world, job_type):
    grid = started(world, 1)
    world.store.db.execute("UPDATE grid_job SET job_type = ? WHERE id = ?", (job_type, grid))
    limit = world.site.batch.wall_seconds
    found = asked_for.resources_of(world.keeper, world.store.local_job(grid, 0))
    assert found == Resources(wall_seconds=limit)


def test_what_a_person_has_changed_of_a_local_job_is_its_program(world):
    grid = started(world, 1)
    assert asked_for.program(world.keeper, grid, 0) == world.store.grid_job(grid).request.get("executable", "")
    world.store.set_local_job(grid, 0, changed={"executable": "/bin/other"})
    assert asked_for.program(world.keeper, grid, 0) == "/bin/other"
