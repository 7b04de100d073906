"""SiblingProcessingBased: expected values were worked out by hand from its definition."""

from jim.splitting.files_and_jobs import Settled, SplitJob
from jim.splitting.registry import split
from jim.splitting.subscription import Sibling
from tests.support.splitting_work import file, names, work

# Siblings


def siblings(is_open, *done, **params):
    told = tuple(Sibling(frozenset(complete), frozenset(failed)) for complete, failed in done)
    stream = list(split("SiblingProcessingBased", params, work(*map(file, "cabd"), open=is_open, siblings=told)))
    settled = [(each.state, [one.lfn for one in each.files]) for each in stream if isinstance(each, Settled)]
    return names(each for each in stream if isinstance(each, SplitJob)), settled


def test_a_file_is_ready_once_every_sibling_has_completed_it():
    assert siblings(True, ("ab", ""), ("bc", "a"), files_per_job=1) == (["b"], [])
    assert siblings(True, files_per_job=2) == (["a b", "c d"], [])
    assert siblings(True, ("abc", ""), files_per_job=2) == (["a b"], [])


def test_what_a_sibling_has_failed_is_completed_without_a_job_in_the_end():
    assert siblings(False, ("abc", "d"), ("ac", "b"), files_per_job=2) == (["a c"], [("completed", ["b", "d"])])
    assert siblings(False, ("abc", ""), files_per_job=2) == (["a b", "c"], [])
