"""Small files that would become large or slow are refused before they do."""

from __future__ import annotations

import json
import time

import pytest

from jim import request
from jim.doors import inbox
from jim.errors import BadRequest, UnknownJob


def test_a_file_larger_than_a_request_may_be_is_refused(tmp_path):
    file = tmp_path / "large.toml"
    file.write_text("#" * 1_048_577)
    with pytest.raises(BadRequest) as error:
        request.read(file)
    assert str(error.value) == f"cannot read the request: {file} is larger than 1,048,576 bytes"


def test_a_key_of_thousands_of_parts_is_refused_at_once(tmp_path):
    file = tmp_path / "deep.toml"
    file.write_text("a" + ".a" * 50_000 + "=1")
    with pytest.raises(BadRequest, match="more than 32 parts in line 1"):
        request.read(file)


def test_a_product_of_arguments_is_refused_before_it_is_made(tmp_path):
    file = tmp_path / "boom.json"
    words = {"executable": "/bin/true", "arguments": [""] * 40_000, "argument_sets": [[]] * 40_000}
    file.write_text(json.dumps({"job_type": "parametric", **words}))
    with pytest.raises(BadRequest, match="40,000 common arguments × 40,000 argument sets = 1,600,000,000 words"):
        request.check(request.read(file))


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("(arguments=" + "a " * 10_000 + "$(NOPE) b)", "column 20034: 'NOPE': no rsl_substitution before"),
        ("(rsl_substitution=(A " + "x" * 1000 + "))(arguments=" + "$(A) " * 10_000 + ")", "more than 1,048,576 char"),
        ("(arguments=" + "a#" * 25_000 + ")", "column 50032: expected a text, found '\\)'"),
        ("(arguments=" + "a#" * 25_000 + "^^)", "column 50032: this quote is never closed"),
    ],
)
def test_a_long_request_in_rsl_is_refused_in_a_moment(tmp_path, written, reason):
    file = tmp_path / "long.rsl"
    file.write_text("&(executable=/bin/a)" + written)
    began = time.process_time()
    with pytest.raises(BadRequest, match=reason):
        request.read(file)
    assert time.process_time() - began < 5, "each of its texts looks at all that follow"


@pytest.mark.parametrize("text", ["\u0664", "1.\u0664", "-1", "1.", ".1", "1.2.3", "", "one"])
def test_an_id_is_plain_digits(text):
    with pytest.raises(UnknownJob, match="is not an id"):
        inbox.target_of(text)
