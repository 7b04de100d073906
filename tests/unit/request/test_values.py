"""The value of an attribute is checked against its declaration."""

from __future__ import annotations

import pytest

from jim.errors import BadRequest
from jim.handlers.base import Attribute
from jim.request.values import DEEPEST, check_text, value_of

CORES = Attribute(int, "cores of each local job", default=1, minimum=1, maximum=64)


def test_what_is_left_out_has_its_default_unless_it_is_required():
    assert value_of("cores", None, CORES) == 1
    with pytest.raises(BadRequest, match=r"missing \(cores of each local job\)"):
        value_of("cores", None, CORES._replace(required=True))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "expected a whole number, found"),
        ("2", "expected a whole number, found"),
        (0, "expected at least 1 and at most 64, found 0"),
        (65, "expected at least 1 and at most 64, found 65"),
    ],
)
def test_a_number_is_of_its_kind_and_within_its_bounds(value, words):
    with pytest.raises(BadRequest, match=words):
        value_of("cores", value, CORES)
    assert value_of("cores", 64, CORES) == 64


@pytest.mark.parametrize("value", ["Node", " node", "4", True, [], ["node"], 1.5])
def test_a_number_may_have_words_beside_it(value):
    lanes = Attribute(int, "at the same time", minimum=1, maximum=64, allowed=("node",))
    assert value_of("at_once", "node", lanes) == "node"
    assert value_of("at_once", 4, lanes) == 4
    with pytest.raises(BadRequest, match="expected a whole number or 'node', found"):
        value_of("at_once", value, lanes)


def test_lists_of_arguments_for_several_local_jobs_have_another_name():
    with pytest.raises(BadRequest, match="a list for each of several local jobs: argument_sets"):
        value_of("arguments", [["60"], ["70"]], Attribute("list", "of the payload"))


@pytest.mark.parametrize("odd", ["\x00", "\x1b", "\x7f", "\ud800", "\n"])
def test_no_text_has_what_no_line_can_carry_however_deep_it_lies(odd):
    with pytest.raises(BadRequest):
        check_text("arguments", {"a": [["fine", f"x{odd}"]]})
    check_text("arguments", {"a": [["fine", "tab\tand é"]]})


def test_tables_are_nested_only_so_deep():
    value: object = 1
    for _ in range(DEEPEST):
        value = [value]
    check_text("parameters", value)
    with pytest.raises(BadRequest, match=f"nested more than {DEEPEST} deep"):
        check_text("parameters", [value])


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "JIM_TOKEN", "BASH_ENV", "1st", "a b"])
def test_no_variable_changes_how_jim_s_own_programs_run(name):
    table = Attribute("table", "variables of the payload")
    with pytest.raises(BadRequest):
        value_of("environment", {name: "x"}, table)
    assert value_of("environment", {"MINE": "x"}, table) == {"MINE": "x"}
