"""Short forms of a request."""

import pytest

from jim.errors import BadRequest
from jim.request import check
from jim.request.short_forms import in_full

TRUE = {"job_type": "executable", "executable": "true"}


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ({"input_files": ["/a", "/b"]}, {"input_files": [{"lfn": "/a"}, {"lfn": "/b"}]}),
        (
            {"input_files": ["/a", {"lfn": "/b", "events": 3}]},
            {"input_files": [{"lfn": "/a"}, {"lfn": "/b", "events": 3}]},
        ),
        ({"input_files": []}, {"input_files": []}),
        ({"splitter": 5}, {"splitter": "Parametric", "splitter_parameters": {"Parameters": 5}}),
        ({"splitter": "5"}, {"splitter": "Parametric", "splitter_parameters": {"Parameters": 5}}),
        (
            {"splitter": 5, "dataset": "d"},
            {"splitter": "EvenFiles", "splitter_parameters": {"jobs": 5}, "dataset": "d"},
        ),
        ({"splitter": "LumiBased"}, {"splitter": "LumiBased"}),
    ],
)
def test_a_short_form_is_written_in_full(short, full):
    assert in_full(short) == full
    assert in_full(full) == full


def test_a_checked_request_has_no_short_forms():
    _, request = check(TRUE | {"splitter": 2, "input_files": ["/a", "/b", "/c"]})
    assert (request["splitter"], request["splitter_parameters"]) == ("EvenFiles", {"jobs": 2})
    assert request["input_files"] == [{"lfn": "/a"}, {"lfn": "/b"}, {"lfn": "/c"}]


@pytest.mark.parametrize(
    ("more", "about", "words"),
    [
        ({"splitter": 0}, "splitter", "a number of local jobs from 1, found 0"),
        ({"splitter": 10**12}, "splitter", "a number of local jobs from 1, found 1000000000000"),
        ({"splitter": True}, "splitter", "expected a text, found true"),
        ({"splitter": 5, "splitter_parameters": {"jobs": 5}}, "splitter_parameters", "takes no parameters"),
        ({"splitter": 5, "input_files": ["/a", 3]}, "input_files", "expected a list of names or tables"),
    ],
)
def test_what_is_no_short_form_is_refused(more, about, words):
    with pytest.raises(BadRequest) as caught:
        check(TRUE | more)
    assert caught.value.about == about
    assert words in str(caught.value)
