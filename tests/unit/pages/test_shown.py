"""Foreign text is shown as what it is: nothing invisible, no formula, and no name that leads elsewhere."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from jim.pages.shown import address, as_csv, cut, finalize


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (0, 0),
        ("wn\u202e1", "wn⟨U+202E⟩1"),  # right-to-left override
        ("two\nlines\tapart", "two\nlines\tapart"),
        (Markup("<b>\u202e</b>"), Markup("<b>\u202e</b>")),  # HTML of ours
    ],
)
def test_a_value_of_a_template_is_made_visible_and_html_of_ours_is_left(value: object, shown: object) -> None:
    assert finalize(value) == shown


def test_only_a_text_above_the_limit_is_cut_and_says_so() -> None:
    assert [cut("abc", 3), cut("abcd", 3)] == ["abc", "abc…"]


def test_a_name_of_any_characters_stays_one_part_of_an_address() -> None:
    assert address("jobs", "1", "a/../b?x#y", "é\udcff") == "/jobs/1/a%2F..%2Fb%3Fx%23y/%C3%A9%FF"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1", "'=1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@a", "'@a"),
        ("\t=1", "'\t=1"),
        ("\r=1", '"\'\r=1"'),
        ("a=1", "a=1"),
    ],
)
def test_no_cell_of_text_is_a_formula_and_numbers_stay_numbers(text: str, written: str) -> None:
    assert as_csv(("A", "B"), [(text, -1)]) == f"A,B\r\n{written},-1\r\n".encode()


def test_an_empty_cell_and_a_text_that_is_no_utf_8_are_written_as_such() -> None:
    assert as_csv(("A", "B"), [(None, "\udcff")]) == b"A,B\r\n,\\udcff\r\n"
