"""A job event log as the history of HTCondor."""

from __future__ import annotations

import pytest

from jim.errors import Unclear
from jim.model import Answer
from tests.unit.adapters.history.chosen import by_name, captured, words

FILE = "/var/log/condor/EventLog"
ADAPTED = by_name("condor", "event_log")


def test_the_file_is_searched_for_ids_or_for_a_mark():
    by_ids = ["grep", "-hE", FILE, "-A2", "-e", r"^0(00|05|09|12) \(0*(6|17)\."]
    assert ADAPTED.history_command(["6", "17"]) == by_ids
    marked = by_name("condor_transfer", "event_log", ["cat", "/own"]).find_ended_command("m")
    assert marked == ["cat", "/own", "-B1", "-e", "^[[:blank:]]+m$"]


def test_it_tells_how_jobs_ended():
    assert set(words("condor/23.9.6", "history-EventLog", adapter=ADAPTED).values()) == {"005", "009"}
    assert ADAPTED.parse_history(captured("condor/23.9.6", "history-EventLog-nothing", 1)) == {}


def test_a_job_without_a_shared_work_directory_is_known_before_its_end():
    found = words("condor_transfer/23.9.6", "history-mark", adapter=by_name("condor_transfer", "event_log"))
    assert found
    assert set(found.values()) == {"000"}


def test_what_is_no_event_proves_nothing():
    with pytest.raises(Unclear):
        ADAPTED.parse_history(Answer(("grep",), 0, "[]\n", "", 0.1))
