"""jim priority: the highest is submitted first."""

import json

from jim.cli import main
from jim.doors import inbox
from jim.model import State
from jim.site.settings import Limits
from tests.support.stand_ins import World

# Priorities


def test_the_highest_priority_is_sent_first(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, limits=Limits(queued=2))
    blocking = world.submit(2, key="blocking")
    world.until(lambda: len(world.batch.accepted) == 1)
    first, second, third = (world.submit(1, key=key) for key in "abc")
    world.until(lambda: all(world.state(job) is State.WAITING for job in (first, second, third)))
    inbox.wish(world.site.state, "priority", str(third), priority=5)
    inbox.wish(world.site.state, "priority", str(first), priority=-5)
    world.go()
    for index in (1, 2):
        world.batch.start(1, index)
        world.batch.finish(1, index)
    world.until(lambda: world.finished(blocking))
    assert [world.state(job) for job in (first, second, third)] == [State.WAITING, State.SUBMITTED, State.SUBMITTED]


def test_a_wish_for_a_priority_that_is_none_is_put_aside(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    job = world.submit(1)
    for value in ("high", 1.5, None):
        inbox.wish(world.site.state, "priority", str(job), priority=value)
    world.go(2)
    assert len(list((world.site.state / "inbox").glob(".unreadable-wish-*"))) == 3
    assert world.store.grid_job(job).priority == 0


def test_jim_priority_leaves_a_wish(place, monkeypatch, capsys):
    monkeypatch.setenv("JIM_STATE", str(place.state))
    monkeypatch.setattr("jim.run_grid_job.wake", lambda _: None)
    place.add(7)
    assert main(["priority", "--", "7", "-5"]) == 0
    (wish,) = (place.state / "inbox").glob("wish-*")
    assert json.loads(wish.read_text())["priority"] == -5
    for words in (["7", "high"], ["7", "1001"], ["7.0", "5"]):
        assert main(["priority", *words]) == 2
    said = capsys.readouterr().err
    assert "argument N: 'high': expected a whole number, -1,000 to 1,000" in said
    assert "argument N: '1001': expected a whole number, -1,000 to 1,000" in said
