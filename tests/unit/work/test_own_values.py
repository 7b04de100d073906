"""Values of local jobs, checked like those of a request."""

import pytest

from jim.errors import BadRequest
from jim.request import check as request_of
from jim.work.own_values import checked, may_differ, text_of

HANDLER, REQUEST = request_of({"job_type": "executable", "executable": "/bin/echo"})


def test_texts_stand_for_numbers_and_numbers_for_texts():
    declared = may_differ(HANDLER)
    own = {"cores": "3", "arguments": [1, True, "x"], "environment": {"A": 2.5}}
    assert checked(own, declared, HANDLER, REQUEST) == {
        "cores": 3,
        "arguments": ["1", "true", "x"],
        "environment": {"A": "2.5"},
    }
    with pytest.raises(BadRequest, match="cores: expected a whole number, found 'many'"):
        checked({"cores": "many"}, declared, HANDLER, REQUEST)
    with pytest.raises(BadRequest, match=r"executable: \./x is not among inputs"):
        checked({"executable": "./x"}, declared, HANDLER, REQUEST)


def test_what_belongs_to_the_whole_grid_job_may_not_differ():
    assert {"queue", "arguments", "name"} <= may_differ(HANDLER).keys()
    assert not {"inputs", "proxy", "splitter", "key"} & may_differ(HANDLER).keys()


def test_a_list_has_commas():
    assert text_of(["a", 1, False]) == "a,1,false"
