"""Reading an answer of the batch system, whatever an adapter makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jim.errors import BatchError, JimError, Unclear
from jim.model import STUMBLES, Answer
from jim.plugins import foreign

Read = TypeVar("Read")


def read(parse: Callable[[Answer], Read], answer: Answer) -> Read:
    """Let an adapter read an answer; where it stumbles, nothing is known, and the keeper goes on with all else."""
    try:
        with foreign(STUMBLES):
            return parse(answer)
    except BatchError:
        raise
    except JimError as error:
        raise Unclear(f"{error}: {answer.facts()}") from error
