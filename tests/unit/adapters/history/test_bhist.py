"""bhist as the history of LSF."""

from __future__ import annotations

from tests.unit.adapters.history.chosen import by_name, words

ADAPTED = by_name("lsf", "bhist")


def test_its_command_is_its_own_or_the_site_s():
    assert ADAPTED.history_command(["1", "2"]) == ["bhist", "-n", "0", "-a", "-l", "-UF", "1", "2"]
    assert by_name("lsf", "bhist", ["/opt/ends"]).history_command(["1"]) == ["/opt/ends", "-a", "-l", "-UF", "1"]


def test_it_tells_how_jobs_ended():
    assert set(words("lsf/10.1", "history-bhist", adapter=ADAPTED).values()) == {"DONE", "EXIT"}
    assert set(words("lsf/10.1", "history-bhist-folded", adapter=ADAPTED).values()) == {"EXIT"}
