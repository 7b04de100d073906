"""Requests for pieces of a request."""

from jim.model import Piece
from jim.request import check as checked
from jim.work.followup_requests import copied, recovering, smaller

FILES = [{"lfn": "/a/1", "runs": {"1": [1, 2, 3]}}, {"lfn": "/a/2", "runs": {"1": [4, 5]}}]
ASKED = {
    "job_type": "executable",
    "executable": "/bin/echo",
    "key": "mine",
    "arguments": ["$InputFiles"],
    "splitter": "LumiBased",
    "splitter_parameters": {"lumis_per_job": 2},
    "input_files": FILES,
}
UNDONE = Piece(arguments=("/a/2",), files=("/a/2",), mask={"run_lumis": {"1": [[4, 5]]}})


def test_what_is_undone_has_only_its_files_and_no_key():
    _, request = checked(ASKED)
    again = recovering(request, [UNDONE])
    assert [each["lfn"] for each in again["input_files"]] == ["/a/2"]
    assert "key" not in again
    assert len(again["recovery"]["documents"]) == 1
    assert checked(again)[1]["splitter"] == "LumiBased"


def test_smaller_pieces_have_other_parameters():
    _, request = checked(ASKED)
    assert smaller(request, UNDONE, {"lumis_per_job": 1})["splitter_parameters"] == {"lumis_per_job": 1}


def test_one_piece_alone_is_a_request_without_a_splitter():
    _, request = checked(ASKED)
    alone = copied(request, UNDONE)
    assert (alone["arguments"], "splitter" in alone, "input_files" in alone) == (["/a/2"], False, False)
    checked(alone)
