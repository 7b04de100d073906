"""A mark stays the same as long as nothing changes that pages show, at the cost of one look a second."""

from __future__ import annotations

import pytest

from jim.model import State, Witness
from jim.pages.watching import Watch
from jim.reading.view import View
from jim.statusdb import open_store
from tests.unit.pages.grounds import Ground
from tests.unit.statusdb.grounds import add


class Hand:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def opened() -> list[int]:
    return []


@pytest.fixture
def watch(ground: Ground, hand: Hand, opened: list[int]) -> Watch:
    def view() -> View:
        opened.append(1)
        return View(ground.site, open_store(ground.site.state, ground.clock))

    return Watch(view, lambda: 0, hand)


def mark(watch: Watch, grid: int | None = None) -> str:
    moment = watch.at(grid)
    assert moment
    return moment.mark


def test_many_requests_of_one_second_take_one_look(watch, opened):
    assert len({mark(watch) for _ in range(20)}) == 1
    assert len(opened) == 1


def test_a_change_gives_its_grid_job_and_the_site_another_mark(watch, ground, hand):
    for grid in (1, 2):
        add(ground.store, grid)
    before = mark(watch, 1), mark(watch, 2), mark(watch)
    ground.store.set_local_job(1, 0, state=State.KILLED, witness=Witness.USER)
    assert (mark(watch, 1), mark(watch, 2), mark(watch)) == before  # within the second
    hand.now += 60
    after = mark(watch, 1), mark(watch, 2), mark(watch)
    assert [one != other for one, other in zip(before, after, strict=True)] == [True, False, True]


def test_of_an_unknown_grid_job_only_the_whole_page_tells(watch):
    assert watch.at(4711) is None
