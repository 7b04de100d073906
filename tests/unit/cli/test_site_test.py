"""jim site test: its command line, its summary and its exit codes."""

from __future__ import annotations

import pytest

from jim.admin.finding import FAILED, OK, WARNING, Finding
from jim.admin.trial import LEVELS
from jim.cli.site_test import CODES, _outcome, _say_waits


def found(*levels):
    """Findings of level config, named a, b, …, with these results."""
    return [("config", Finding(name, level, f"said {name}")) for name, level in zip("abc", levels, strict=False)]


@pytest.mark.parametrize(
    ("levels", "word"),
    [
        ((OK, OK), "ok"),
        ((OK, WARNING), "warning"),
        ((WARNING, FAILED, OK), "failed"),
    ],
)
def test_the_worst_finding_decides_what_monitoring_hears(levels, word):
    code, said = _outcome(found(*levels), {"config": LEVELS["config"]})
    assert code == CODES[word]
    assert said.startswith(f"{len(levels)} checks" if word == "ok" else f"{sum(each != OK for each in levels)} of")


@pytest.mark.parametrize(
    ("quiet", "out"), [(False, "waits    array: for local jobs (1 running), for 10 s now\n"), (True, "")]
)
def test_what_a_level_waits_for_is_told_unless_one_document_is_wanted(capsys, quiet, out):
    _say_waits(quiet=quiet)(Finding("array", "waits", "for local jobs (1 running), for 10 s now"))
    assert capsys.readouterr().out == out
