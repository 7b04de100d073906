"""The place of the split among the steps of a site."""

import pytest

from jim.errors import BadRequest
from jim.request import check as checked
from jim.site.settings import General
from jim.work.parts import steps_of
from jim.work.site_steps import placed

ASKED = {"job_type": "executable", "executable": "/bin/echo"}


@pytest.mark.parametrize(
    ("steps", "wanted", "expected"),
    [
        ((), "", ((), ())),
        (("s.a", "s.b"), "", (("s.a", "s.b"), ())),
        (("s.a", "split", "s.b"), "", (("s.a",), ("s.b",))),
        (("split", "s.a"), "", ((), ("s.a",))),
        (("s.a", "s.b", "s.c"), "s.a", (("s.a",), ("s.b", "s.c"))),
        (("split", "s.a", "s.b"), "s.a", (("s.a",), ("s.b",))),
    ],
)
def test_the_split_has_its_place_or_the_one_that_the_splitter_asks_for(steps, wanted, expected):
    assert placed(steps, wanted, "lab.pairs") == expected


def test_a_step_that_the_site_does_not_have_cannot_be_asked_for():
    with pytest.raises(BadRequest, match=r"lab\.pairs is to run after the step s\.x, which site\.steps does not have"):
        placed(("s.a", "split"), "s.x", "lab.pairs")


def test_without_a_splitter_all_steps_are_before():
    site = General(steps=("s.a", "split", "s.b"))
    assert steps_of(checked(ASKED)[1], site) == (("s.a", "s.b"), ())
    assert steps_of(checked(ASKED | {"splitter": 3})[1], site) == (("s.a",), ("s.b",))
