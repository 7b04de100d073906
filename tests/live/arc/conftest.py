"""An ARC CE with this JIM behind it."""

from __future__ import annotations

import pytest

from tests.live.arc.computing_element import ComputingElement


@pytest.fixture(scope="package")
def ce(lab, installed):
    lab("arc")
    place, environment = installed
    ce = ComputingElement(place, environment["JIM_PYTHON"])
    yield ce
    ce.close()
