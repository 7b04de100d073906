"""Histograms and their pictures."""

import pytest

from jim.handlers.shared.histogram import Histogram, draw

# histograms


@pytest.mark.parametrize(
    ("low", "high", "width", "bins"),
    [(60, 120, 2, 30), (40, 140, 5, 20), (100, 437.5, 10, 34), (20, 21, 0.05, 20), (0, 40, 1, 40), (0, 41, 2, 21)],
)
def test_bins_are_round_and_few(low, high, width, bins):
    histogram = Histogram.between(low, high)
    assert histogram.bins == bins
    assert histogram.width == pytest.approx(width)


def test_values_are_counted_where_they_belong():
    histogram = Histogram(0, 4, 4)
    for value in (-0.1, 0, 0.99, 1, 2.5, 2.5, 3.999999, 4, 1000):
        histogram.fill(value)
    assert histogram.counts == [2, 1, 2, 1]
    assert (histogram.entries, histogram.outside) == (9, 3)


def test_the_peak_is_where_the_values_crowd():
    histogram = Histogram(0, 20, 20)
    for value in (10.4, 10.6, 10.8, 9.6, 11.6, 2.5, 17.5):
        histogram.fill(value)
    assert histogram.peak == pytest.approx(10.6)  # the mean of the first five: (10.4+10.6+10.8+9.6+11.6)/5


def test_nothing_has_no_peak_and_can_be_drawn():
    histogram = Histogram(0, 4, 4)
    histogram.fill(5)
    assert histogram.peak is None
    picture = draw(histogram, "t", "m", "GeV", ["n"])
    assert "peak" not in picture
    assert ">1 outside the range<" in picture


def test_a_picture_escapes_its_words():
    picture = draw(Histogram(0, 1, 1), "<script>&", 'm"', "<b>", ["</svg>"])
    assert "<script" not in picture
    assert "<b>" not in picture
    assert picture.count("</svg>") == 1
    assert "&lt;script&gt;&amp;" in picture
