"""Requests in JDF."""

from __future__ import annotations

import pytest

from jim.request import jdf

TRUE = {"job_type": "executable", "executable": "true"}
J, R = "job_type = executable\nexecutable = true\n", "&(executable=true)"

SAID_IN_JDF = [
    ("", {}),
    ("\n# nothing\n\n", {}),
    ("arguments = a b  c\n", {"arguments": ["a", "b", "c"]}),
    ("arguments =\n", {"arguments": []}),
    ('arguments = "a b" c"d e"f "" """" "#"#1 x#y # z', {"arguments": ["a b", "cd ef", "", '"', "##1", "x#y"]}),
    ("arguments = it's $HOME `id` a=b \\n 'x'", {"arguments": ["it's", "$HOME", "`id`", "a=b", "\\n", "'x'"]}),
    ('arguments = a \\\n  b \\\r\n "c"\\\nd\n', {"arguments": ["a", "b", "c", "d"]}),
    ("arguments = a\r\nqueue = long\r\n", {"arguments": ["a"], "queue": "long"}),
    ("ARGUMENTS=a\nWallSeconds=60\n\tcores\t=\t2", {"arguments": ["a"], "wall_seconds": 60, "cores": 2}),
    ("key = request 13669, p14  # of D0", {"key": "request 13669, p14"}),
    ('key = "13 # 669"', {"key": "13 # 669"}),
    ("key = one \\\n two", {"key": "one two"}),
    ('environment = A=1 "B=x = y" C=', {"environment": {"A": "1", "B": "x = y", "C": ""}}),
    ("+notify_user = me and you\n+Empty =\n", {"environment": {"notify_user": "me and you", "Empty": ""}}),
    ('+A = "1"\nenvironment = a=2\n+AA = 3', {"environment": {"A": "1", "a": "2", "AA": "3"}}),
]


@pytest.mark.parametrize(("text", "means"), SAID_IN_JDF)
def test_values_in_jdf_mean_this(text, means):
    assert jdf.parse(J + text) == TRUE | means


def test_splitters_their_parameters_and_files_are_said_in_lines():
    text = (
        "splitter = FileBased\n"
        'splitter_parameters = files_per_job=2 respect_run_boundaries=true "siteWhitelist=[""A""]"\n'
        "input_files = /store/a /store/b \\\n /store/c\n"
    )
    assert jdf.parse(J + text) == TRUE | {
        "splitter": "FileBased",
        "splitter_parameters": {"files_per_job": 2, "respect_run_boundaries": True, "siteWhitelist": ["A"]},
        "input_files": ["/store/a", "/store/b", "/store/c"],
    }
    assert jdf.parse(J + "splitter = 5\n") == TRUE | {"splitter": "5"}
    records = 'splitter = FileBased\ninput_files = "[{""lfn"": ""/a"", ""events"": 3}]"\n'
    assert jdf.parse(J + records)["input_files"] == [{"lfn": "/a", "events": 3}]


def test_each_line_of_argument_sets_is_one_of_them():
    parametric = "job_type = parametric\nexecutable = true\n"
    text = 'argument_sets = -n 1\nargument_sets = "a b" 2\n# a third\nArgumentSets =\n'
    assert jdf.parse(parametric + text)["argument_sets"] == [["-n", "1"], ["a b", "2"], []]
    assert jdf.parse(parametric + 'argument_sets = "[[""1""], []]"')["argument_sets"] == [["1"], []]
