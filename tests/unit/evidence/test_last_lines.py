"""The last words of payloads, which are strangers' text."""

from __future__ import annotations

import pytest

from jim.evidence.last_lines import LONGEST, last_line, shared


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"one\ntwo\n", "two"),
        (b"one\ntwo \t\n\n \n", "two"),
        (b"10 %\r20 %\rdisk full", "disk full"),
        (b"", ""),
        (b"\n\n", ""),
        (b"\x1b[31;1mred\x1b[0m words", "red words"),
        (b"a\x1b]0;a title\x07b\x00\x08c\x9b", "ab\ufffdc\ufffd".replace("ab\ufffdc", "abc")),
        ("a\u202eb".encode(), "a\\u202eb"),
        (b"<script>alert(1)</script>", "<script>alert(1)</script>"),
        (b"x" * 5000, "x" * (LONGEST - 1) + "…"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_the_last_line_is_short_and_no_terminal_obeys_it(content, line):
    assert last_line(content) == line


def test_what_most_share_is_told_with_a_star_for_numbers_that_differ():
    assert shared([]) == ("", 0)
    assert shared(["no space"] * 3 + ["other"]) == ("no space", 3)
    assert shared(["event 7: bad", "event 12: bad", "killed"]) == ("event *: bad", 2)
    assert shared(["at 0x7f", "at 0x8a"]) == ("at *", 2)
