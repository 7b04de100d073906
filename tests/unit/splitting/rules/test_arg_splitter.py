"""ArgSplitter: a job for each list of arguments."""

from __future__ import annotations

import pytest

from jim.splitting.errors import InvalidParameter, SplitterConfiguration
from tests.unit.splitting.split_requests import split

REQUEST = {"executable": "echo", "arguments": ["base"], "environment": {"X": "0"}, "deep": {"er": {"still": 1}}}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"args": [["1"], ["2"]]}, [["1"], ["2"]]),
        ({"args": [["1"], ["2"]], "append": True}, [["base", "1"], ["base", "2"]]),
        ({"args": [["AAA", 1], []]}, [["AAA", 1], []]),
        ({"args": [[], []], "append": True}, [["base"], ["base"]]),
        ({"args": []}, []),
        ({}, []),
    ],
)
def test_each_list_of_arguments_makes_a_job(parameters, expected):
    made = split("ArgSplitter", parameters, REQUEST)
    assert [job["arguments"] for job in made] == expected
    assert all({**job, "arguments": ["base"]} == REQUEST for job in made)


def test_lists_are_appended_to_nothing_where_the_request_has_no_arguments():
    assert split("ArgSplitter", {"args": [["1"]], "append": True}, {"arguments": None}) == [{"arguments": ["1"]}]


def test_a_job_type_without_arguments():
    with pytest.raises(SplitterConfiguration, match="has no arguments to split over"):
        split("ArgSplitter", {"args": [["1"]]}, {"executable": "echo"})


@pytest.mark.parametrize("args", ["1", [1], [["1"], "2"], [[["1"]]], [[None]], [[True]], {"a": ["1"]}])
def test_anything_but_lists_of_texts_and_numbers_is_refused(args):
    with pytest.raises(InvalidParameter, match="args: expected a list of lists of texts and numbers, found"):
        split("ArgSplitter", {"args": args}, REQUEST)
