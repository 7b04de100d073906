"""Two clocks: that of people, and one that nobody can set."""

from __future__ import annotations

import re
import time

import pytest

from jim.clock import Clock, age_seconds


@pytest.mark.parametrize(
    ("then", "now", "age"),
    [
        ("2026-01-31T12:00:00.000Z", "2026-01-31T12:00:01.500Z", 1.5),
        ("2026-01-31T23:59:59.000Z", "2026-02-01T00:00:00.000Z", 1.0),
        ("2026-01-31T12:00:01.000Z", "2026-01-31T12:00:00.000Z", 0.0),  # it was set back
    ],
)
def test_an_age_is_never_negative(then, now, age):
    assert age_seconds(then, now) == age


def test_people_read_utc_to_the_millisecond(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_769_860_800_007_999_999)
    assert Clock().utc() == "2026-01-31T12:00:00.007Z"


def test_a_boot_has_a_name_and_seconds_that_only_grow():
    clock = Clock()
    assert re.fullmatch(r"[0-9a-f-]{36}", clock.boot_id())
    assert 0 < clock.boot() <= clock.boot()
