"""How people name items: ranges in a part of a name, beside patterns."""

from __future__ import annotations

import pytest

from jim.errors import BadRequest
from jim.statusdb.tasks.item_names import patterns


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gen/17", ["gen/17"]),
        ("gen/*", ["gen/*"]),
        ("/data/run-12", ["/data/run-12"]),
        ("gen/3-5,9", ["gen/3-5,9", "gen/3", "gen/4", "gen/5", "gen/9"]),
        ("1-2/x/7,8", ["1-2/x/7,8", "1/x/7", "1/x/8", "2/x/7", "2/x/8"]),
        ("run/0008-0010", ["run/0008-0010", "run/0008", "run/0009", "run/0010"]),
        ("gen/5-3", ["gen/5-3"]),
        ("gen/3-", ["gen/3-"]),
        ("gen/3-4/*", ["gen/3-4/*", "gen/3/*", "gen/4/*"]),
    ],
)
def test_ranges_stand_for_each_number(text, found):
    assert patterns(text) == found


@pytest.mark.parametrize("text", ["gen/0-10000", "1-101/1-100", "gen/0-999999999999"])
def test_a_name_means_no_more_than_ten_thousand_items(text):
    with pytest.raises(BadRequest, match="names more than 10,000 items"):
        patterns(text)
