"""The accounting file of Grid Engine as its history."""

from __future__ import annotations

from tests.unit.adapters.history.chosen import by_name, captured, words

FILE = "/var/lib/gridengine/default/common/accounting"
ADAPTED = by_name("sge", "accounting")


def test_the_file_is_searched_for_ids():
    assert ADAPTED.history_command(["1", "2"]) == ["grep", "-hE", FILE, "-e", "^([^:]*:){5}(1|2):"]
    assert by_name("sge", "accounting", ["cat", "/b"]).history_command(["1"])[:2] == ["cat", "/b"]


def test_it_tells_how_jobs_ended():
    found = words("sge/8.1.9", "history", adapter=ADAPTED)
    assert found.items() >= {"1.1": "failed 0", "3.1": "failed 100", "5.1": "failed 37"}.items()
    assert ADAPTED.parse_history(captured("sge/8.1.9", "history-nothing", 1)) == {}
