"""A real batch system is frozen, killed or filled up while JIM uses it: nothing lost, nothing twice, no wrong end."""

from __future__ import annotations

import pytest

from tests.live.faults import FAULTS, PIECES, Counts, do
from tests.live.site import ROOM

# These leave their lab as they found it; any other is given a lab of its own.
QUICK = ("frozen at submit", "lying", "keeper killed", "qmaster keeper killed")


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in QUICK else pytest.mark.long) for each in FAULTS]
)
def test_a_fault(name, lab, make_site):
    fault = FAULTS[name]
    lab(fault.system, anew=name not in QUICK, **ROOM[fault.system] | fault.lab)
    site = make_site(fault.system, **fault.settings)
    assert do(fault, site) == Counts(PIECES, 0, 0, 0, 0)
