"""Odd names of files: each reaches the payload as it is, or people are told why it does not."""

from __future__ import annotations

import json
import os

import pytest

from jim.reading.tasks import effects as task_effects
from jim.reading.tasks import waits as task_waits
from jim.reading.view import View
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from tests.unit.tasks.ground import SH, a_list

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
    return [each.reason for each in ground.store.pieces.failed(ground.task().id)]


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
    assert [each.waits for each in ground.store.pools.sources(ground.task().id)] == [""]
    (place / "END.all").write_text(content)
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert ground.items() == {str(place / "a"): "completed"}


def test_names_with_line_ends_in_lists_prove_nothing(ground):
    lines = ground.place / "names.txt"
    lines.write_text("/d/a\n" + json.dumps({"lfn": "/d/b\n"}) + "\nclosed\n")
    ground.start(WATCHES.split("source =")[0] + f'source = [ {{ list = "{lines}", every_seconds = 5 }} ]\n')
    ground.go(5, 5.0)
    (source,) = ground.store.pools.sources(ground.task().id)
    assert (ground.items(), source.closed) == ({}, "")
    assert source.reason


def explained(ground):
    view = View(ground.site, ground.store, ground.clock)
    return {each.what: each.next for each in task_waits.waits(view, ground.task())}


@pytest.mark.parametrize("many", [1, 8])
def test_names_that_cannot_be_printed_are_told_also_once_the_task_is_finished(ground, place, many):
    names = [b"z\xff%d" % n for n in range(many)]
    for name in (b"a", *names):
        (place / os.fsdecode(name)).write_text("x")
    ground.start(WATCHES)
    (place / "END.all").touch()
    ground.until(lambda: ground.store.pools.sources(ground.task().id)[0].closed, 5.0)
    soon = explained(ground)
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    more = ", and 7 other files like it" if many == 8 else ""
    what = f"file {place}/z\\udcff0 was not taken: its name has characters that cannot be printed{more}"
    them = "them" if many == 8 else "it"
    assert explained(ground)[what] == soon[what] == f"rename {them}, then say `jim task reopen t`"
    for n, name in enumerate(names):
        (place / os.fsdecode(name)).rename(place / f"b{n}")
    ground.ask("reopen")
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert ground.done() == {str(place / name): 1 for name in ("a", *(f"b{n}" for n in range(many)))}
    assert list(explained(ground)) == ["task t is finished, completed"]


@pytest.mark.parametrize(
    ("resting", "odd", "words"),
    [
        (0, 0, ""),
        (0, 1, "; 1 file is not taken, as its name cannot be printed: rename it, then `jim task reopen t` takes it"),
        (
            6,
            2,
            (
                "; 6 files have not come to rest, and are left out; `jim task reopen t` takes them; 2 files are not "
                "taken, as their names cannot be printed: rename them, then `jim task reopen t` takes them"
            ),
        ),
    ],
)
def test_closing_tells_of_names_that_cannot_be_printed(ground, place, resting, odd, words):
    for name in (*(b"a%d" % n for n in range(resting)), *(b"z%d\n" % n for n in range(odd))):
        (place / os.fsdecode(name)).write_text("x")
    ground.start(WATCHES.replace("stable_seconds = 0", "stable_seconds = 60"))
    ground.go(2, 5.0)
    view = View(ground.site, ground.store, ground.clock)
    told = task_effects.effect(view, TaskVerb.CLOSE, ground.task(), {}).words
    assert told == f"is closed; 0 items waited, and are planned{words}"


def test_names_that_take_too_much_of_a_request_fail_their_pieces_alone(ground):
    """A failed piece needs neither its whole name nor its variables."""
    told = [
        "x" * 5_000_000,
        "é" * 600_000,
        "y" * 3_000_000,
        json.dumps({"lfn": "z", "variables": {"V": "v" * 4_000_000}}),
    ]
    ground.start(f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "{a_list(ground.place, *told, "good")}" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
        """)
    ground.until_state(TaskState.FINISHED, seconds=300.0)
    task = ground.task()
    too_large = "failed on creation: it takes more than 3,500,000 bytes in a request"
    too_long = "failed on creation: arguments: the text has {} characters; the limit is 32,768 bytes"
    told = [ground.store.pieces.one(task.id, p).reason for p in range(5)]
    assert told == ["", too_large, too_long.format("3,000,000"), too_large, too_large]
    assert ground.done()["good"] == 1


def test_pieces_with_long_variables_go_in_several_requests(ground):
    told = [json.dumps({"lfn": f"f{n}", "variables": {"V": str(n) * 1_000_000}}) for n in range(6)]
    ground.start(f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "{a_list(ground.place, *told)}" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
        """)
    ground.until_state(TaskState.FINISHED, seconds=300.0)
    assert ground.task().outcome == "completed"
