"""The input of a piece in a few words."""

from __future__ import annotations

import pytest

from jim.reading.job.piece_inputs import mask_in_words, more


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ({}, ""),
        ({"first_event": 1, "last_event": 1000}, ", events 1–1,000"),
        ({"first_event": 1}, ", events 1–"),  # and all that follow
        ({"first_lumi": 3, "last_lumi": 4, "first_run": 7, "last_run": 7}, ", lumis 3–4, runs 7–7"),
        ({"run_lumis": {"7": [[1, 1], [3, 5]]}}, ", run 7 lumis 1, 3-5"),
        ({"run_lumis": {"7": [[n, n] for n in range(1, 7)]}}, ", run 7 lumis 1, 2, 3, 4 and 2 more"),
    ],
)
def test_a_mask_is_described_and_a_long_one_is_cut(mask, words):
    assert mask_in_words(mask) == words


def test_nothing_more_is_not_mentioned():
    assert (more(0), more(1234)) == ("", " and 1,234 more")
