"""When a host is a black hole, and when its failures are no fault of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from jim.evidence.hosts import BlackHole, Tried, black_holes, speaks
from jim.model import Kind

numbers = count()


def tried(host: str, at: float, seconds: float, good: bool | None, grid: int = 1, n: int | None = None) -> Tried:
    """An attempt that ended at a time, or that began then and still runs."""
    began = at if good is None else at - seconds
    return Tried(host, grid, next(numbers) if n is None else n, began, at, seconds, good)


def failures(host: str, *ends: float, seconds: float = 2, grid: int = 1) -> list[Tried]:
    return [tried(host, end, seconds, good=False, grid=grid) for end in ends]


def fine(count_: int, *, seconds: float = 600, grid: int = 1, good: bool | None = True) -> list[Tried]:
    return [tried(f"good{at % 5}", 1000 + at, seconds, good=good, grid=grid) for at in range(count_)]


def names(attempts: Sequence[Tried]) -> list[str]:
    return [each.host for each in black_holes(attempts)]


def test_three_quick_failures_in_a_row_while_others_go_well() -> None:
    failed = [each._replace(key=(1, 1, idx)) for idx, each in enumerate(failures("hole", 1000, 1005, 1010, seconds=7))]
    assert black_holes([*failed, *fine(6)]) == [
        BlackHole(
            "hole",
            3,
            since=1000,
            last=1010,
            longest=7,
            good_elsewhere=6,
            elsewhere=6,
            eaten=((1, 1, 2), (1, 1, 1), (1, 1, 0)),
        )
    ]


@pytest.mark.parametrize(
    ("attempts", "why"),
    [
        (failures("host", 1000, 1005), "two are too few"),
        ([tried("host", 1000 + at, 2, good=False, n=7) for at in range(5)], "one piece may be to blame itself"),
        (failures("host", 1000, 2900, 4700), "more than an hour lies between them"),
        (failures("host", 1000, 1005, 1010, seconds=60), "a tenth of what good ones take is not quick"),
        ([*failures("host", 1000, 1005, 1010), tried("host", 1020, 600, good=True)], "it works again"),
        ([*failures("host", 1000, 1010), tried("host", 1005, 600, good=True), *failures("host", 990)], "not in a row"),
        ([*failures("host", 1000, 1005, 1010), tried("host", 1020, 700, good=None)], "one that came later runs on"),
    ],
)
def test_a_host_is_no_black_hole_if(attempts: list[Tried], why: str) -> None:
    assert names([*attempts, *fine(20)]) == [], why


def test_one_that_ran_before_and_runs_on_is_no_sign_that_the_host_works() -> None:
    assert names([tried("hole", 100, 5000, good=None), *failures("hole", 1000, 1005, 1010), *fine(6)]) == ["hole"]


def test_a_slow_failure_among_quick_ones_says_nothing() -> None:
    attempts = [*failures("hole", 1000, 1005, 1010), tried("hole", 1007, 500, good=False)]
    assert [each.failed for each in black_holes([*attempts, *fine(6)])] == [3]


def test_three_of_many_lie_within_an_hour() -> None:
    assert names([*failures("hole", 0, 3000, 6000, 6100, 6200, 20_000), *fine(6)]) == ["hole"]


@pytest.mark.parametrize(("good", "bad", "is_hole"), [(2, 0, False), (3, 0, True), (3, 3, True), (3, 4, False)])
def test_elsewhere_three_and_half_must_have_gone_well(good: int, bad: int, is_hole: bool) -> None:
    others = [*fine(good), *(tried(f"other{at}", 1000, 300, good=False) for at in range(bad))]
    assert names([*failures("hole", 1000, 1005, 1010), *others]) == ["hole"] * is_hole


def test_only_the_last_20_elsewhere_count() -> None:
    old = [tried(f"old{at}", at, 600, good=False) for at in range(50)]
    found = black_holes([*failures("hole", 1000, 1005, 1010), *old, *fine(10)])
    assert [(each.good_elsewhere, each.elsewhere) for each in found] == [(10, 20)]
    assert names([*failures("hole", 1000, 1005, 1010), *old, *fine(9)]) == []


@pytest.mark.parametrize(("seconds", "is_hole"), [(19, False), (20, True)])
def test_those_that_run_ten_times_as_long_have_gone_well_so_far(seconds: float, is_hole: bool) -> None:
    """Good ones may take hours; a black hole empties a queue in minutes."""
    running = fine(3, seconds=seconds, good=None)
    assert names([*failures("hole", 1000, 1005, 1010, seconds=2), *running]) == ["hole"] * is_hole


@pytest.mark.parametrize(("seconds", "is_hole"), [(59, True), (60, False)])
def test_without_a_good_one_quick_is_less_than_a_minute(seconds: float, is_hole: bool) -> None:
    running = fine(5, seconds=2000, good=None)
    assert names([*failures("hole", 1000, 1005, 1010, seconds=seconds), *running]) == ["hole"] * is_hole


@pytest.mark.parametrize(("seconds", "is_hole"), [(1, True), (2, False)])
def test_what_fails_at_once_may_be_told_as_one_second(seconds: float, is_hole: bool) -> None:
    assert bool(black_holes([*failures("hole", 1000, 1001, 1002, seconds=seconds), *fine(6, seconds=8)])) is is_hole


def test_failures_everywhere_are_the_fault_of_the_job() -> None:
    everywhere = [each for at in range(8) for each in failures(f"host{at}", 1000, 1005, 1010)]
    assert names(everywhere) == []
    assert names([*everywhere, *fine(40, grid=2)]) == [], "another grid job that goes well does not change that"


def test_several_black_holes_at_once_do_not_excuse_each_other() -> None:
    """The queue flows through them: most of the last attempts elsewhere are failures on the others."""
    holes = [each for at in range(2) for each in failures(f"hole{at}", *range(2000, 2030))]
    others = [tried(f"good{at}", 1000, 600, good=True) for at in range(10)]
    assert names([*holes, *others]) == ["hole0", "hole1"]


def test_grid_jobs_of_one_local_job_are_compared_with_those_of_others() -> None:
    eaten = [tried("hole", 1000 + grid, 2, good=False, grid=grid, n=0) for grid in range(3)]
    others = [tried(f"good{grid}", 1000, 900, good=True, grid=grid, n=0) for grid in range(10, 16)]
    assert names([*eaten, *others]) == ["hole"]


def test_what_is_quick_depends_on_the_grid_job() -> None:
    short, long = fine(10, seconds=5, grid=1), fine(10, seconds=36_000, grid=2)
    assert names([*failures("hole", 1000, 1005, 1010, seconds=100, grid=2), *short, *long]) == ["hole"]
    assert names([*failures("hole", 1000, 1005, 1010, seconds=100, grid=1), *short, *long]) == []


def test_the_worst_comes_first() -> None:
    attempts = [*failures("b", 1000, 1001, 1002), *failures("a", 1000, 1001, 1002), *failures("c", *range(1000, 1009))]
    assert names([*attempts, *(tried(f"good{at}", 1000, 600, good=True) for at in range(20))]) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("verdict", "kind", "counts"),
    [
        ("completed", Kind.UNKNOWN, True),
        ("failed", Kind.EXIT, True),
        ("again", Kind.VANISHED, True),
        ("elsewhere", Kind.LACKING, True),
        ("", Kind.UNKNOWN, False),
        ("killed", Kind.CANCELLED, False),
        ("again", Kind.PUT_BACK, False),
        ("failed", Kind.REMOVED, False),
    ],
)
def test_which_ends_say_something_about_a_host_is_told_by_their_kind(verdict: str, kind: Kind, counts: bool) -> None:
    assert speaks(verdict, kind) is counts
