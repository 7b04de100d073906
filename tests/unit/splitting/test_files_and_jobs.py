"""The records of files and jobs."""

import json
import math

import pytest

from jim.splitting.errors import InvalidFile
from jim.splitting.files_and_jobs import Estimates, Failure, File, Mask, SplitJob, files_from
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription
from tests.unit.splitting.refusals import refused

NAN = math.nan


# Parameters


def test_the_largest_file_is_split_and_estimated():
    largest = 10**18 - 1
    told = {"lfn": "f", "size": largest, "events": largest, "first_event": largest, "runs": {largest: [largest]}}
    work = Subscription.from_record({"files": [told], "fileset": {"open": False}})
    costs = {"timePerEvent": 1e17, "sizePerEvent": largest}
    (job,) = split("EventAwareLumiBased", {"performance": costs, "allowCreationFailure": False}, work)
    assert json.dumps(job.to_record(), allow_nan=False)
    error = refused(InvalidFile, Subscription.from_record, {"files": [told | {"events": 10**400}]})
    assert str(error).startswith("file 'f'.events: expected a number of at most 18 digits, found 1000")


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
