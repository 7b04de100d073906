"""Whose turn it is to send: by priority, and by the DN of the sender."""

import pytest

from jim import request
from jim.doors import inbox
from jim.keeper.queue.sending_order import Turns
from jim.model import State
from jim.site.file import Limits
from tests.support.stand_ins import World

ANN, BOB = "/DC=org/CN=Ann", "/DC=org/CN=Bob"


def submit(world, key, size, dn="", **attributes):
    sets = [[str(n)] for n in range(size)]
    raw = {"job_type": "parametric", "executable": "/bin/true", "argument_sets": sets, **attributes}
    return inbox.deposit(world.site.state, key, request.check(raw)[1] | {"key": key}, sender={"dn": dn} if dn else None)


def queued(world, *grids):
    counts = [world.store.counts(grid) for grid in grids]
    return sum(each.get(state, 0) for each in counts for state in (State.SUBMITTED, State.SUBMITTING, State.RUNNING))


def order(turns, **rooms):
    """Take all turns; a sender that is named may send so often only."""
    taken = []
    while turn := turns.first(lambda sender: rooms.get(sender, 1) > 0):
        taken.append(turn[1])
        rooms[turn[0]] = rooms.get(turn[0], 99) - 1
        turns.had(*turn)
    return taken


def test_the_highest_priority_is_first_and_then_the_lowest_number():
    turns = Turns()
    for number, priority in ((3, 0), (2, 5), (1, 0), (4, 5)):
        turns.add("", number, priority)
    turns.add("", 1, 7)  # somebody has changed it
    turns.add("", 3, 0)
    assert order(turns) == [1, 2, 4, 3]
    assert turns.first(lambda sender: True) is None


def test_a_sender_without_room_holds_up_no_other():
    turns = Turns()
    for number, sender in enumerate(["ann", "ann", "ann", "bob", "", "bob"], 1):
        turns.add(sender, number, 10 - number)
    assert order(turns, ann=1, bob=0) == [1, 5]
    assert order(turns, bob=1) == [2, 3, 4]
    assert order(turns) == [6]


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch, limits=Limits(queued_per_dn=5, per_submission=2))


def test_no_dn_has_more_local_jobs_in_the_batch_system_than_the_site_allows(world):
    """Of all its grid jobs together, whenever one ends, and after a restart; others are not held up."""
    anns = [submit(world, "a", 8, ANN), submit(world, "b", 4, ANN)]
    bob, nobody = submit(world, "c", 4, BOB), submit(world, "d", 7)
    most = []

    def step():
        most.append((queued(world, *anns), queued(world, bob), queued(world, nobody)))

    for _ in range(20):
        world.go(1, 1.0)
        step()
    assert most[-1] == (5, 4, 7)
    world.restart()
    for _ in range(5):
        world.go(1, 1.0)
        step()
    for (id_, index), task in list(world.batch.tasks.items()):
        if task.mark.split("-")[2] == str(anns[0]):
            world.batch.start(id_, index)
            world.batch.finish(id_, index)
            for _ in range(3):
                world.go(1, 1.0)
                step()
    assert max(each[0] for each in most) == 5
    for grid in (*anns, bob, nobody):
        world.run_all(grid)
    assert len(world.batch.ledger) == 23


def test_the_priority_counts_among_the_grid_jobs_of_a_dn(world):
    first = submit(world, "a", 6, ANN)
    world.until(lambda: queued(world, first) == 5)
    low, high = submit(world, "b", 2, ANN), submit(world, "c", 2, ANN)
    world.go(3, 1.0)
    inbox.wish(world.site.state, "priority", str(high), priority=3)
    world.go(3, 1.0)
    assert (queued(world, low), queued(world, high)) == (0, 0)
    for (id_, index), _ in list(world.batch.tasks.items()):
        world.batch.start(id_, index)
        world.batch.finish(id_, index)
    world.until(lambda: queued(world, high) == 2)
    world.until(lambda: queued(world, low) == 2)
    marks = [mark.split("-")[2] for mark in world.batch.accepted]
    assert marks.index(str(high)) < marks.index(str(low))


def test_a_finished_grid_job_that_is_tried_again_counts_again(world):
    first = submit(world, "a", 5, ANN)
    world.until(lambda: queued(world, first) == 5)
    for (id_, index), _ in list(world.batch.tasks.items()):
        world.batch.start(id_, index)
        world.batch.finish(id_, index, code=1)
    world.until(lambda: world.finished(first))
    second = submit(world, "b", 4, ANN)
    world.until(lambda: queued(world, second) == 4)
    world.wish("retry", str(first))
    for _ in range(10):
        world.go(1, 1.0)
        assert queued(world, first, second) <= 5
    assert queued(world, first) == 1


def test_without_a_limit_nobody_asks_who_sent_a_grid_job(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    asked = []
    monkeypatch.setattr(world.store.senders, "of", asked.append)
    grid = submit(world, "a", 3, ANN)
    world.until(lambda: queued(world, grid) == 3)
    assert asked == []
