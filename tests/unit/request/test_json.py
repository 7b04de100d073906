"""Requests in JSON."""

from __future__ import annotations

import pytest

from jim.request import json


def test_an_object_is_a_request():
    assert json.parse('{"job_type": "executable", "cores": 2}') == {"job_type": "executable", "cores": 2}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "expected an object"),
        ('{"cores": NaN}', "NaN is not a number in JSON"),
        ('{"cores": 1,\n "queue": "a",\n "cores": 2}', "attribute 'cores' is given twice: line 3, column 2"),
        ('{"cores": 1, "c\\u006fres": 2}', "attribute 'cores' is given twice$"),  # the parser does not say where
        ('{"environment": {"A": "1", "A": "2"}}', "attribute 'A' is given twice: line 1, column 28"),
    ],
)
def test_a_mistake_is_named_with_its_place(text, words):
    with pytest.raises(ValueError, match=words):
        json.parse(text)
