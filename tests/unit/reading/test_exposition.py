"""The text format of Prometheus, read by Prometheus' own library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from jim.reading.exposition import COUNTER, GAUGE, HISTOGRAM, Family, Sample, number, text_of

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(WORDS, WORDS, st.floats(allow_nan=False))
def test_whatever_stands_in_it_is_read_as_it_was(help_: str, label: str, value: float) -> None:
    told = text_of([Family("x", GAUGE, help_.strip(), [Sample(value, {"a": label, "b": ""})])])
    (family,) = text_string_to_metric_families(told)
    (sample,) = family.samples
    assert (sample.name, sample.labels, sample.value) == ("x", {"a": label, "b": ""}, value)
    assert family.documentation == help_.strip()
    assert told.count("\n") == 3


def test_half_a_character_is_marked() -> None:
    assert 'a="?"' in text_of([Family("x", GAUGE, "", [Sample(1, {"a": "\udcff"})])])


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (3.0, "3"), (True, "1"), (0.25, "0.25"), (10**15, "1000000000000000"), (float("inf"), "+Inf")],
)
def test_a_number_is_short_and_exact(value: float, text: str) -> None:
    assert number(value) == text


def test_counters_and_histograms_have_their_parts() -> None:
    parts = [Sample(1, {"le": "1"}, "_bucket"), Sample(2, {"le": "+Inf"}, "_bucket")]
    parts += [Sample(2, {}, "_count"), Sample(0.5, {}, "_sum")]
    told = text_of([Family("x_total", COUNTER, "x", [Sample(7, {})]), Family("h", HISTOGRAM, "h", parts)])
    counter, histogram = text_string_to_metric_families(told)
    assert (counter.type, histogram.type) == ("counter", "histogram")
    assert [each.name for each in histogram.samples] == ["h_bucket", "h_bucket", "h_count", "h_sum"]


def test_a_family_without_numbers_is_left_out() -> None:
    assert text_of([Family("x", GAUGE, "x", [])]) == ""
