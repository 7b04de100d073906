"""FileBunches: bunches of files, and the events of each in ranges. Expected values were worked out by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import events_in
from jim.splitting.recovery import document_of, recovery_from
from tests.support.splitting_work import B, events, file, jobs, names, work
from tests.unit.splitting.any_files import SIZES, closed, files

THREE = [file("a", events=250), file("b", events=200), file("c", events=300)]


def bunches(**parameters):
    made = jobs("FileBunches", work(*THREE), **parameters)
    return list(zip(names(made), events(made), strict=True))


def test_events_of_a_bunch_are_cut_across_the_borders_of_its_files():
    assert bunches(file_bunch_size=2, event_bunch_size=200) == [
        ("a", (0, 199)),
        ("a b", (200, 399)),
        ("b", (150, 199)),
        ("c", (0, 199)),
        ("c", (200, 299)),
    ]
    assert bunches(file_bunch_size=9, event_bunch_size=750) == [("a b c", (0, 749))]
    assert bunches(event_bunch_size=250)[:2] == [("a", (0, 249)), ("b", (0, 199))]


def test_without_ranges_a_bunch_is_a_job():
    assert bunches(file_bunch_size=2) == [("a b", (None, None)), ("c", (None, None))]
    assert bunches() == [("a", (None, None)), ("b", (None, None)), ("c", (None, None))]


def test_events_count_on_from_the_first_one_of_the_first_file():
    made = jobs(
        "FileBunches", work(file("a", 10, first_event=100), file("b", 10)), file_bunch_size=2, event_bunch_size=8
    )
    assert list(zip(names(made), events(made), strict=True)) == [
        ("a", (100, 107)),
        ("a b", (108, 115)),
        ("b", (6, 9)),
    ]


def test_a_bunch_has_files_of_one_place_only():
    made = jobs("FileBunches", work(file("a"), file("b", locations=B), file("c")), file_bunch_size=3)
    assert names(made) == ["a c", "b"]


def test_ranges_need_numbers_of_events():
    with pytest.raises(SplitError, match="b: has no events, or their number is not given"):
        jobs("FileBunches", work(file("a"), file("b", 0)), file_bunch_size=2, event_bunch_size=50)


def every_event(made):
    parts = (zip(job.files, events_in(job.files, job.mask), strict=True) for job in made)
    return sorted((file.lfn, n) for job in parts for file, (first, count) in job for n in range(first, first + count))


@settings(derandomize=True, deadline=None)
@given(files(), st.integers(1, 4), SIZES)
def test_every_event_is_in_exactly_one_job_and_all_can_be_recovered(those, count, size):
    those = tuple(each for each in those if each.events)
    parameters = {"file_bunch_size": count, "event_bunch_size": size}
    made = jobs("FileBunches", closed(those), **parameters)
    wanted = sorted((file.lfn, n) for file in those for n in range(file.first_event, file.first_event + file.events))
    assert every_event(made) == wanted
    for job in made:
        parts = events_in(job.files, job.mask)
        assert all(number for _, number in parts), "it has only the files of its range"
        assert sum(number for _, number in parts) <= size
    recovery = recovery_from({"documents": [document_of(job) for job in made]})
    assert every_event(jobs("FileBunches", closed(those, recovery=recovery), **parameters)) == wanted
