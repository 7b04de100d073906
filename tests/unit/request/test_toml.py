"""Requests in TOML."""

from __future__ import annotations

import pytest

from jim import request
from jim.errors import BadRequest
from jim.request.toml import parse


def test_a_key_of_thousands_of_parts_is_refused_at_once(tmp_path):
    file = tmp_path / "deep.toml"
    file.write_text("a" + ".a" * 50_000 + "=1")
    with pytest.raises(BadRequest, match="more than 32 parts in line 1"):
        request.read(file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("job_type = executable", 'line 1, column 12); a text stands in quotes: "executable"'),
        (
            'a = "b"\nexecutable = /bin/echo hello # to all',
            'line 2, column 14); a text stands in quotes: "/bin/echo hello"',
        ),
        ("a = 'b' c", "(at line 1, column 9)"),
        ("a = [b]", '(at line 1, column 6); a text stands in quotes: "b"'),
        ("keep_going = True", "(at line 1, column 14)"),
        ("a = \u202ebad", "(at line 1, column 5)"),
        ("cores = 08", "(at line 1, column 10)"),
    ],
)
def test_a_text_without_quotes_is_told(text, told):
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert str(caught.value).endswith(told)
