"""The job type parametric."""

import json

import pytest

from jim import request
from jim.errors import BadRequest
from jim.model import Job
from jim.request import check

JOB = Job(grid_job=12, key="k", n=0, attempt=1)


def checked(**attributes):
    return check(attributes)


# executable and parametric


def test_parametric_is_one_piece_for_each_set():
    handler, request = checked(
        job_type="parametric", executable="seq", arguments=["1"], argument_sets=[["2", "9"], [], ["3"]]
    )
    pieces = handler.work(request).pieces
    assert [piece.arguments for piece in pieces] == [("1", "2", "9"), ("1",), ("1", "3")]
    assert tuple(handler.command_and_arguments(request, JOB, pieces[0])) == ("seq", "1", "2", "9")


def test_parametric_without_sets_is_refused():
    with pytest.raises(BadRequest, match="at least one"):
        checked(job_type="parametric", executable="seq", argument_sets=[])
    with pytest.raises(BadRequest, match="argument_sets: missing"):
        checked(job_type="parametric", executable="seq")


# What a job type answers wrongly


def test_a_product_of_arguments_is_refused_before_it_is_made(tmp_path):
    file = tmp_path / "boom.json"
    words = {"executable": "/bin/true", "arguments": [""] * 40_000, "argument_sets": [[]] * 40_000}
    file.write_text(json.dumps({"job_type": "parametric", **words}))
    with pytest.raises(BadRequest, match="40,000 common arguments × 40,000 argument sets = 1,600,000,000 words"):
        request.check(request.read(file))
