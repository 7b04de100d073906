"""Filters as values: from a URL and a command line, and back."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jim.errors import BadRequest
from jim.reading import filters
from jim.reading.filters import Filter, Filters, numbers, read

KNOWN = {
    "failed": Filter("only with failures", choices=("yes",), once=True),
    "state": Filter("a state", choices=("running", "failed")),
    "reason": Filter("a reason"),
    "after": Filter("a number", pattern=r"\d{1,8}", once=True),
}


def test_filters_are_read_in_the_order_of_the_table_once_each() -> None:
    asked = read(KNOWN, [("reason", "b"), ("state", "failed"), ("reason", "a"), ("reason", "b"), ("state", "")])
    assert asked.given == (("state", "failed"), ("reason", "b"), ("reason", "a"))
    assert (asked.of("reason"), asked.one("state"), asked.one("after", "-1")) == (("b", "a"), "failed", "-1")
    assert asked.query() == "state=failed&reason=b&reason=a"


@given(st.lists(st.tuples(st.sampled_from(["reason"]), st.text(min_size=1, max_size=50)), max_size=5))
def test_any_text_survives_the_way_into_a_url_and_back(pairs: list[tuple[str, str]]) -> None:
    from urllib.parse import parse_qsl

    pairs = [(name, value.encode(errors="replace").decode()) for name, value in pairs]
    asked = read(KNOWN, pairs)
    assert read(KNOWN, parse_qsl(asked.query(), keep_blank_values=True)) == asked


def test_a_filter_is_added_and_taken_out() -> None:
    asked = read(KNOWN, [("state", "failed"), ("reason", "a"), ("after", "7")])
    assert asked.but(state="running").query() == "state=running&reason=a&after=7"
    assert asked.but(after=None).query() == "state=failed&reason=a"
    assert asked.without("reason", "a").query() == "state=failed", "and the list begins at its first row"
    assert asked.without("reason", "b").query() == "state=failed&reason=a"


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("stat", "failed")], "unknown filter 'stat'; did you mean 'state'? (known: after, failed, reason, state)"),
        ([("stat", "")], "unknown filter 'stat'"),
        ([("state", "faild")], "state cannot be 'faild'; did you mean 'failed'? (known: failed, running)"),
        ([("after", "x")], "after cannot be 'x': expected a number"),
        ([("after", "١")], "after cannot be '١'"),
        ([("after", "1"), ("after", "2")], "after can be given once"),
        ([("reason", "x" * 501)], "reason cannot be"),
        ([("reason", str(n)) for n in range(101)], "more than 100 filters"),
    ],
)
def test_what_cannot_be_is_refused(pairs: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read(KNOWN, pairs)
    assert words in str(refused.value)


def test_a_command_line_gives_the_same_filters() -> None:
    parser = argparse.ArgumentParser()
    filters.add_filters(parser, KNOWN, "failed", "state", "reason")
    arguments = parser.parse_args(["--reason", "a b", "--failed", "--state", "failed", "--state", "running"])
    found = filters.from_arguments(KNOWN, arguments, "failed", "state", "reason")
    assert found.query() == "failed=yes&state=failed&state=running&reason=a+b"
    assert filters.from_arguments(KNOWN, parser.parse_args([]), "failed", "state") == Filters(KNOWN)


def test_numbers_and_ranges_are_read() -> None:
    def refuse(text: str) -> BadRequest:
        return BadRequest(text)

    assert numbers("1-4,7,9-9", refuse) == ((1, 4), (7, 7), (9, 9))
    with pytest.raises(BadRequest, match="4-1"):
        numbers("2,4-1", refuse)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2026-01-31T12:00", "2026-01-31T11:00:00.000Z"),
        ("2026-07-31", "2026-07-30T22:00:00.000Z"),
        ("2026-01-31T12:00Z", "2026-01-31T12:00Z"),
        ("3d", "3d"),
        ("2026-13-31", "2026-13-31"),
    ],
)
def test_a_time_on_the_command_line_is_that_of_the_own_clock(
    typed: str, meant: str, zone: Callable[[str], None]
) -> None:
    zone("CET-1CEST,M3.5.0,M10.5.0/3")
    known = {"since": Filter("a time", "TIME", pattern=filters.TIME), "q": Filter("words")}
    arguments = argparse.Namespace(since=[typed], q=[typed])
    assert filters.from_arguments(known, arguments, "since", "q").given == (("since", meant), ("q", typed))
