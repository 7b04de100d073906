"""Listings, compared with the store."""

from __future__ import annotations

from jim.evidence.listing import compare
from jim.jobs import Live
from jim.model import Kind, Observation, Reason, State

# Words decide nothing


def test_what_a_listing_repeats_is_stored_once() -> None:
    live = Live(1, 1, 1, 0, 1, State.SUBMITTED, False, "m", "7", True, "", Kind.UNKNOWN)
    seen = {("7", 1): Observation(State.SUBMITTED, "m", reason="BadConstraints")}
    (change,) = compare(seen, [live]).changes()
    assert change.reason == Reason(Kind.NEVER_STARTS, words="can never start as it was asked for: BadConstraints")
    assert list(compare(seen, [live._replace(reason=change.reason.words, kind=Kind.NEVER_STARTS)]).changes()) == []
    # Of a version before: once more, so that its kind is known.
    assert list(compare(seen, [live._replace(reason=change.reason.words)]).changes()) == [change]
