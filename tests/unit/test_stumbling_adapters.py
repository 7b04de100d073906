"""An adapter that raises what no adapter should: nothing is known then, and the keeper goes on."""

from __future__ import annotations

import pytest

from jim.model import State


@pytest.fixture
def stumble(world, monkeypatch):
    """Let the next answers of one kind be too much for the adapter."""

    def arrange(kind, times=1):
        parse, left = getattr(world.batch, kind), [True] * times

        def stumbles(answer):
            if left:
                left.pop()
                raise IndexError("list index out of range")
            return parse(answer)

        monkeypatch.setattr(world.batch, kind, stumbles, raising=False)

    return arrange


@pytest.mark.parametrize("kind", ["parse_submit", "trouble"])
def test_a_submission_that_was_accepted_is_found_and_not_given_up(world, stumble, kind):
    world.batch.lies = ["@submit", "lost after"] if kind == "trouble" else []
    stumble(kind)
    grid = world.submit(1)
    world.until(lambda: world.store.submission(grid, 1) and world.store.submission(grid, 1).state == "unknown")
    reason = world.store.submission(grid, 1).reason
    assert reason.startswith("its adapter stumbles over an answer: IndexError: list index out of range (test_stumbling")
    assert ": submit jim-" in reason
    world.until(lambda: world.state(grid) is State.SUBMITTED)
    world.batch.start(1)
    world.batch.finish(1)
    world.until(lambda: world.finished(grid))
    assert (len(world.batch.accepted), world.state(grid)) == (1, State.COMPLETED)


@pytest.mark.parametrize("kind", ["parse_query", "parse_find", "parse_history"])
def test_a_listing_or_a_history_changes_nothing(world, stumble, kind):
    world.batch.lies = ["@submit", "lost after"] if kind == "parse_find" else []
    stumble(kind)
    grid = world.submit(1)
    world.until(lambda: world.state(grid) is State.SUBMITTED)
    world.batch.start(1)
    world.go(2, 1.0)
    if kind == "parse_history":
        world.batch.kill(1)
        world.until(lambda: world.state(grid) is State.WAITING)
    else:
        world.batch.finish(1)
        world.until(lambda: world.finished(grid))
        assert world.state(grid) is State.COMPLETED
    assert len(world.batch.ledger) == 1


def test_a_cancel_is_told_again(world, stumble):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    stumble("parse_cancel")
    world.wish("cancel", str(grid))
    world.until(lambda: world.finished(grid))
    assert world.state(grid) is State.KILLED
