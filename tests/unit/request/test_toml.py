"""Requests in TOML."""

from __future__ import annotations

import pytest

from jim import request
from jim.errors import BadRequest


def test_a_key_of_thousands_of_parts_is_refused_at_once(tmp_path):
    file = tmp_path / "deep.toml"
    file.write_text("a" + ".a" * 50_000 + "=1")
    with pytest.raises(BadRequest, match="more than 32 parts in line 1"):
        request.read(file)
