"""Hosts stand in one order: black holes first, then by the share of failures, then by name."""

import pytest

from jim.errors import JimError
from jim.reading.filters import Filters
from jim.reading.hosts import HOSTS, Host, page, required, verdict_words
from jim.statusdb.list_filters import HostTotal


def host(name, completed, failed, hole=None):
    return Host(HostTotal(name, completed + failed, 0, completed, failed, "", ""), [], hole)


IN_ORDER = [
    host("z", 9, 1, object()),
    host("y", 0, 4),
    host("a", 0, 2),
    host("b", 0, 2),
    host("x", 1, 1),
    host("c", 5, 0),
]


def test_black_holes_come_first_then_the_share_of_failures_their_number_and_the_name():
    mixed = [IN_ORDER[n] for n in (3, 5, 0, 2, 4, 1)]
    assert sorted(mixed, key=lambda each: each.place) == IN_ORDER


def test_a_page_goes_on_where_the_one_before_has_ended():
    names, after = [], ""
    for _ in range(3):
        found = page(IN_ORDER, Filters(HOSTS, (("limit", "2"), *((("after", after),) if after else ()))))
        names.append([each.name for each in found.rows])
        after = found.after
    assert (names, after) == ([["z", "y"], ["a", "b"], ["x", "c"]], "")


def test_a_host_on_which_nothing_ran_is_refused_by_its_name():
    with pytest.raises(JimError, match="nowhere"):
        required(None, "nowhere")


@pytest.mark.parametrize(("verdict", "words"), [("", "runs"), ("again", "failed, tried again"), ("killed", "killed")])
def test_how_an_attempt_ended_is_told_in_words(verdict, words):
    assert verdict_words(verdict) == words
