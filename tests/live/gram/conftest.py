"""A gatekeeper with this JIM behind it."""

from __future__ import annotations

import pytest

from tests.live.gram.gatekeeper import Gatekeeper


@pytest.fixture(scope="package")
def gate(lab, installed):
    lab("gram")
    place, environment = installed
    gate = Gatekeeper(place, environment["JIM_PYTHON"])
    yield gate
    gate.close()


@pytest.fixture
def told(gate):
    """Let the account's keeper tell how jobs are, instead of being asked."""
    gate.let_tell()
    yield gate
    gate.let_poll()
