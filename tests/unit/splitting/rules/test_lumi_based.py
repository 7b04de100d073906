"""LumiBased: expected values were worked out by hand from its definition."""

from tests.support.splitting_work import B, file, jobs, lumis, names, work

# LumiBased


def test_lumi_based_fills_jobs_over_files_and_runs_when_nothing_else_is_said():
    files = file("f", runs={1: [1, 2, 3]}), file("g", runs={1: [5], 2: [1]})
    assert lumis(jobs("LumiBased", work(*files), lumis_per_job=2)) == ["1:1-2", "1:3,5", "2:1"]
    assert lumis(jobs("LumiBased", work(*files), lumis_per_job=2, splitOnRun=False)) == ["1:1-2", "1:3,5", "2:1"]
    assert lumis(jobs("LumiBased", work(*files), lumis_per_job=3, splitOnRun=False)) == ["1:1-3", "1:5 2:1"]
    halting = jobs("LumiBased", work(*files), lumis_per_job=2, halt_job_on_file_boundaries=True)
    assert lumis(halting) == ["1:1-2", "1:3", "1:5", "2:1"]


def test_lumi_based_does_not_join_ranges_of_two_files():
    made = jobs("LumiBased", work(file("f", runs={1: [1, 2]}), file("g", runs={1: [3, 4]})), lumis_per_job=9)
    assert made[0].mask.to_record() == {"run_lumis": {"1": [[1, 2], [3, 4]]}}
    assert names(made) == ["f g"]


def test_lumi_based_sorts_files_by_their_lowest_run_and_its_lumis():
    files = file("a", runs={2: [1]}), file("b", runs={1: [5]}), file("c", runs={1: [2]})
    assert names(jobs("LumiBased", work(*files))) == ["c", "b", "a"]


def test_lumi_based_counts_the_total_over_all_locations():
    files = file("f", runs={1: [1, 2]}), file("g", runs={1: [3, 4]}, locations=B)
    assert lumis(jobs("LumiBased", work(*files), total_lumis=3)) == ["1:1", "1:2", "1:3"]


def test_lumi_based_skips_the_pileup_by_the_average_of_the_last_file():
    files = file("f", 30, {1: [1, 2, 3]}), file("g", 40, {2: [1, 2]})
    made = jobs("LumiBased", work(*files, jobs_before=2), lumis_per_job=2, deterministicPileup=True)
    assert [job.baggage["skipPileupEvents"] for job in made] == [2 * 2 * 20, 3 * 2 * 20, 4 * 2 * 20]
