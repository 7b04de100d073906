"""The corpus of splitting cases, and what runs it."""

import json

import pytest

from tests.corpus import run

VERDICTS = run.run(run.HERE / "splitting")


@pytest.mark.parametrize("file", sorted({each.file for each in VERDICTS}))
def test_every_required_case_is_as_expected(file):
    failed = [
        f"{one.name}: {one.difference}" for one in VERDICTS if one.file == file and one.required and one.difference
    ]
    assert failed == []


def test_no_case_is_lost():
    assert len(VERDICTS) == 242
    assert len({(each.file, each.name) for each in VERDICTS}) == 242


ZERO = {"time_s": 0, "disk_kb": 0, "memory_mb": 0}
CASE = {
    "name": "one",
    "splitter": "FileBased",
    "params": {"files_per_job": 1},
    "fileset": {"open": True, "injected": True},
    "storage_to_sites": {"SE": ["s"]},
    "files": [{"lfn": "a", "locations": ["SE"]}, {"lfn": "b", "locations": ["SE"]}],
    "compare": {"groups": "by-locations", "job_order": "exact", "file_order": "any", "float_rel_tol": 1e-9},
    "expected": {
        "groups": [
            {
                "locations": ["SE"],
                "jobs": [{"files": [lfn], "mask": {}, "estimates": ZERO, "sites": ["s"]} for lfn in "ab"],
            }
        ],
        "file_states_after": {"acquired": ["a", "b"]},
    },
}


def corpus(directory, *cases, schema=run.SCHEMA):
    (directory / "some.json").write_text(json.dumps({"schema": schema, "cases": cases}))
    return [str(directory)]


def test_a_corpus_that_is_as_expected(tmp_path, capsys):
    assert run.main(corpus(tmp_path, CASE, CASE | {"name": "two"})) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"params": {"files_per_job": 2}}, "number of jobs at"),
        ({"params": {"files_per_job": 0}}, 'error: expected null, got "invalid-parameter: files_per_job'),
        ({"splitter": "Nobody's"}, "unknown-splitter"),
        ({"fileset": {"open": 5}}, "fileset.open"),
        ({"expected_error": {"kind": "invalid-mask"}}, 'error: expected "invalid-mask", got "none"'),
        ({"calls": 2, "expected": CASE["expected"] | {"later_calls": [CASE["expected"]["groups"]]}}, "job groups at"),
        (
            {"expected": CASE["expected"] | {"file_states_after": {"acquired": ["a"], "available": ["b"]}}},
            "file states",
        ),
        ({"storage_to_sites": {}}, "jobs at"),
        ({"expected": {"groups": []}}, "job groups at"),
        ({"expected": {}}, "KeyError: 'groups'"),
        ({"fileset": None, "splitter": None, "kind": "of its own"}, "error"),
        ({"expected_error": None, "expected": {"groups": []}}, "job groups at"),
        ({"expected_error": "invalid-mask"}, "error"),
    ],
)
def test_a_case_that_is_not_as_expected(tmp_path, capsys, change, said):
    assert run.main(corpus(tmp_path, CASE, CASE | {"name": "odd"} | change)) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("FAILED some.json odd: ")
    assert said in first
    assert last == "1 passed, 1 failed"


def test_whose_turn_it_is_in_a_family_is_what_its_action_names_first(tmp_path):
    case = {
        "name": "resubmitted",
        "kind": "lifecycle",
        "action": "resubmit_subjob_while_master_running",
        "before": {"master": "running", "subjobs": ["failed", "running"]},
        "after": {"master": "submitted", "subjobs": ["submitted", "running"]},
    }
    assert run.main(corpus(tmp_path, case)) == 0


def test_a_family_that_nobody_takes_has_failed(tmp_path, capsys):
    assert run.main(corpus(tmp_path, {"name": "odd", "kind": "of its own"})) == 1
    assert "translator" in capsys.readouterr().out


def test_an_expected_error(tmp_path, capsys):
    case = CASE | {"params": {"files_per_job": 0}, "expected_error": {"kind": "invalid-parameter"}}
    del case["expected"]
    assert run.main(corpus(tmp_path, case)) == 0
    assert run.main(corpus(tmp_path, case | {"expected_error": {"kind": "invalid-mask"}})) == 1


@pytest.mark.parametrize("splitter", ["FileBased", "DIRAC.BySize"])
def test_files_that_are_null_are_no_refusal_by_the_splitter(tmp_path, capsys, splitter):
    case = CASE | {"splitter": splitter, "files": None, "expected_error": {"kind": "invalid-parameter"}}
    del case["expected"]
    assert run.main(corpus(tmp_path, case)) == 1
    assert "files is null" in capsys.readouterr().out


def lifecycle(action):
    family = {"master": "running", "subjobs": ["completed", "running"]}
    return {"name": action, "kind": "lifecycle", "action": action, "before": family, "after": family}


def test_an_action_that_the_translator_does_not_know_is_not_allowed(tmp_path, capsys):
    assert run.main(corpus(tmp_path, lifecycle("one_running"))) == 0
    assert run.main(corpus(tmp_path, lifecycle("promote_subjob"))) == 1
    assert "does not know the action" in capsys.readouterr().out


def test_informational_cases_never_fail(tmp_path, capsys):
    odd = CASE | {"name": "odd", "conformance": "informational", "params": {"files_per_job": 2}}
    same = CASE | {"name": "same", "conformance": "informational"}
    assert run.main(corpus(tmp_path, CASE, odd, same)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("differs some.json odd: ")
    assert lines[1:] == ["2 informational cases: 1 as the peer does it, 1 not", "1 passed, 0 failed"]


HEAD = '{"schema": "jim-splitting-corpus/1"'


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": "", "cases": []}', HEAD + "}", HEAD + ', "cases": [{}]}', None]
)
def test_a_directory_that_is_no_corpus(tmp_path, capsys, text):
    if text:
        (tmp_path / "some.json").write_text(text)
    assert run.main([str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert str(tmp_path / "some.json" if text else tmp_path) in said.err
