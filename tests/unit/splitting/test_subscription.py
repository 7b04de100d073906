"""The input of a splitter."""

import pytest

from jim.splitting.errors import InvalidParameter
from jim.splitting.subscription import Producer, Sibling, Subscription
from tests.unit.splitting.refusals import refused

# Subscriptions


def test_a_subscription_in_full():
    record = {
        "files": [{"lfn": "a"}],
        "fileset": {"open": False, "injected": False},
        "subscription_type": "Production",
        "storage_to_sites": {"A": ["s"]},
        "siblings": [{}, {"complete": ["a"], "failed": ["b"]}],
        "producer_jobs": [{"group": "1", "inputs": ["p"], "outcome": "success"}],
        "acdc": {"documents": []},
        "jobs_before": 2,
    }
    read = Subscription.from_record(record)
    assert (read.open, read.injected, read.production, read.jobs_before) == (False, False, True, 2)
    assert read.siblings == (Sibling(), Sibling(frozenset("a"), frozenset("b")))
    assert read.producers == (Producer("1", frozenset("p"), "success"),)
    assert read.recovery.entries == {}
    assert Subscription.from_record({"files": []}) == Subscription(())


@pytest.mark.parametrize(
    ("record", "key"),
    [
        ({}, "subscription.files"),
        ({"files": [], "fileset": {"open": 1}}, "fileset.open"),
        ({"files": [], "fileset": {"opened": True}}, "fileset.opened"),
        ({"files": [], "storage_to_sites": {"A": "s"}}, "subscription.storage_to_sites"),
        ({"files": [], "siblings": {}}, "subscription.siblings"),
        ({"files": [], "producer_jobs": [{"group": "1"}]}, "producer_jobs.inputs"),
        ({"files": [], "jobs_before": -1}, "subscription.jobs_before"),
        ({"files": [], "fileset": None}, "fileset"),
        (None, "subscription"),
    ],
)
def test_a_subscription_that_cannot_be(record, key):
    assert refused(InvalidParameter, Subscription.from_record, record).key == key
