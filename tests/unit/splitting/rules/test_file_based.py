"""FileBased: expected values were worked out by hand from its definition."""

from tests.support.splitting_work import AB, COST, A, B, file, jobs, lumis, names, work

# Files


def test_file_based_cuts_by_name_at_each_place():
    files = [file(name, 10, locations=at) for name, at in (("c", A), ("a", A), ("b", A), ("d", AB))]
    made = jobs("FileBased", work(*files), files_per_job=2, performance=COST)
    assert names(made) == ["a b", "c", "d"]
    assert [job.estimates.time_s for job in made] == [40, 20, 20]
    assert [job.locations for job in made] == [A, A, AB]


def test_file_based_takes_the_first_by_name_of_all_places():
    files = [file(name, locations=at) for name, at in (("c", A), ("a", B), ("b", A))]
    assert names(jobs("FileBased", work(*files), total_files=2)) == ["b", "a"]


def test_file_based_does_not_sort_by_run():
    files = file("a", runs={1: [1]}), file("b", runs={2: [1]}), file("c", runs={1: [2]}), file("d", runs={1: [3]})
    assert names(jobs("FileBased", work(*files), respect_run_boundaries=True)) == ["a", "b", "c d"]


def test_file_based_with_a_lumi_mask():
    files = file("a", 40, {1: [1, 2, 3, 4]}), file("b", 10, {1: [9]}), file("c", 20, {1: [5, 6], 2: [1, 2]})
    made = jobs("FileBased", work(*files), runs=[1, 2], lumis=["3,6", "2,2"], performance=COST)
    assert names(made) == ["a c"]
    assert lumis(made) == ["1:3-4,5-6 2:2"]
    assert made[0].estimates.time_s == 2 * (2 * 10 + 3 * 5)
