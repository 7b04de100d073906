"""The door of Globus GRAM, as the keeper and the other doors see it."""

from __future__ import annotations

import pytest

from jim.doors.contract import Told
from jim.doors.gram import DOOR, protocol
from jim.errors import BadRequest
from jim.model import Standing


@pytest.mark.parametrize(
    ("standing", "answer"),
    [
        (Standing.ACCEPTED, protocol.state(protocol.UNSUBMITTED)),
        (Standing.PENDING, protocol.state(protocol.PENDING)),
        (Standing.ACTIVE, protocol.state(protocol.ACTIVE)),
        (Standing.SUSPENDED, protocol.state(protocol.SUSPENDED)),
        (Standing.DONE, protocol.state(protocol.DONE)),
    ],
)
def test_a_poll_prints_gram_s_state(standing, answer):
    assert DOOR("gram").state(Told(7, standing)) == answer


def test_a_failed_grid_job_answers_with_its_reason_and_is_final():
    answer = DOOR("gram").state(Told(7, Standing.FAILED, "3 of 4 local jobs failed"))
    assert b"3 of 4 local jobs failed" in answer
    assert (DOOR("gram").is_final(answer), DOOR("gram").is_final(b""), DOOR("gram").is_final(b"jim: garbage")) == (
        True,
        False,
        False,
    )


def test_a_cancel_of_a_job_that_had_ended_answers_how_it_ended():
    assert DOOR("gram").cancelled(protocol.state(protocol.DONE)) == protocol.state(protocol.DONE)
    assert DOOR("gram").cancelled(protocol.state(protocol.ACTIVE)) == protocol.state(protocol.FAILED)


def test_a_refusal_carries_the_number_of_a_bad_request():
    assert (
        DOOR("gram").refused("submit", "cores: no", BadRequest("no", "cores")).endswith(b"\nGRAM_SCRIPT_ERROR:48\n\n")
    )
