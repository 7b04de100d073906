"""qstat as the history of PBS, Torque and the qsub of Slurm."""

from __future__ import annotations

import pytest

from tests.unit.adapters.history.chosen import by_name, captured, words


@pytest.mark.parametrize(
    ("system", "options"),
    [("pbs", "-x -t -f -F json"), ("torque", "-t -f"), ("pbs_wrappers", "-f")],
)
def test_it_is_asked_for_ids_alone(system, options):
    assert by_name(system, "qstat").history_command(["4.s"]) == ["qstat", *options.split(), "4.s"]


def test_a_site_may_ask_for_text():
    words = ["/opt/qstat", "-f", "-w"]
    assert by_name("pbs", "qstat", words).history_command(["4.s"]) == [*words, "-x", "-t", "-f", "4.s"]


def test_it_tells_how_jobs_ended():
    assert set(words("pbs/20.0.1", "history", adapter=by_name("pbs", "qstat")).values()) <= {"F", "X"}
    assert set(words("torque/4.2", "history", adapter=by_name("torque", "qstat")).values()) == {"C"}


def test_a_server_that_keeps_no_history_says_so():
    assert by_name("pbs", "qstat").parse_history(captured("pbs/20.0.1", "history-off")) == {}
