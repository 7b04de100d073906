"""Pictures are drawn from numbers: shares, stacks and cells stand where the numbers say."""

from __future__ import annotations

import re

import pytest

from jim.model import State
from jim.pages.pictures import svg
from jim.reading.job.history import Timeline


def rectangles(picture: str) -> list[tuple[str, str, str]]:
    return re.findall(r'<rect class="s-(\w+) ink" x="([\d.]+)" width="([\d.]+)"', picture)


def test_each_state_has_a_look_of_its_own() -> None:
    assert set(svg.INKS) == set(State) - {State.UNKNOWN}  # in which no local job is stored
    ended = [ink for state, ink in svg.INKS.items() if not state.value.endswith("_frozen") and state is not State.NEW]
    assert len(set(ended)) == len(ended)


def test_a_bar_has_a_part_for_each_state_side_by_side() -> None:
    parts = rectangles(svg.bar({State.FAILED: 1, State.COMPLETED: 3}))
    assert {(name, width) for name, _, width in parts} == {("completed", "75.00"), ("failed", "25.00")}
    assert parts[0][1] == "0.00"
    assert parts[1][1] == parts[0][2]


def test_a_bar_of_nothing_is_empty() -> None:
    assert rectangles(svg.bar({})) == []


@pytest.mark.parametrize(
    ("done", "total", "width", "over"),
    [(0, 4, "0.00", False), (1, 4, "25.00", False), (4, 4, "100.00", False), (5, 4, "100.00", True)],
)
def test_more_than_the_total_is_a_full_bar_with_a_mark(done: int, total: int, width: str, over: bool) -> None:
    picture = svg.progress(done, total)
    assert f'class="done" width="{width}"' in picture
    assert ('class="over"' in picture) is over


def test_counts_of_one_time_are_stacked_and_the_highest_stack_fills_the_picture() -> None:
    counts = {"failed": [1, 0], "completed": [1, 1], "running": [9, 9]}  # running is not of those that are stacked
    picture = svg.bars(Timeline("2026-01-31T12:00", 1, counts))
    assert re.findall(r'class="t-(\w+)" d="([^"]*)"', picture) == [
        ("completed", "M2 40.0v-20.0M6 40.0v-20.0"),
        ("failed", "M2 20.0v-20.0"),
    ]
