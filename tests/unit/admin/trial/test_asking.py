"""Questions to a batch system, without a job."""

from __future__ import annotations

import shlex

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


@pytest.mark.parametrize(
    ("source", "code", "err", "level"),
    [
        ("", 2, "grep: /sge/accounting: No such file or directory\n", "warning"),
        ("qacct", 0, "/sge/accounting: No such file or directory\n", "warning"),  # qacct, which also says it on stdout
        ("", 2, "grep: /sge/accounting: Permission denied\n", "failed"),
        ("", 2, "grep: /a/1: No such file or directory\ngrep: /a/2: Input/output error\n", "failed"),
        ("", 127, "env: '/sge/qacct': No such file or directory\n", "failed"),
    ],
)
def test_a_history_whose_file_does_not_exist_is_no_failure_yet(tmp_path, source, code, err, level):
    program = tmp_path / "history"
    program.write_text(
        f"#!/bin/sh\necho no jobs running since startup\nprintf %s {shlex.quote(err)} >&2\nexit {code}\n"
    )
    program.chmod(0o755)
    own = {"history": (str(program),)}
    assert asking.history(Site(tmp_path, batch=Batch(system="sge", history=source, commands=own))).level == level
