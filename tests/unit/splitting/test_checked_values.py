"""What splitters are given: read to the letter, or refused with what was expected and what was found."""

import json
import math

import pytest

from jim.errors import BadRequest, shown
from jim.splitting.errors import InvalidFile, InvalidMask, InvalidParameter, InvalidRecovery, SplitError
from jim.splitting.files_and_jobs import Estimates, Failure, File, Mask, SplitJob, files_from
from jim.splitting.parameters import check, declared
from jim.splitting.registry import known, split, splitter_of
from jim.splitting.subscription import Producer, Sibling, Subscription

NAN = math.nan


def refused(kind, call, *arguments):
    with pytest.raises(kind) as caught:
        call(*arguments)
    error = caught.value
    assert isinstance(error, SplitError)
    assert isinstance(error, BadRequest)
    assert str(error).startswith(error.key)
    return error


def parameters(splitter, **given):
    return check(splitter_of(splitter).Parameters, given)


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


def test_the_largest_file_is_split_and_estimated():
    largest = 10**18 - 1
    told = {"lfn": "f", "size": largest, "events": largest, "first_event": largest, "runs": {largest: [largest]}}
    work = Subscription.from_record({"files": [told], "fileset": {"open": False}})
    costs = {"timePerEvent": 1e17, "sizePerEvent": largest}
    (job,) = split("EventAwareLumiBased", {"performance": costs, "allowCreationFailure": False}, work)
    assert json.dumps(job.to_record(), allow_nan=False)
    error = refused(InvalidFile, Subscription.from_record, {"files": [told | {"events": 10**400}]})
    assert str(error).startswith("file 'f'.events: expected a number of at most 18 digits, found 1000")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("splitOnRun", 1, "true or false"),
        ("siteWhitelist", "s1", "a list of texts"),
        ("siteBlacklist", ["s1", 2], "a list of texts"),
        ("siteBlacklist", ["s\n1"], "a list of texts"),
        ("runWhitelist", ["x"], "a list of run numbers"),
        ("runWhitelist", [-1], "a list of run numbers"),
        ("performance", {"timePerEvent": -1}, "timePerEvent"),
        ("performance", {"timePerEvent": NAN}, "timePerEvent"),
        ("performance", {"timePerEvent": True}, "timePerEvent"),
        ("performance", {"timeperevent": 1}, "did you mean 'timePerEvent'"),
        ("performance", 5, "a table of timePerEvent"),
    ],
)
def test_a_parameter_of_another_kind(name, value, expected):
    error = refused(InvalidParameter, lambda: parameters("LumiBased", **{name: value}))
    assert error.key == name
    assert expected in str(error)


def test_an_unknown_parameter_is_told_the_nearest_known_one():
    error = refused(InvalidParameter, lambda: parameters("EventBased", events_per_jobs=5))
    assert str(error).startswith("events_per_jobs: unknown parameter; did you mean 'events_per_job'? (known: ")
    assert error.value == 5


def test_what_is_missing_of_the_performance_or_null_is_nothing():
    given = parameters("EventBased", performance={"timePerEvent": None, "sizePerEvent": 1.5})
    assert given.performance.of(10) == (0, 15, 0)


@pytest.mark.parametrize("name", known())
def test_every_parameter_is_declared_whole(name):
    for one in declared(splitter_of(name).Parameters).values():
        assert one.help
        assert one.kind.what
        assert not one.help.endswith(".")


# Masks


@pytest.mark.parametrize(
    ("runs", "lumis"),
    [
        ([1], []),
        ([], ["1,2"]),
        ([1, 2], ["1,2"]),
        ([1], ["1,2,3"]),
        ([1], ["2,1"]),
        ([1], ["1-2"]),
        ([1], ["-1,2"]),
        ([1], [""]),
        ([1], [[1, 2]]),
        ([1], [1]),
        ([1], "1,2"),
        ([1.0], ["1,2"]),
        ([True], ["1,2"]),
        ([None], ["1,2"]),
        (["x"], ["1,2"]),
        ("1", ["1,2"]),
        ([NAN], ["1,2"]),
    ],
)
@pytest.mark.parametrize("splitter", ["LumiBased", "FileBased"])
def test_a_mask_that_says_nothing_clear(splitter, runs, lumis):
    error = refused(InvalidMask, lambda: parameters(splitter, runs=runs, lumis=lumis))
    assert error.kind == "invalid-mask"
    assert error.key in ("runs", "lumis")


def test_a_mask_tells_what_is_odd_about_it():
    error = refused(InvalidMask, lambda: parameters("LumiBased", runs=["1"], lumis=["1,2,3"]))
    assert "lumis in pairs (first and last), but '1,2,3' has 3 numbers" in str(error)


# Files


@pytest.mark.parametrize(
    ("record", "key"),
    [
        ({}, "file.lfn"),
        ({"lfn": ""}, "file ''.lfn"),
        ({"lfn": 7}, "file.lfn"),
        ({"lfn": "a\0b"}, "file 'a\\x00b'.lfn"),
        ({"lfn": "a", "size": -1}, "file 'a'.size"),
        ({"lfn": "a", "size": 1.5}, "file 'a'.size"),
        ({"lfn": "a", "size": NAN}, "file 'a'.size"),
        ({"lfn": "a", "size": "1"}, "file 'a'.size"),
        ({"lfn": "a", "size": None}, "file 'a'.size"),
        ({"lfn": "a", "events": True}, "file 'a'.events"),
        ({"lfn": "a", "events": -1}, "file 'a'.events"),
        ({"lfn": "a", "first_event": -1}, "file 'a'.first_event"),
        ({"lfn": "a", "runs": [1]}, "file 'a'.runs"),
        ({"lfn": "a", "runs": {"1": 1}}, "file 'a'.runs"),
        ({"lfn": "a", "runs": {"1": ["1"]}}, "file 'a'.runs"),
        ({"lfn": "a", "runs": {"1": [True]}}, "file 'a'.runs"),
        ({"lfn": "a", "runs": {"1": [-1]}}, "file 'a'.runs"),
        ({"lfn": "a", "runs": {"1": [NAN]}}, "file 'a'.runs"),
        ({"lfn": "a", "runs": {"x": [1]}}, "file 'a'.runs"),
        ({"lfn": "a", "runs": {"-1": [1]}}, "file 'a'.runs"),
        ({"lfn": "a", "locations": "SE"}, "file 'a'.locations"),
        ({"lfn": "a", "locations": [1]}, "file 'a'.locations"),
        ({"lfn": "a", "parents": "p"}, "file 'a'.parents"),
        ({"lfn": "a", "age_s": NAN}, "file 'a'.age_s"),
        ({"lfn": "a", "event": 1}, "file 'a'.event"),
        ("a", "file"),
        (None, "file"),
    ],
)
def test_a_file_record_that_cannot_be(record, key):
    error = refused(InvalidFile, File.from_record, record)
    assert (error.kind, error.key) == ("invalid-file", key)


def test_a_file_without_a_name_is_found_by_its_place():
    error = refused(InvalidFile, files_from, [{"lfn": "a"}, {"size": 1}])
    assert str(error) == "files[1].lfn: missing"
    assert str(refused(InvalidFile, files_from, [{"lfn": "a"}, "b"])) == "files[1]: expected a table, found 'b'"


def test_a_file_is_named_once():
    assert "is listed twice" in str(refused(InvalidFile, files_from, [{"lfn": "a"}, {"lfn": "a"}]))
    refused(InvalidFile, files_from, {"lfn": "a"})


def test_a_file_record_in_full_and_back():
    record = {
        "lfn": "a",
        "size": 5,
        "events": 4,
        "first_event": 3,
        "runs": {"2": [1, 2], "10": [7]},
        "locations": ["A", "B"],
        "parents": ["p"],
        "age_s": 1.5,
    }
    file = File.from_record(record)
    assert file == ("a", 5, 4, 3, ((2, (1, 2)), (10, (7,))), {"A", "B"}, ("p",), 1.5)
    assert file.to_record() == record
    assert File.from_record({"lfn": "a"}) == ("a", 0, 0, 0, (), frozenset(), (), 0)


def test_lumis_of_a_file_are_in_order_and_each_there_once():
    assert File.from_record({"lfn": "a", "runs": {"3": [2, 1, 2], 1: []}}).runs == ((1, ()), (3, (1, 2)))


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


# Records of jobs


def test_a_job_as_a_record_and_back():
    files = {"a": File("a", parents=("p",)), "b": File("b")}
    job = SplitJob(
        3,
        frozenset({"B", "A"}),
        (files["b"], files["a"]),
        Mask(run_lumis={1: [(1, 2), (5, 5)]}, first_run=1, last_run=1),
        Estimates(time_s=0, memory_mb=5),
        ("s",),
        Failure("why", 7),
        {"skipPileupEvents": 0},
        {"a": ("p",)},
    )
    record = {
        "group": 3,
        "locations": ["A", "B"],
        "files": ["b", "a"],
        "mask": {"first_run": 1, "last_run": 1, "run_lumis": {"1": [[1, 2], [5, 5]]}},
        "estimates": {"time_s": 0, "memory_mb": 5},
        "sites": ["s"],
        "failed_on_creation": True,
        "failed_reason": "why",
        "failed_code": 7,
        "baggage": {"skipPileupEvents": 0},
        "parents": {"a": ["p"]},
    }
    assert job.to_record() == record
    assert SplitJob.from_record(json.loads(json.dumps(record)), files) == job
    bare = SplitJob(0, None, (files["a"],))
    assert bare.to_record() == {"group": 0, "locations": None, "files": ["a"], "mask": {}, "sites": []}
    assert SplitJob.from_record(bare.to_record(), files) == bare
