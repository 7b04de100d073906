"""Numbers in manifests."""

from __future__ import annotations

import pytest

from jim.splitting.numbers import text_of


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"),
        (3.9899999999999998, "3.99"),
        (-0.5, "-0.5"),
        (0.0, "0.0"),
        (1 / 3, "0.333333333333"),
        (123456789012.0, "123456789012.0"),
        (1234567890123.0, "1.23456789012e+12"),
        (1e16, "1e+16"),
        (1e-7, "1e-07"),
        (7, "7"),
        (-12345678901234567890, "-12345678901234567890"),
    ],
)
def test_how_numbers_are_printed(number, text):
    assert text_of(number) == text
