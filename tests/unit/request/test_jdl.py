"""Requests in DIRAC's job description language."""

from __future__ import annotations

import pytest

from jim.request import check, jdl

TRUE = {"job_type": "executable", "executable": "true"}


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("", {}),
        ("// nothing\n# nothing\n/* no\nthing */", {}),
        ("[]", {}),
        ('Executable = "true";', TRUE),
        ('[ Executable = "true"; ]', TRUE),
        ('[Executable="true"]', TRUE),
        ("# a\n[\n  // b\n  Executable = true; /* c */\n]\n# d\n", TRUE),
        ('Executable = "true"; JobName = "a \\"b\\" \\\\c // d";', TRUE | {"name": 'a "b" \\c // d'}),
        (
            'executable = "true"; wall_seconds = 60; Outputs = {"a b", c,};',
            TRUE | {"wall_seconds": 60, "outputs": ["a b", "c"]},
        ),
        ('Executable = true; environment = [ A = "1"; B = "x y"; ];', TRUE | {"environment": {"A": "1", "B": "x y"}}),
        (
            'Executable = true; ExecutionEnvironment = {"A=1", "B=x = y"};',
            TRUE | {"environment": {"A": "1", "B": "x = y"}},
        ),
    ],
)
def test_manifests_mean_this(text, means):
    assert jdl.parse(text) == means


def test_a_comment_begins_in_a_word_too():
    """As in DIRAC: texts with // need quotes."""
    assert jdl.parse('Executable = "/opt/a//b"; Arguments = "http://x/y";')["arguments"] == ["http://x/y"]
    with pytest.raises(ValueError, match="expected ; after the value of Arguments"):
        jdl.parse("Executable = true; Arguments = http://x/y;\nCores = 3;")


def test_a_manifest_with_all_of_it_is_a_request():
    _, request = check(
        jdl.parse(
            """[
              JobName = "scan_${SplitID}";
              Executable = "/bin/echo";
              Arguments = "$Parameter 'two words'";
              Splitter = Parametric; Parameters = 10; ParameterStep = 1; ParameterFactor = 1.3;
              StdOutput = "StdOut_$SplitID"; StdError = "StdErr_$SplitID";
              OutputSandbox = { "StdOut_$SplitID", "StdErr_$SplitID", "*.root" };
              NumberOfProcessors = 2; MaxRAM = 2000; Site = "LCG.CERN.ch";
            ]"""
        )
    )
    assert {name: value for name, value in request.items() if value} == {
        "job_type": "executable",
        "name": "scan_${SplitID}",
        "executable": "/bin/echo",
        "arguments": ["$Parameter", "two words"],
        "splitter": "Parametric",
        "splitter_parameters": {"Parameters": 10, "ParameterStep": 1, "ParameterFactor": 1.3},
        "stdout": "StdOut_$SplitID",
        "stderr": "StdErr_$SplitID",
        "outputs": ["*.root"],
        "cores": 2,
        "memory_mb": 2000,
        "test": "no",
    }
