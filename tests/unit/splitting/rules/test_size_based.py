"""SizeBased: expected values were worked out by hand from its definition."""

from tests.support.splitting_work import file, jobs, names, work

# Files


def test_size_based_fills_in_the_order_of_availability():
    files = [file(name, size=size) for name, size in (("c", 6), ("a", 4), ("b", 11), ("d", 1), ("e", 9), ("f", 1))]
    assert names(jobs("SizeBased", work(*files), size_per_job=10)) == ["c a", "b", "d e", "f"]
    assert jobs("SizeBased", work(), trustSitelists=True, siteWhitelist=["a1"]) == []
