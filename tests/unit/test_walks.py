"""The ways of a request, a grid job and a page through the rooms, followed while they are walked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from jim import run_grid_job
from jim.jobs import GridJob
from jim.keeper import rounds
from jim.keeper.keeper import Keeper
from jim.model import Step
from tests.support.stand_ins import World
from tests.support.walks import Entry, hidden, walked, way

REQUEST = 'job_type = "pythia_monte_carlo"\nevents = {}\n'
# Whoever has the request may ask its job type.
ASKED_BY_ALL = ("run_grid_job", "doors", "handlers")


@pytest.fixture
def walk_of_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(run_grid_job, "wake", lambda state: None)
    monkeypatch.setattr(run_grid_job, "require_keeper", lambda state: None)
    file = tmp_path / "request.toml"
    file.write_text(REQUEST.format(1000))
    run_grid_job.submit(file)  # loads what is loaded once
    file.write_text(REQUEST.format(2000))
    return walked(lambda: run_grid_job.submit(file))


def test_a_request_comes_back_to_few_rooms_on_its_way_through_the_door(walk_of_a_request: list[Entry]) -> None:
    rooms = way([each for each in walk_of_a_request if each.room not in ASKED_BY_ALL])
    assert rooms == ["site", "request", "work", "site", "work", "site"]  # work asks the site what it allows
    assert hidden(walk_of_a_request) == set()


@pytest.mark.parametrize("function", ["read", "check", "size", "check_limits", "try_first", "deposit"])
def test_each_step_of_the_door_is_made_once(walk_of_a_request: list[Entry], function: str) -> None:
    assert Counter(each.function for each in walk_of_a_request)[function] == 1


def test_a_grid_job_is_looked_at_only_where_something_has_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = list[Step]()
    ask = rounds._asked

    def noted(keeper: Keeper, job: GridJob, moves: Sequence[Callable[..., Any]]) -> Iterator[float]:
        looks.append(job.step)
        return ask(keeper, job, moves)

    monkeypatch.setattr(rounds, "_asked", noted)
    world = World(tmp_path, monkeypatch)
    world.run_all(world.submit(100))
    assert looks == [Step.ACCEPTED, Step.RESOLVED, Step.SPLIT, Step.ACTIVE, Step.ACTIVE, Step.FINISHED]
