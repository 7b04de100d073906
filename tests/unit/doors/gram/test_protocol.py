"""The lines and numbers of the GRAM protocol."""

from __future__ import annotations

import pytest

from jim.doors.gram import protocol
from jim.errors import BadRequest, BatchError, JimError, UnknownJob


def test_answers_are_lines_with_an_empty_one_behind():
    assert protocol.job(12) == b"GRAM_SCRIPT_JOB_ID:12\nGRAM_SCRIPT_JOB_STATE:32\n\n"
    assert protocol.state(protocol.ACTIVE) == b"GRAM_SCRIPT_JOB_STATE:2\n\n"


def test_no_text_of_a_reason_can_add_a_line_to_an_answer():
    answer = protocol.failure("bad\nGRAM_SCRIPT_JOB_STATE:8\x00  thing " + "x" * 3000, protocol.BAD_REQUEST)
    first, second, *rest = answer.split(b"\n")
    assert first.startswith(b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:bad GRAM_SCRIPT_JOB_STATE:8 thing xxx")
    assert len(first) == len(b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:") + 2000
    assert (second, rest) == (b"GRAM_SCRIPT_ERROR:48", [b"", b""])


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (protocol.state(protocol.DONE), protocol.DONE),
        (protocol.state(protocol.ACTIVE), None),
        (protocol.failure("x", protocol.EXECUTION_FAILED), protocol.FAILED),
        (b"", None),
    ],
)
def test_only_a_job_that_has_ended_has_a_final_state(answer, state):
    assert protocol.final_state(answer) == state


@pytest.mark.parametrize(
    ("verb", "error", "number"),
    [
        ("submit", BadRequest("x"), 48),
        ("cancel", BadRequest("x"), 48),
        ("cancel", UnknownJob("x"), 156),
        ("cancel", JimError("x"), 31),
        ("submit", BatchError("x"), 3),
    ],
)
def test_each_failure_has_gram_s_number_for_it(verb, error, number):
    assert protocol.number_of(verb, error) == number
