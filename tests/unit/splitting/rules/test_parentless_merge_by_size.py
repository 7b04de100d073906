"""ParentlessMergeBySize: expected values were worked out by hand from its definition."""

import pytest

from jim.splitting.subscription import Producer
from tests.support.splitting_work import AB, A, B, jobs, names, work
from tests.unit.splitting.merges import LIMITS, parentless, sized


def test_merging_within_runs_and_storages():
    files = sized("a", 60, 1), sized("b", 30, 2, run=2), sized("c", 30, 3, run=2), sized("d", 60, 1, locations=B)
    assert parentless(*files) == ["a b", "d"]
    assert parentless(*files, merge_across_runs=False) == ["a", "b c", "d"]


def test_a_file_at_two_storages_is_merged_once_where_the_others_are():
    subscription = work(sized("a", 30, locations=AB), sized("b", 30, locations=A))
    (job,) = jobs("ParentlessMergeBySize", subscription, **LIMITS)
    assert (names([job]), job.sites) == (["a b"], ("a1", "a2"))


@pytest.mark.parametrize("splitter", ["ParentlessMergeBySize", "WMBSMergeBySize", "SiblingProcessingBased"])
def test_files_of_two_storages_stay_apart_even_where_the_site_lists_are_trusted(splitter):
    files = [sized(name, 30, locations=at, parents=("p",)) for name, at in (("a", A), ("b", B))]
    subscription = work(*files, producers=(Producer("g", frozenset("p"), "success"),))
    made = jobs(splitter, subscription, trustSitelists=True, siteWhitelist=["z"])
    assert [(names([job]), job.sites) for job in made] == [(["a"], ("z",)), (["b"], ("z",))]
