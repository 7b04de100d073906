"""A black hole, and people's orders about hosts, with a keeper that is killed anywhere, again and again."""

from __future__ import annotations

import random

import pytest

from jim.model import State
from jim.site import avoid
from tests.fake_batch.kill import Kill, Killed
from tests.support.farm import SETTINGS, farm, let_time_be_told
from tests.support.sampled import sampled
from tests.support.stand_ins import World

PIECES, GOOD = 24, 11
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(1, 60))]


def die_anywhere(world: World, monkeypatch: pytest.MonkeyPatch, chance: random.Random) -> list[int]:
    """Kill the keeper in every third round, at any statement or change of a file; return a list of the kills."""
    kill, kills = Kill(monkeypatch), []
    kill.wrap(world)
    go = world.go

    def dying(rounds: int = 1, seconds: float = 0.0) -> None:
        kill.left, kill.armed = (chance.randrange(1, 60) if chance.random() < 0.3 else 0), True
        try:
            go(rounds, seconds)
        except Killed:
            kills.append(kill.left)
            kill.left, kill.armed = 0, False
            world.restart()
            kill.wrap(world)
        finally:
            kill.left, kill.armed = 0, False

    monkeypatch.setattr(world, "go", dying)
    return kills


@pytest.mark.parametrize("can_avoid", sampled([False, True]))
@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_black_hole_eats_is_done_once_elsewhere(tmp_path, monkeypatch, seed, can_avoid):
    chance = random.Random(seed)
    let_time_be_told(monkeypatch)
    world = World(tmp_path, monkeypatch, **SETTINGS)
    world.batch.can_avoid = can_avoid
    kills = die_anywhere(world, monkeypatch, chance)
    world.submit(PIECES)
    on = farm(world, good=GOOD)
    for second in range(4000):
        if world.finished(1):
            break
        on.second()
        if second % 50 == 20:
            order = avoid.avoid if chance.random() < 0.6 else avoid.use_again
            order(world.site, [chance.choice(["wn1", "nosuch"])])
    assert kills
    assert world.store.counts(1) == {State.COMPLETED: PIECES}
    assert [each.spent for each in world.store.local_jobs(1)] == [1] * PIECES
    assert sum(on.tried.values()) == PIECES + on.tried["hole0"], "elsewhere, each piece ran once"
    assert on.tried["hole0"] < PIECES
