"""A value that does not fit is refused in words, not by a regular expression."""

from __future__ import annotations

import re

import pytest

from jim.errors import BadRequest
from jim.handlers.base import COMMON, IN_WORDS
from jim.request import check, handler_of, job_types


@pytest.mark.parametrize("program", ["./sub/prog", "sub/prog", "-x", "/ ", "../prog"])
def test_a_program_below_a_directory_is_refused_in_words(program):
    told = "a path must begin with / or be the name of a file, perhaps with ./ before it"
    with pytest.raises(
        BadRequest, match=rf"executable: '{re.escape(program)}' is not possible .*; {re.escape(told)}\)$"
    ):
        check({"job_type": "executable", "executable": program, "inputs": ["sub"]})


def test_no_attribute_of_jim_shows_a_regular_expression():
    """Whoever adds an attribute with a new pattern says in `IN_WORDS` what it means."""
    declared = {**COMMON}
    for name in job_types():
        declared |= handler_of(name).attributes
    assert {each.pattern for each in declared.values()} - {""} == {*IN_WORDS}


@pytest.mark.parametrize("name", ["constraint", "licences"])
@pytest.mark.parametrize("value", ["$(id)", "a%b", "$ib", "a b", "a\u2028b", "a\nb", ""])
def test_what_no_splitter_replaces_is_no_variable(name, value):
    with pytest.raises(BadRequest, match=name):
        check({"job_type": "executable", "executable": "/bin/true", name: value})


def test_a_splitter_may_replace_it():
    asked = {"job_type": "executable", "executable": "/bin/true", "splitter": 2, "constraint": "$SplitID"}
    assert check(asked)[1]["constraint"] == "$SplitID"
