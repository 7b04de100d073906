"""Numbers, ages and sizes in words."""

import pytest

from jim.reading.quantities import ago, counted, size_of, span

# Words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (59, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (3661, "1 h 1 min"),
        (90_000, "1 d 1 h"),
        (86_399.9, "1 d"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds, words):
    assert span(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.44, "0 s ago"), (9.96, "9 s ago"), (59.6, "1 min ago"), (86_399.9, "1 d ago"), (-5, "0 s ago")],
)
def test_an_age_has_whole_seconds(seconds, words):
    assert ago(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (123_456, "123 kB"), (5_500_000, "5.5 MB")],
)
def test_a_size_has_the_largest_unit_that_fits(count, words):
    assert size_of(count) == words


def test_counts_are_listed_with_their_words():
    assert counted([("running", 1200), ("held", 1)]) == "1,200 running, 1 held"
