"""A real batch system is frozen, killed or filled up while JIM uses it: nothing lost, nothing twice, no wrong end."""

from __future__ import annotations

import pytest

from tests.live.faults import FAULTS, PIECES, Counts, Fault, do
from tests.live.site import ROOM

# These leave their lab as they found it; any other is given a lab of its own.
QUICK = ("frozen at submit", "lying", "keeper killed", "qmaster keeper killed")
QUICK_OF_CARRIERS = ("keeper killed",)


def marked(quick: tuple[str, ...]) -> list[object]:
    return [pytest.param(each, marks=() if each in quick else pytest.mark.long) for each in FAULTS]


@pytest.mark.parametrize("name", marked(QUICK))
def test_a_fault(name, lab, make_site):
    suffer(FAULTS[name], name in QUICK, lab, make_site)


@pytest.mark.parametrize("name", marked(QUICK_OF_CARRIERS))
def test_a_fault_of_carriers(name, lab, make_site):
    suffer(FAULTS[name].bundled(), name in QUICK, lab, make_site)


def suffer(fault: Fault, quick: bool, lab, make_site) -> None:
    lab(fault.system, anew=not quick, **ROOM[fault.system] | fault.lab)
    site = make_site(fault.system, **fault.settings)
    assert do(fault, site) == Counts(PIECES, 0, 0, 0, 0)
