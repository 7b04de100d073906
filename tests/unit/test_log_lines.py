"""Lines of logs, whatever strangers write into them."""

from __future__ import annotations

import io
import json
import logging
import sys
from types import TracebackType

import pytest

from jim.errors import plain
from jim.log_lines import END, JsonLine, Line, OneLine, end_of, is_json, lines_of, written

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


AT = 1_769_857_200.25  # 2026-01-31T11:00:00.250Z
FORGED = (
    "x\nCRITICAL the keeper ends: forged",
    '", "level": "CRITICAL", "message": "the keeper ends: forged',
    "a\rb\x1b[2Jc\u202ed\u2028e\udcff\x7f\x00\x85",
    "{}\n{}",
)


def in_json(message: str, *words: object, error: BaseException | None = None) -> str:
    made = record(message, *words, error=error)
    made.created, made.msecs = AT, 250.0
    return JsonLine().format(made)


@pytest.mark.parametrize("words", FORGED)
def test_a_line_of_json_is_one_line_of_what_can_be_printed(words: str) -> None:
    line = in_json("%s", words)
    assert line.isascii()
    assert line.isprintable()
    told = {"time": "2026-01-31T11:00:00.250Z", "level": "INFO", "logger": "jim", "message": words}
    assert json.loads(line) == told
    assert list(lines_of(f"{line}\n")) == [Line("INFO", plain(words))]


def test_a_traceback_is_a_part_of_its_line_of_json() -> None:
    try:
        raise ValueError("odd\nCRITICAL the keeper ends: forged")
    except ValueError:
        line = in_json("it failed", error=sys.exc_info()[1])
    assert line.isprintable()
    assert json.loads(line)["traceback"].startswith("Traceback (most recent call last):\n")
    first, *others = lines_of(line)
    assert first == Line("INFO", "it failed")
    assert {each.level for each in others} == {""}


@pytest.mark.parametrize("words", FORGED)
def test_no_message_is_read_as_another_line(words: str) -> None:
    lines = list(lines_of(FORM.format(record("%s", words)).replace("INFO", "2026-01-31 11:00:00,000 INFO jim", 1)))
    assert lines == [Line("INFO", plain(words))]


def test_the_end_of_a_long_log_begins_with_a_whole_line() -> None:
    log = io.BytesIO(b"z" * END + b" CRITICAL jim the keeper ends: half a line\n2026-01-31 11:00:00 INFO jim up\n")
    assert list(lines_of(end_of(log))) == [Line("INFO", "up")]
    assert end_of(io.BytesIO(b"short\n")) == "short\n"


def test_who_has_no_logger_writes_in_the_form_of_the_lines_before() -> None:
    line = Line("CRITICAL", "the keeper ends: no site file")
    for before in ("2026-01-31 11:00:00 INFO jim up\n", in_json("up") + "\n"):
        told = written("2026-01-31T11:00:00.250Z", "jim.x", line, as_json=is_json(before))
        assert told.startswith("{") is before.startswith("{")
        assert list(lines_of(told)) == [line]
