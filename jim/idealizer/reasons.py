"""Turns a batch error into a reason; the words are those of the error."""

from __future__ import annotations

from typing import Any

from jim.errors import BatchError
from jim.model import Reason

LONGEST_SAID = 500


def reason_of(error: BaseException) -> Reason:
    """Return the reason of an error: for a batch command with its exit code and last words."""
    if not isinstance(error, BatchError):
        return Reason(words=str(error))
    facts: dict[str, Any] = {}
    if error.answer:
        facts = {"code": error.answer.code, "said": error.answer.said[:LONGEST_SAID]}
    return Reason(error.kind, facts, str(error))
