"""Lumis as ranges."""

from hypothesis import given, settings
from hypothesis import strategies as st

from jim.splitting.lumi_ranges import LumiMask, joined, ranges_of
from tests.unit.splitting.any_files import LUMI_SPLITTERS, closed, files, jobs, lumis_of


def holds(*strategies):
    """Try a property with many values; the machine may be as slow as it is."""
    return lambda test: settings(derandomize=True, deadline=None, max_examples=20)(given(*strategies)(test))


# Taking apart and putting together


@holds(files(), LUMI_SPLITTERS)
def test_masks_put_together_are_the_lumis_of_the_files(those, splitter):
    ranges = {}
    for job in jobs(splitter[0], closed(those), **splitter[1]):
        for run, part in job.mask.run_lumis.items():
            ranges.setdefault(run, []).extend(part)
    runs = {}
    for run, lumi in lumis_of(those):
        runs.setdefault(run, []).append(lumi)
    assert LumiMask(ranges).ranges == {run: ranges_of(sorted(lumis)) for run, lumis in runs.items()}


@holds(st.frozensets(st.integers(0, 30)))
def test_ranges_of_lumis_and_back(lumis):
    ranges = ranges_of(sorted(lumis))
    assert [n for a, b in ranges for n in range(a, b + 1)] == sorted(lumis)
    assert joined(reversed(ranges)) == joined([(n, n) for n in lumis]) == ranges
    assert list(LumiMask({1: ranges}).within(1, range(31))) == sorted(lumis)
