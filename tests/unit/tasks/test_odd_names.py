"""Odd names of files: each reaches the payload as it is, or people are told why it does not."""

from __future__ import annotations

import json

import pytest

from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import SH

ODD = ["a b", " a", "it's", '"q"', "ü€𝄞", "$HOME", "a;b|c&d", "-n", "\\n", "%s", "#1", "a\u00a0b", "*", "[x]"]
WATCHES = f"""
[[task]]
name = "t"
{SH}
source = [ {{ directory = "in", stable_seconds = 0, every_seconds = 5, closed_by = "END.*" }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = 3 }} }}
"""


@pytest.fixture
def place(ground):
    place = ground.place / "in"
    place.mkdir()
    return place


def reasons(ground):
    return [each.reason for each in ground.store.failed_pieces(ground.task().id)]


def test_odd_names_reach_the_payload_as_they_are(ground, place):
    able = [each for each in ODD if each.isprintable()]
    for name in able:
        (place / name).write_text("x")
    ground.start(WATCHES)
    (place / "END.all").touch()
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert ground.done() == {str(place / name): 1 for name in able}


def test_several_files_of_which_one_has_a_comma_are_told_and_done_one_by_one(ground, place):
    for name in ("a", "b,c", "d"):
        (place / name).write_text("x")
    ground.start(WATCHES)
    (place / "END.all").touch()
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert (ground.diary, ground.task().outcome) == ([], "with failures")
    assert reasons(ground) == [
        (
            f"failed on creation: $InputFiles parts names by commas, and '{place}/b,c' has a comma: rename the file, "
            "or let each piece have one file (FileBased: files_per_job=1, SizeBased: size_per_job=1)"
        )
    ]
    ground.ask("recover", parameters={"files_per_job": 1})
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert sorted(ground.diary) == [(str(place / name),) for name in ("a", "b,c", "d")]
    assert ground.task().outcome == "completed"


def test_commas_do_no_harm_where_no_list_of_names_is_asked_for(ground, place):
    for name in ("a", "b,c", "d"):
        (place / name).write_text("x")
    ground.start(WATCHES.replace("$InputFiles", "piece $Piece"))
    (place / "END.all").touch()
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert ground.diary == [("piece 0000000",)]


@pytest.mark.parametrize("content", ["", "done"])
def test_a_file_that_closes_is_no_item_whatever_it_holds(ground, place, content):
    (place / "a").write_text("x")
    ground.start(WATCHES)
    (place / "END.none").write_text(content)
    ground.go(4, 5.0)
    assert [each.waits for each in ground.store.sources(ground.task().id)] == [""]
    (place / "END.all").write_text(content)
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert ground.items() == {str(place / "a"): "completed"}


def test_names_with_line_ends_in_lists_prove_nothing(ground):
    lines = ground.place / "names.txt"
    lines.write_text("/d/a\n" + json.dumps({"lfn": "/d/b\n"}) + "\nclosed\n")
    ground.start(WATCHES.split("source =")[0] + f'source = [ {{ list = "{lines}", every_seconds = 5 }} ]\n')
    ground.go(5, 5.0)
    (source,) = ground.store.sources(ground.task().id)
    assert (ground.items(), source.closed) == ({}, "")
    assert source.reason
