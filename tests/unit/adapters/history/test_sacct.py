"""sacct as the history of Slurm."""

from __future__ import annotations

from tests.unit.adapters.history.chosen import by_name, words

FIELDS = ["--allocations", "--parsable2", "--format=JobID,State,ExitCode,Reason,JobName"]


def test_its_command_is_its_own_or_the_site_s():
    assert by_name("slurm", "sacct").history_command(["1", "2"]) == ["sacct", *FIELDS, "--jobs=1,2"]
    site_s = by_name("slurm", "sacct", ["/opt/site/accounts", "-M", "a"])
    assert site_s.history_command(["1"]) == ["/opt/site/accounts", "-M", "a", *FIELDS, "--jobs=1"]


def test_it_tells_how_jobs_ended():
    found = words("slurm/22.05.8-slurmdbd", "history", adapter=by_name("slurm", "sacct"))
    assert set(found.values()) >= {"COMPLETED", "FAILED"}
