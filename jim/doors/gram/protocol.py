"""The lines and numbers of GRAM, which every door speaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.errors import BadRequest, UnknownJob

# States of a job. GRAM has none for a cancelled one: it calls that failed, so a cancel that was taken answers FAILED.
PENDING, ACTIVE, FAILED, DONE, SUSPENDED, UNSUBMITTED = 1, 2, 4, 8, 16, 32
# Errors.
NO_RESOURCES, USER_CANCELLED, EXECUTION_FAILED, CANCEL_FAILED, BAD_REQUEST, STAGE_OUT, JOB_NOT_FOUND = (
    3,
    8,
    17,
    31,
    48,
    155,
    156,
)


def job(number: int) -> bytes:
    """Write the answer to a submission."""
    return f"GRAM_SCRIPT_JOB_ID:{number}\nGRAM_SCRIPT_JOB_STATE:{UNSUBMITTED}\n\n".encode()


def state(number: int) -> bytes:
    """Write the answer that tells a state."""
    return f"GRAM_SCRIPT_JOB_STATE:{number}\n\n".encode()


def failure(message: str, number: int) -> bytes:
    """Write the answer of a failure: its reason before its number, on one line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())[:2000]
    return f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{line}\nGRAM_SCRIPT_ERROR:{number}\n\n".encode()


def is_failure(answer: bytes, number: int) -> bool:
    """Tell whether this is the answer of a failure of this number."""
    return answer.endswith(b"\nGRAM_SCRIPT_ERROR:%d\n\n" % number)


def is_description(attributes: Mapping[str, Any]) -> bool:
    """Tell whether this is a job's description, as GRAM's scripts have it, rather than a request."""
    return "uniqid" in attributes


def final_state(answer: bytes) -> int | None:
    """Read the state of a job that has ended from what a poll prints; nothing, if it has not."""
    if b"GRAM_SCRIPT_ERROR:" in answer:
        return FAILED
    return DONE if answer == state(DONE) else None


def number_of(verb: str, error: BaseException) -> int:
    """Choose the number of a door's failure."""
    if isinstance(error, UnknownJob):
        return JOB_NOT_FOUND
    if isinstance(error, BadRequest):
        return BAD_REQUEST
    return CANCEL_FAILED if verb == "cancel" else NO_RESOURCES
