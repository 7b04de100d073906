"""jim recover."""

from __future__ import annotations

import json

import pytest

from jim.model import Piece, State, Step

FILES = [{"lfn": "/a"}, {"lfn": "/b"}]


@pytest.fixture
def split(home):
    """Grid job 1, of two local jobs with a file each."""
    request = {"splitter": "FileBased", "input_files": FILES, "splitter_parameters": {"files_per_job": 1}}
    home.add(size=0, **request)
    home.store.set_grid_job(1, step=Step.RESOLVED)
    home.store.add_pieces(1, 0, [Piece(files=("/a",)), Piece(files=("/b",))])
    home.store.end_split(1, 2)
    home.move(0, State.COMPLETED)
    home.move(1, State.FAILED)
    return home


def test_the_files_of_failed_local_jobs_make_a_new_request(split):
    split.finish("failed")
    written = json.loads(split.out("recover", "1"))
    assert written["input_files"] == [{"lfn": "/b"}]
    assert [list(each["files"]) for each in written["recovery"]["documents"]] == [["/b"]]
    assert "key" not in written


def test_a_grid_job_that_is_not_finished_is_asked_again_later(split):
    assert split.run("recover", "1") == (6, "", "jim: 1 is not finished; `jim recover` works once it is\n")


def test_a_grid_job_without_work_left_has_nothing_to_recover(split):
    split.move(1, State.COMPLETED)
    split.finish()
    assert split.run("recover", "1") == (2, "", "jim: 1 has completed all its work\n")
