"""Slurm's file of completed jobs as its history."""

from __future__ import annotations

from tests.unit.adapters.history.chosen import by_name, captured, words

ADAPTED = by_name("slurm", "jobcomp")


def test_the_file_is_searched_for_ids():
    command = ["grep", "-hE", "/var/log/slurm/jobcomp.log", "-e", " ArrayJobId=(1|2) "]
    assert ADAPTED.history_command(["1", "2"]) == command
    site_s = by_name("slurm", "jobcomp", ["zgrep", "-hE", "/log/a", "/log/b"])
    assert site_s.history_command(["1"]) == ["zgrep", "-hE", "/log/a", "/log/b", "-e", " ArrayJobId=(1) "]


def test_it_tells_how_jobs_ended():
    found = words("slurm/22.05.8", "history-jobcomp", adapter=ADAPTED)
    assert found.items() >= {"1.1": "COMPLETED", "2.1": "FAILED", "5.1": "TIMEOUT"}.items()
    assert ADAPTED.parse_history(captured("slurm/22.05.8", "history-jobcomp-nothing", 1)) == {}
