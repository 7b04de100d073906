"""EvenFiles: so many jobs with about equal numbers of files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jim.splitting.errors import InvalidParameter, SplitterConfiguration
from tests.support.splitting_work import file, jobs, names, work


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, ["c a b e d"]),
        (2, ["c a b", "e d"]),
        (3, ["c a", "b e", "d"]),
        (5, ["c", "a", "b", "e", "d"]),
        (9, ["c", "a", "b", "e", "d"]),
    ],
)
def test_files_keep_their_order_and_the_first_jobs_have_what_is_left_over(count, expected):
    assert names(jobs("EvenFiles", work(*map(file, "cabed")), jobs=count)) == expected


def test_no_files_and_no_jobs_are_refused():
    with pytest.raises(SplitterConfiguration, match="there are no files to split"):
        jobs("EvenFiles", work())
    with pytest.raises(InvalidParameter, match="jobs"):
        jobs("EvenFiles", work(file("a")), jobs=0)


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 60), st.integers(1, 70))
def test_every_file_is_in_one_job_and_sizes_differ_by_one_at_most(files, count):
    made = jobs("EvenFiles", work(*(file(f"f{n:02}") for n in range(files))), jobs=count)
    sizes = [len(job.files) for job in made]
    assert (sum(sizes), len(sizes)) == (files, min(files, count))
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)
