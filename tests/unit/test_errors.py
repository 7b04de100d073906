"""What errors say to those who read them."""

from __future__ import annotations

import pytest

from jim.errors import in_words, nearest, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ([False, "a", None], "[false, 'a', null]"),
        ("a" * 90, f"'{'a' * 76}…"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_a_value_is_shown_as_who_wrote_it_knows_it(value, text):
    assert shown(value) == text


def test_the_nearest_word_is_meant():
    assert nearest("sumbit", ("submit", "query")) == "; did you mean 'submit'? (known: query, submit)"
    assert nearest("xyz", ("submit",)) == " (known: submit)"
    assert nearest("xyz", ()) == ""


def test_of_many_words_the_nearest_are_named_and_the_command_that_lists_all():
    many = [f"repro-{n}" for n in range(500)]
    assert nearest("repro-17x", many, "jim task status") == (
        "; did you mean 'repro-17'? (known: repro-17, repro-417, repro-317, repro-217, repro-197 and 495 more; "
        "`jim task status` lists all)"
    )
    assert nearest("zzz", many) == " (known: repro-0, repro-1, repro-10, repro-100, repro-101 and 495 more)"


def test_what_a_parser_means():
    with pytest.raises(UnicodeDecodeError) as raised:
        b"one\ntwo \xff".decode()
    assert in_words(raised.value) == "not a text file (line 2, column 5, after 'one\\ntwo ', is not UTF-8)"
    assert in_words(OSError(28, "No space left on device")) == "No space left on device"
