"""A real batch system is frozen, killed or filled up while JIM uses it: nothing lost, nothing twice, no wrong end."""

from __future__ import annotations

import pytest

from tests.live.faults import FAULTS, PIECES, ROOM, Counts, do


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name, lab, make_site):
    fault = FAULTS[name]
    lab(fault.system, anew=True, **ROOM[fault.system] | fault.lab)
    site = make_site(fault.system, **fault.settings)
    assert do(fault, site) == Counts(PIECES, 0, 0, 0)
