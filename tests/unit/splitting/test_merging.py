"""The splitters that merge: what is expected was worked out by hand from their definitions."""

import pytest

from tests.support.splitting_work import jobs, work
from tests.unit.splitting.merges import merge_outputs, parentless, sized


def test_merging_collects_in_order_up_to_the_maximum():
    files = sized("c", 40, 3), sized("a", 30, 1), sized("b", 30, 2), sized("d", 51, 4)
    assert parentless(*files) == ["a b c", "d"]


def test_merging_wants_more_than_the_minimum():
    assert parentless(sized("a", 50)) == []
    assert parentless(sized("a", 51)) == ["a"]


@pytest.mark.parametrize(
    ("is_open", "injected", "expected"),
    [(True, True, []), (False, True, ["a"]), (False, False, []), (True, False, [])],
)
def test_merging_is_forced_once_nothing_more_can_come(is_open, injected, expected):
    assert parentless(sized("a", 50), is_open=is_open, injected=injected) == expected


def test_what_is_too_large_is_merged_alone_and_leaves_the_others_be():
    files = sized("a", 30, 1), sized("b", 101, 2), sized("c", 30, 3), sized("d", 1, 4, events=1001)
    assert parentless(*files) == ["b", "d", "a c"]


def test_a_file_that_does_not_fit_is_passed_over_while_there_is_too_little():
    assert parentless(sized("a", 40, 1), sized("b", 70, 2), sized("c", 20, 3)) == ["a c"]
    forced = parentless(sized("a", 40, 1), sized("b", 70, 2), sized("c", 20, 3), is_open=False)
    assert forced == ["a", "b c"]


def test_a_file_that_has_waited_long_enough_sends_off_what_is_before_it_and_itself():
    files = sized("a", 40, 1), sized("b", 70, 2, age_s=11), sized("c", 40, 3)
    assert parentless(*files, max_wait_time=10) == ["a", "b", "c"]
    assert parentless(sized("a", 40, 1, age_s=10), max_wait_time=10) == []


def test_a_merge_takes_time_and_disk_for_reading_and_writing():
    (job,) = jobs("ParentlessMergeBySize", work(sized("a", 2048), sized("b", 3072)))
    assert job.estimates == (pytest.approx(300 + 4 * 5120 / 5e6), (5120 + 3072) / 1024, None)


def test_files_of_a_unit_are_in_the_order_of_their_events():
    files = [sized(name, 20, parents=("p",), first_event=n) for n, name in ((9, "a"), (5, "b"), (7, "c"))]
    made, _ = merge_outputs(files, [("1", "p", "success")])
    assert made == ["b c a"]


def test_the_file_found_first_says_where_its_unit_comes():
    late = sized("a", 20, lumi=9, parents=("p",), first_event=50), sized("b", 20, lumi=1, parents=("p",), first_event=0)
    made, _ = merge_outputs([*late, sized("c", 20, lumi=5, parents=("q",))], [("1", "p q", "success")])
    assert made == ["c b a"]
