"""Which number the next grid job gets where the file that counts them is lost: none comes a second time."""

from __future__ import annotations

import pytest

from jim.doors import inbox
from jim.errors import Away


@pytest.fixture
def counted(world):
    """A grid job 1 that ended and was removed; only the store knows that it was there."""
    world.submit(1)
    world.run_all(1)
    world.wish("remove", "1")
    world.until(lambda: world.store.removals.at(1))
    world.go(3)
    assert not list(world.site.state.glob("answers/*"))
    return world


@pytest.mark.parametrize("content", [None, "", "x", "\0\0"])
def test_no_number_comes_again_after_a_removal_and_the_loss_of_the_count(counted, content):
    file = counted.site.state / "next-id"
    file.unlink() if content is None else file.write_text(content)
    assert inbox.draw_id(counted.site.state) == 2
    assert file.read_text() == "3\n"


@pytest.mark.parametrize("content", ["-1", "0", "99999999999999999999", "1000000000000000"])
def test_a_count_that_no_number_can_have_is_lost(counted, content):
    """A store takes no number of twenty digits, so the request would be put aside."""
    (counted.site.state / "next-id").write_text(content)
    assert inbox.draw_id(counted.site.state) == 2


def test_a_count_that_is_behind_leads_to_no_number_that_has_an_answer(world):
    """The door writes the first answer of a number before the keeper could refuse it: a last one would be gone."""
    state = world.site.state
    for number in (3, 7):
        (state / "answers").mkdir(parents=True, exist_ok=True)
        (state / f"answers/{number}").write_text("the last answer")
    (state / "next-id").write_text("3\n")
    assert inbox.draw_id(state) == 8


@pytest.mark.parametrize("trace", ["answers/12", "work/12", "work/12-0a1b", "work/.removed-12-0a1b", "keys", "inbox"])
def test_every_trace_of_a_number_counts(world, trace):
    state = world.site.state
    if trace in ("keys", "inbox"):
        (state / trace / "request-6b").write_text('{"id": 12, "key": "k"}')
    else:
        (state / trace).mkdir(parents=True)
    (state / "next-id").unlink(missing_ok=True)
    assert inbox.draw_id(state) == 13


def test_a_store_that_cannot_be_read_gives_out_no_number(counted, monkeypatch):
    (counted.site.state / "next-id").unlink()

    def away(*_, **__):
        raise Away("its disk is away")

    monkeypatch.setattr("jim.doors.numbers.open_store", away)
    with pytest.raises(Away):
        inbox.draw_id(counted.site.state)
    assert not (counted.site.state / "next-id").exists()
