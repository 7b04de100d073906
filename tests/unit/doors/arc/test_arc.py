"""The words of the door of ARC."""

import os

import pytest

from jim.doors.arc import DOOR
from jim.doors.contract import Told
from jim.doors.own_language import JOB
from jim.errors import BadRequest
from jim.model import Standing

ARC = DOOR("arc")


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        (Told(7, Standing.ACCEPTED, progress="not split yet"), "waiting\nnot split yet\n"),
        (Told(7, Standing.PENDING), "waiting\n\n"),
        (Told(7, Standing.ACTIVE, started=True, progress="1 of 3\nx"), "running\n1 of 3 x\n"),
        (Told(7, Standing.SUSPENDED, started=True), "suspended\n\n"),
        (Told(7, Standing.DONE, "", 0, started=True), "ended 0 done\n"),
        (Told(7, Standing.FAILED, "exit 9:\n\x1b[1m", 9), "ended 9 exit 9:  [1m\n"),
        (Told(7, Standing.CANCELLED, "cancelled", None), "ended 1 cancelled\n"),
        (Told(7, Standing.CANCELLED, "cancelled too late for one", 0), "ended 1 cancelled too late for one\n"),
    ],
)
def test_answers(told, answer):
    assert ARC.state(told).decode() == answer
    assert ARC.is_final(answer.encode()) is told.standing.final


def test_an_id_names_the_account_and_the_number():
    assert ARC.accepted(12) == f"{os.getuid()}.12\n".encode()


def test_clients_know_the_job_by_its_url():
    url = "https://ce.example.org/arex/VaON"
    assert ARC.contact({JOB: {"env_0": "A=1", "env_1": f"GRID_GLOBAL_JOBURL={url}"}}) == url
    assert ARC.contact({JOB: {}}) == ""


def test_the_number_of_a_job_needs_its_file():
    with pytest.raises(BadRequest, match="usage: number FILE"):
        ARC.do("number", [], None)
