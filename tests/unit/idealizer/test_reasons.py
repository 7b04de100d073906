"""Errors as reasons."""

from __future__ import annotations

import pytest

from jim.errors import BatchError, Full, JimError, NotStarted, Refused, Unclear
from jim.idealizer.reasons import reason_of
from jim.model import Kind, Reason

# What batch commands and accounting say


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (BatchError("x"), Kind.NOT_NOW),
        (Unclear("x"), Kind.UNCLEAR),
        (Unclear("x", Kind.NO_ANSWER), Kind.NO_ANSWER),
        (NotStarted("x"), Kind.NOT_STARTED),
        (Full("x"), Kind.TOO_MANY),
        (Refused("x"), Kind.REFUSED),
        (JimError("x"), Kind.UNKNOWN),
        (OSError("x"), Kind.UNKNOWN),
    ],
)
def test_the_kind_of_an_error(error, kind) -> None:
    assert reason_of(error) == Reason(kind, {}, "x")
