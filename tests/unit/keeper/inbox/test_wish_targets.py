"""Slices name the local jobs of a wish, both ends included; no slices name all of them."""

import pytest

from jim.errors import UnknownJob
from jim.keeper.inbox.wish_targets import chosen, meet


@pytest.mark.parametrize(
    ("some", "others", "share"),
    [
        ([(0, 2)], [(2, 5)], True),  # both ends are included
        ([(2, 5)], [(0, 2)], True),
        ([(0, 9)], [(3, 4)], True),
        ([(0, 1)], [(2, 5)], False),
        ([(0, 0), (8, 9)], [(1, 7), (9, 9)], True),
        ([(0, 0), (8, 9)], [(1, 7)], False),
        ([], [(3, 3)], True),  # no slices: all local jobs
        ([(3, 3)], [], True),
        ([], [], True),
    ],
)
def test_two_wishes_meet_in_the_local_jobs_that_both_name(some, others, share):
    assert meet(some, others) is share


def test_slices_choose_their_local_jobs_in_order_and_refuse_those_that_are_not_there(world):
    world.submit(5)
    world.until(lambda: world.store.counts(1))
    assert [each.n for each in chosen(world.store, 1, [(3, 4), (0, 1)])] == [3, 4, 0, 1]
    with pytest.raises(UnknownJob):
        list(chosen(world.store, 1, [(4, 5)]))
