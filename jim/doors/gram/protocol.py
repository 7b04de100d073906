"""The lines and numbers of the GRAM protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.errors import BadRequest, UnknownJob

# States of a job. GRAM has no state for cancelled jobs and calls them failed, so a cancel answers FAILED.
PENDING, ACTIVE, FAILED, DONE, SUSPENDED, UNSUBMITTED = 1, 2, 4, 8, 16, 32
# Error numbers.
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
    """Return the answer to a submission."""
    return f"GRAM_SCRIPT_JOB_ID:{number}\nGRAM_SCRIPT_JOB_STATE:{UNSUBMITTED}\n\n".encode()


def state(number: int) -> bytes:
    """Return the answer with a state."""
    return f"GRAM_SCRIPT_JOB_STATE:{number}\n\n".encode()


def failure(message: str, number: int) -> bytes:
    """Return the answer of a failure: reason, then number, on one line."""
    printable = message if message.isprintable() else "".join(c if c.isprintable() else " " for c in message)
    line = " ".join(printable.split())[:2000]
    return f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{line}\nGRAM_SCRIPT_ERROR:{number}\n\n".encode()


def is_failure(answer: bytes, number: int) -> bool:
    """Tell whether this is the answer of a failure with this number."""
    return answer.endswith(b"\nGRAM_SCRIPT_ERROR:%d\n\n" % number)


def is_description(attributes: Mapping[str, Any]) -> bool:
    """Tell whether this is a job description of GRAM's scripts, not a plain request."""
    return "uniqid" in attributes


def final_state(answer: bytes) -> int | None:
    """Return the final state that a poll answer shows; None if the job has not ended."""
    if b"GRAM_SCRIPT_ERROR:" in answer:
        return FAILED
    return DONE if answer == state(DONE) else None


def number_of(verb: str, error: BaseException) -> int:
    """Choose the error number for a failure."""
    if isinstance(error, UnknownJob):
        return JOB_NOT_FOUND
    if isinstance(error, BadRequest):
        return BAD_REQUEST
    return CANCEL_FAILED if verb == "cancel" else NO_RESOURCES
