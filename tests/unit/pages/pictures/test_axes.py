"""The axes of charts have round numbers and round times, at the places where these are."""

from __future__ import annotations

import pytest

from jim.pages.pictures import axes


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (0, ["0", "1"]),
        (1, ["0", "1"]),
        (3, ["0", "1", "2", "3"]),
        (5, ["0", "2", "4", "6"]),
        (9, ["0", "5", "10"]),
        (62, ["0", "20", "40", "60", "80"]),
        (70_001, ["0", "20k", "40k", "60k", "80k"]),
        (4_000_000, ["0", "1M", "2M", "3M", "4M"]),
    ],
)
def test_counts_end_with_a_round_number_that_holds_the_highest(most: int, words: list[str]) -> None:
    ticks = axes.counts(most)
    assert [each.words for each in ticks] == words
    assert (ticks[0].share, ticks[-1].share) == (0, 1)
    assert axes.top_of(most) >= most


def test_a_count_is_written_short_only_if_nothing_is_lost() -> None:
    assert [axes.short(each) for each in (999, 1_500, 1_550, 2_000_000)] == ["999", "1.5k", "1,550", "2M"]
    assert axes.tenfold(0) == [1]
    assert axes.tenfold(200) == [1, 10, 100]


@pytest.mark.parametrize(
    ("begin", "minutes", "words"),
    [
        ("2026-01-31T12:03:00Z", 15, ["12:05", "12:10", "12:15"]),
        ("2026-01-31T11:01:00Z", 60, ["11:10", "11:20", "11:30", "11:40", "11:50", "12:00"]),
        ("2026-01-31T20:00:00Z", 360, ["20:00", "21:00", "22:00", "23:00", "1 Feb", "01:00", "02:00"]),
        ("2026-01-30T12:00:00Z", 3 * 1440, ["12:00", "31 Jan", "12:00", "1 Feb", "12:00", "2 Feb", "12:00"]),
        ("2026-01-30T00:00:00Z", 30 * 1440, ["5 Feb", "12 Feb", "19 Feb", "26 Feb"]),
    ],
)
def test_times_are_round_and_few(begin: str, minutes: int, words: list[str]) -> None:
    ticks = axes.times(begin, minutes)
    assert [each.words for each in ticks] == words
    assert all(0 <= each.share <= 1 for each in ticks)


def test_a_time_stands_where_it_is_and_has_its_whole_form_for_other_zones() -> None:
    first = axes.times("2026-01-31T12:03:00Z", 20)[0]
    assert first == axes.Tick(2 / 20, "12:05", "2026-01-31T12:05:00Z")


def test_a_chart_of_decades_has_no_more_marks() -> None:
    ticks = axes.times("2000-01-01T00:00:00Z", 30 * 365 * 1440)
    assert 3 <= len(ticks) <= axes.MOST_TIMES + 1
    assert all(len(each.words) == 10 for each in ticks)
