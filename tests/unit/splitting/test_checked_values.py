"""What splitters are given: read to the letter, or refused with what was expected and what was found."""

import math

import pytest

from jim.errors import shown
from jim.splitting.errors import InvalidParameter, InvalidRecovery
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription
from tests.unit.splitting.refusals import parameters, refused

NAN = math.nan


# Parameters


@pytest.mark.parametrize(
    ("splitter", "name"),
    [
        ("EventBased", "events_per_job"),
        ("EventBased", "events_per_lumi"),
        ("LumiBased", "lumis_per_job"),
        ("EventAwareLumiBased", "events_per_job"),
        ("EventAwareLumiByWork", "events_per_job"),
        ("FileBased", "files_per_job"),
        ("MinFileBased", "files_per_job"),
        ("SizeBased", "size_per_job"),
        ("RunBased", "files_per_job"),
        ("ParentlessMergeBySize", "max_merge_size"),
        ("WMBSMergeBySize", "max_merge_events"),
        ("SiblingProcessingBased", "files_per_job"),
    ],
)
@pytest.mark.parametrize("value", [0, -1, True, "5", 5.0, NAN, math.inf, None, [5], {}])
def test_a_size_is_a_whole_number_and_more_than_nothing(splitter, name, value):
    error = refused(InvalidParameter, split, splitter, {name: value}, Subscription(()))
    assert (error.kind, error.key) == ("invalid-parameter", name)
    assert f"{name}: expected a whole number, 1 or more, found {shown(value)}" in str(error)


@pytest.mark.parametrize("value", [-1, True, NAN, -math.inf, "10"])
@pytest.mark.parametrize(
    ("splitter", "name"),
    [
        ("LumiBased", "total_lumis"),
        ("FileBased", "total_files"),
        ("FileBased", "jobs_per_group"),
        ("EventAwareLumiBased", "job_limit"),
        ("EventAwareLumiBased", "job_time_limit"),
        ("Harvest", "periodic_harvest_interval"),
    ],
)
def test_what_may_be_nothing_may_not_be_less(splitter, name, value):
    assert refused(InvalidParameter, lambda: parameters(splitter, **{name: value})).key == name


@pytest.mark.parametrize("value", [10**18, 10**400, -(10**400), 1e18, math.inf])
@pytest.mark.parametrize(
    ("splitter", "name"),
    [
        ("EventAwareLumiBased", "job_time_limit"),
        ("ParentlessMergeBySize", "max_wait_time"),
        ("LumiBased", "lumis_per_job"),
    ],
)
def test_no_number_is_too_large_to_reckon_with(splitter, name, value):
    assert refused(InvalidParameter, lambda: parameters(splitter, **{name: value})).value == value
    assert parameters(splitter, **{name: 10**18 - 1})


# Subscriptions


@pytest.mark.parametrize(
    "acdc",
    [
        None,
        [],
        {},
        {"documents": 5},
        {"documents": "none"},
        {"documents": [5]},
        {"documents": [{}]},
        {"documents": [{"files": []}]},
        {"documents": [{"files": {"a": {}}}]},
        {"documents": [{"files": {"a": {"lfn": "a"}}}]},
        {"documents": [{"files": {"a": {"runs": []}}}]},
        {"documents": [{"files": {"a": {"lfn": "a", "runs": [5]}}}]},
        {"documents": [{"files": {"a": {"lfn": "a", "runs": [{"run_number": 1}]}}}]},
        {"documents": [{"files": {"a": {"lfn": "a", "runs": [{"run_number": [], "lumis": [1]}]}}}]},
        {"documents": [{"files": {"a": {"lfn": "a", "runs": [{"run_number": 1, "lumis": ["x"]}]}}}]},
        {"documents": [{"files": {"a": {"lfn": "a", "events": -1, "runs": []}}}]},
        {"documents": [{"acdc_version": "2", "files": {}}]},
        {"documents": [{"acdc_version": 3, "files": {}}]},
    ],
)
def test_a_recovery_document_that_says_nothing_clear(acdc):
    error = refused(InvalidRecovery, Subscription.from_record, {"files": [], "acdc": acdc})
    assert (error.kind, error.key.startswith("acdc")) == ("invalid-recovery", True)
