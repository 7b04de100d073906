"""Questions to a batch system, without a job."""

from __future__ import annotations

import pytest

from jim.admin.trial import asking
from jim.site.file import Batch, Site


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (("qsub", "-V"), ["qsub"]),
        (("env", "A=B", "C=D", "/sge/qsub"), ["env", "/sge/qsub"]),
        (("/usr/bin/env", "-u", "HOME", "-i", "A=B", "qsub", "X=Y"), ["/usr/bin/env", "qsub"]),
        (("env", "env", "A=B", "qsub"), ["env", "env", "qsub"]),
        (("env", "A=B"), ["env"]),
    ],
)
def test_the_programs_of_a_command(command, found):
    assert list(asking.programs(command)) == found


def test_a_directory_of_batch_commands_that_has_none_of_them_is_told(tmp_path, monkeypatch):
    """What would be asked is what the PATH has instead: a version that the site did not mean."""
    for place in ("path", "bin"):
        (tmp_path / place).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    for program in ("sbatch", "squeue", "scancel", "scontrol"):
        (tmp_path / "path" / program).touch(0o755)
    site = Site(tmp_path, batch=Batch(system="slurm", programs=str(tmp_path / "bin")))
    found = asking.commands(site)
    assert (found.level, found.said) == ("failed", f"batch.programs: {tmp_path}/bin has none of the commands of slurm")
    assert "batch.commands" in found.todo
    (tmp_path / "bin/squeue").touch(0o755)
    assert asking.commands(site).level == "ok"
