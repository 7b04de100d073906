"""Escaped text and tables on terminals."""

import pytest

from jim.cli.text import escaped, facts, lines_of, plain, put, say, width_of, with_local_times
from tests.support.cli_home import EVIL, EVIL_SHOWN

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


# Lines


@pytest.fixture
def terminal(monkeypatch):
    """Make stdout a terminal of so many columns."""

    def make(columns):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(columns))

    return make


@pytest.mark.parametrize(("word", "columns"), [("abc", 3), ("日本", 4), ("é", 1), ("", 0)])
def test_a_wide_character_takes_two_columns(word, columns):
    assert width_of(word) == columns


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, [""]),
        ("one two", 7, ["one two"]),
        ("one two", 6, ["one", "two"]),
        ("one two three", 0, ["one two three"]),
        ("a longer-than-that b", 6, ["a", "longer-than-that", "b"]),
        ("say `jim watch 12`, then", 17, ["say", "`jim watch 12`,", "then"]),
        ("say (`jim watch 12`).", 12, ["say (`jim", "watch 12`)."]),
        ("one ` two", 4, ["one", "`", "two"]),
        ("日本 日本", 8, ["日本", "日本"]),
    ],
)
def test_no_word_is_broken_nor_a_command_in_backticks_that_fits(text, width, lines):
    assert list(lines_of(text, width)) == lines


def test_sentences_wrap_on_a_terminal_below_their_beginning(terminal, capsys):
    terminal(20)
    say("the words of a sentence", "* ")
    say("two words and more of it\nand two", "jim: ", margin="")
    assert capsys.readouterr().out == "* the words of a\n  sentence\njim: two words and\nmore of it\nand two\n"


def test_a_name_that_fits_into_a_line_has_one(terminal, capsys):
    terminal(30)
    facts(
        [("tar", "/a/name/of/more/columns.tar (3 MB)"), ("key", ""), ("id", "/longer/than/all/the/columns/there/are")]
    )
    assert capsys.readouterr().out.splitlines() == [
        "tar",
        "   /a/name/of/more/columns.tar",
        "             (3 MB)",
        "id",
        "/longer/than/all/the/columns/there/are",
    ]


def test_words_of_a_second_column_stay_there_if_it_has_room(terminal, capsys):
    terminal(30)
    say("  jim    the words of a verb that are long\n  short  words\n\nthe words of a longer sentence")
    say("  jim submit FILE   the words of a verb that are long")
    assert capsys.readouterr().out.splitlines() == [
        "  jim    the words of a verb",
        "         that are long",
        "  short  words",
        "",
        "the words of a longer sentence",
        "  jim submit FILE",
        "    the words of a verb that",
        "    are long",
    ]


def test_content_is_printed_as_it_is(terminal, capsys):
    terminal(10)
    put("a  line of content\n\x1b and more")
    assert capsys.readouterr().out == "a  line of content\n\\x1b and more\n"


def test_elsewhere_a_sentence_is_a_line(capsys):
    say("word " * 100, "* ")
    facts([("name", "word " * 100)])
    assert [len(line) for line in capsys.readouterr().out.splitlines()] == [502, 513]


def test_a_long_name_of_a_fact_does_not_touch_its_value(capsys):
    facts([("output merged", "3 stored"), ("state", "running")])
    assert capsys.readouterr().out == "output merged 3 stored\nstate        running\n"


@pytest.mark.parametrize("text", ["2026-02-30T00:00:00Z", "2026-01-31T25:00:00Z", "0000-01-01T00:00:00Z"])
def test_what_only_looks_like_a_time_stays_as_it_is(text):
    """The reason of a drain with such a text made `jim status` end in a traceback."""
    assert with_local_times(f"back at {text}") == f"back at {text}"
