"""Attributes under DIRAC's names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jim.request import dirac_names, jdl

HOME = Path(__file__).parents[3]
PAGE = (HOME / "docs/requests.md").read_text()
TRUE = {"job_type": "executable", "executable": "true"}


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ('Arguments = "-a \'b c\' \\"d e\\" $HOME";', {"arguments": ["-a", "b c", "d e", "$HOME"]}),
        ('Arguments = {"-a", "b c"};', {"arguments": ["-a", "b c"]}),
        ('JobType = "User";', {}),
        ('JobGroup = "g"; LogLevel = "INFO"; CPUTime = 3600; BannedSites = {"A", "B"}; Priority = 3;', {}),
        # Sandboxes
        ('InputSandbox = {"a.sh", "cards"};', {"inputs": ["a.sh", "cards"]}),
        ('OutputSandbox = "a.root";', {"outputs": ["a.root"]}),
        ('OutputSandbox = {"std.out", "std.err", "a"};', {"outputs": ["a"], "stdout": "std.out", "stderr": "std.err"}),
        ('StdOutput = "o"; OutputSandbox = {"o", "std.err"};', {"outputs": [], "stdout": "o", "stderr": "std.err"}),
        ('StdOutput = "o"; OutputSandbox = {"std.out"};', {"outputs": ["std.out"], "stdout": "o"}),
        ('StdError = "e";', {"stderr": "e"}),
        # Input data
        ('InputData = {"LFN:/vo/a", "/vo/b"};', {"input_files": ["/vo/a", "/vo/b"], "splitter": "1"}),
        ('InputData = "lfn:/vo/a, /vo/b";', {"input_files": ["/vo/a", "/vo/b"], "splitter": "1"}),
        (
            'InputData = {"/vo/a"}; Splitter = "InputDataBySE"; SplitterMaxFilesPerJob = 2;',
            {
                "input_files": ["/vo/a"],
                "splitter": "InputDataBySE",
                "splitter_parameters": {"SplitterMaxFilesPerJob": 2},
            },
        ),
        # Parameters
        (
            "Parameters = 3; ParameterStart = 0.5;",
            {
                "splitter": "ParametricJDL",
                "splitter_parameters": {"Parameters": 3, "ParameterStart": 0.5, "MaxParametricJobs": 10**9},
            },
        ),
        (
            'Parameters.A = {"1", "01", "x"}; Parameters.B = {1, 2.5, y}; MaxParametricJobs = 5;',
            {
                "splitter": "ParametricJDL",
                "splitter_parameters": {
                    "Parameters.A": ["1", "01", "x"],
                    "Parameters.B": [1, 2.5, "y"],
                    "MaxParametricJobs": 5,
                },
            },
        ),
        ("splitter = 5;", {"splitter": "5"}),
    ],
)
def test_each_means_this(text, means):
    assert jdl.parse('Executable = "true"; ' + text) == TRUE | means


def test_a_job_type_of_jim_is_one():
    text = 'JobType = "pythia_monte_carlo"; events = 100; JobName = "z";'
    assert jdl.parse(text) == {"job_type": "pythia_monte_carlo", "events": 100, "name": "z"}
    sets = 'Executable = "true"; argument_sets = {{"a"}, {"b", "c"}};'
    assert jdl.parse(sets) == TRUE | {"job_type": "parametric", "argument_sets": [["a"], ["b", "c"]]}


def test_the_page_names_every_word_of_dirac():
    names = {*dirac_names.DIRAC_NAMES, *dirac_names.PASSED_OVER, "Arguments", "Parameters", "Splitter", "JobType"}
    assert {each.lower() for each in names} | dirac_names.USELESS.keys() <= {
        each.lower() for each in re.findall(r"`(\w+)`", PAGE)
    }


def test_the_page_s_manifest_is_one():
    (manifest,) = re.findall(r"\n\n((?:    .*\n)*    JobName .*\n(?:    .*\n)*)", PAGE)
    request = jdl.parse(manifest)
    assert (request["splitter_parameters"], request["outputs"]) == (
        {"Parameters": 10, "ParameterStep": 0.5},
        ["*.root"],
    )
