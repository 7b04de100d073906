"""The splitters by files: what is expected was worked out by hand from their definitions."""

from tests.support.splitting_work import file, jobs, work

# Files


def test_file_based_may_put_so_many_jobs_into_a_group():
    made = jobs("FileBased", work(*map(file, "abcde")), files_per_job=1, jobs_per_group=2)
    assert [job.group for job in made] == [0, 0, 1, 1, 2]
