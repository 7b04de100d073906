"""Lines of logs, whatever strangers write into them."""

from __future__ import annotations

import logging
import sys
from types import TracebackType

import pytest

from jim.log_lines import OneLine

FORM = OneLine("%(levelname)s %(message)s")


def record(message: str, *words: object, error: BaseException | None = None) -> logging.LogRecord:
    about: tuple[type[BaseException], BaseException, TracebackType | None] | None
    about = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("jim", logging.INFO, __file__, 1, message, words, about)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("all is well", "INFO all is well"),
        ("Straße", "INFO Straße"),
        ("x\nCRITICAL the keeper ends: forged", "INFO x\\nCRITICAL the keeper ends: forged"),
        ("a\rb\x1b[2Jc\u202ed\u2028e\udcff", "INFO a\\rb\\x1b[2Jc\\u202ed\\u2028e\\udcff"),
    ],
)
def test_a_line_stays_one_line_and_commands_no_terminal(words: str, line: str) -> None:
    assert FORM.format(record("%s", words)) == line
    assert line.isprintable()


def test_the_lines_of_a_traceback_stand_behind_a_margin() -> None:
    try:
        raise ValueError("odd\nCRITICAL the keeper ends: forged")
    except ValueError:
        error = sys.exc_info()[1]
    first, *others = FORM.format(record("it failed", error=error)).split("\n")
    assert first == "INFO it failed"
    assert others[0] == " Traceback (most recent call last):"
    assert others[-1] == " CRITICAL the keeper ends: forged"
    assert all(each.startswith(" ") for each in others)
