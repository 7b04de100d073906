"""A sample of many cases for `make test`; all of them for `make torture`."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], few: int = 1) -> list[Any]:
    """Return the cases of a parameter: the first few always, and the others for `make torture`."""
    every = list(cases)
    values = [each if isinstance(each, tuple) else (each,) for each in every[few:]]
    return [*every[:few], *(pytest.param(*each, marks=pytest.mark.torture) for each in values)]
