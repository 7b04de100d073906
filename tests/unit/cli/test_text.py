"""Escaped text and tables on terminals."""

import pytest

from jim.cli.text import escaped, plain
from tests.cli_home import EVIL, EVIL_SHOWN

# Words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – ä ✓", "plain – ä ✓"),
        ("a\nb", "a\\nb"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J\x7f\u202e", "\\x9b2J\\x7f\\u202e"),
        ("\udcff", "\\udcff"),
        (EVIL, EVIL_SHOWN),
    ],
)
def test_no_text_commands_a_terminal(text, shown):
    assert plain(text) == shown


def test_escaped_keeps_lines_and_tabs():
    assert escaped("a\tb\r\n\x1b[31mred\n") == "a       b\\r\n\\x1b[31mred\n"
