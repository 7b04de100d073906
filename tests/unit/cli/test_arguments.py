"""Numbers on the command line are whole, ASCII, and not too small."""

import argparse

import pytest

from jim.cli.arguments import whole_number


@pytest.mark.parametrize(("lowest", "text", "number"), [(0, "0", 0), (1, "1", 1), (1, "999999999", 999_999_999)])
def test_a_whole_number_from_the_lowest_on_is_read(lowest, text, number):
    assert whole_number(lowest)(text) == number


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "1_0", "٣", "", " 1", "1\n", "1000000000"])
def test_any_other_text_is_refused_with_the_lowest(text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"expected a number from 1$"):
        whole_number(1)(text)
