"""condor_history as the history of HTCondor."""

from __future__ import annotations

from jim.adapters.condor import TOLD
from tests.unit.adapters.history.chosen import by_name, captured, words

ADAPTED = by_name("condor", "condor_history")


def test_it_is_asked_for_ids_or_for_a_mark():
    assert ADAPTED.history_command(["6", "7"]) == ["condor_history", "-json", "-attributes", TOLD, "6", "7"]
    marked = by_name("condor_transfer", "condor_history").find_ended_command("m")
    assert marked == ["condor_history", "-constraint", 'JimMark == "m"', "-limit", "1", "-json", "-attributes", TOLD]
    assert ADAPTED.find_ended_command("m") is None  # a fence is enough


def test_it_tells_how_jobs_ended():
    assert set(words("condor/23.9.6", "history", adapter=ADAPTED).values()) == {"3", "4"}
    assert ADAPTED.parse_history(captured("condor/23.9.6", "history-unknown")) == {}
