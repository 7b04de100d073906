"""bjobs as the history of LSF."""

from __future__ import annotations

from tests.unit.adapters.history.chosen import by_name, captured, words

ADAPTED = by_name("lsf", "bjobs")


def test_it_is_asked_for_ids_alone():
    assert ADAPTED.history_command(["1", "2"]) == ["bjobs", *ADAPTED.listing, "1", "2"]


def test_it_tells_of_the_others_where_one_is_unknown():
    assert set(words("lsf/10.1", "history", 255, adapter=ADAPTED).values()) == {"DONE", "EXIT"}
    assert ADAPTED.parse_history(captured("lsf/10.1", "history-unknown", 255)) == {}
