"""Recovery: documents of failed jobs, and the jobs that come of them."""

import json

import pytest

from jim.splitting.files_and_jobs import File
from jim.splitting.recovery import Recovery, document_of, recovery_from
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription

SE = frozenset({"SE"})
MC = "MCFakeFile-1"


def file(lfn, runs=None, events=100, first_event=0):
    table = tuple((run, tuple(lumis)) for run, lumis in (runs or {}).items())
    return File(lfn, 1000, events, first_event, table, SE, ("parent",))


def document(lfn, lumis, version=None, events=100, first_event=1):
    runs = [{"run_number": run, "lumis": those} for run, those in lumis.items()]
    entry = {"lfn": lfn, "events": events, "first_event": first_event, "runs": runs, "merged": False}
    return {"files": {lfn: entry}, "_id": "4711"} | ({"acdc_version": version} if version else {})


def recovered(splitter, files, documents, **params):
    work = Subscription(tuple(files), recovery=recovery_from({"documents": documents}), storage_to_sites={"SE": ("s",)})
    return list(split(splitter, params, work))


def test_the_collection_is_the_lumi_mask_and_nothing_waits():
    files = [file("a", {1: [1, 2, 3]}), file("b", {1: [4, 5], 2: [1]}), file("c", {3: [1]})]
    documents = [document("a", {1: [3]}), document("b", {1: [4, 5]}), document("b", {1: [4], 2: [1]})]
    made = recovered("LumiBased", files, documents, lumis_per_job=50)
    assert [job.mask.run_lumis for job in made] == [{1: [(3, 3), (4, 5)]}, {2: [(1, 1)]}]
    made = recovered("EventAwareLumiBased", files, documents, events_per_job=5000)
    assert [job.mask.run_lumis for job in made] == [{1: [(3, 3), (4, 5)]}, {2: [(1, 1)]}]
    made = recovered("EventAwareLumiByWork", files, documents, events_per_job=5000)
    assert [job.mask.run_lumis for job in made] == [{1: [(3, 5)]}, {2: [(1, 1)]}]


@pytest.mark.parametrize("documents", [None, []])
@pytest.mark.parametrize("splitter", ["EventBased", "LumiBased", "EventAwareLumiByWork", "FileBased", "MinFileBased"])
def test_of_a_collection_that_is_empty_or_cannot_be_read_no_job_comes(splitter, documents):
    assert recovered(splitter, [file("a", {1: [1]})], documents) == []


@pytest.mark.parametrize(
    ("events", "lumis", "expected"),
    [
        (20, [3, 4], [(21, 30, 3, 3), (31, 40, 4, 4)]),
        (25, [3, 4, 9], [(21, 30, 3, 3), (31, 40, 4, 4), (81, 85, 9, 9)]),
        (30, [4, 3], [(21, 30, 3, 3), (31, 40, 4, 4)]),  # no more lumis than are told
        (10, [3, 4, 5], [(21, 30, 3, 3)]),  # and no more events
    ],
)
def test_events_are_numbered_by_the_lumis_that_are_recovered(events, lumis, expected):
    documents = [document(MC, {1: lumis}, 2, events, first_event=77)]
    made = recovered("EventBased", [file(MC, {1: range(1, 10)})], documents, events_per_job=10)
    assert [job.mask[:4] for job in made] == expected


def test_what_failed_is_recovered_once_however_often_it_is_told():
    told = [document(MC, {1: lumis}, 2, 10) for lumis in ([4, 5], [4], [5, 4], [5, 6])]
    made = recovered("EventBased", [file(MC, {1: range(1, 10)})], told, events_per_job=50, events_per_lumi=10)
    assert [job.mask[:4] for job in made] == [(31, 50, 4, 5)]
    told = [document("a", {1: [1]}, 2, 10, first) for first in (20, 0, 20)]
    made = recovered("EventBased", [file("a", {1: [1]})], told, events_per_job=50)
    assert [job.mask[:2] for job in made] == [(0, 9), (20, 29)]


def test_a_job_takes_consecutive_lumis_only_and_is_estimated_in_full():
    documents = [document(MC, {1: [7, 2]}, 2, 15), document(MC, {1: [1, 3]}, 2, 15)]
    made = recovered(
        *("EventBased", [file(MC, {1: range(1, 10)})], documents),
        events_per_job=10,
        events_per_lumi=5,
        performance={"timePerEvent": 2},
    )
    assert [job.mask[:4] for job in made] == [(1, 10, 1, 2), (11, 20, 3, 3), (31, 40, 7, 7)]
    assert [job.estimates.time_s for job in made] == [20, 20, 20]


@pytest.mark.parametrize(
    ("version", "lumis", "expected"),
    [(None, [5, 6], [5]), (1, [5, 6], [5]), (1, [5], [5]), (2, [5, 6], [5, 6]), (1, [6, 5, 7], [5, 6])],
)
def test_old_documents_list_one_lumi_too_many(version, lumis, expected):
    made = recovered(
        "EventBased", [file(MC, {1: range(1, 10)})], [document(MC, {1: lumis}, version)], events_per_job=10
    )
    assert [job.mask.first_lumi for job in made] == expected
    read = recovery_from({"documents": [document("real", {1: [5, 6]}, version)]})
    assert read.entries["real"][0].runs == ((1, (5, 6)),)


def test_of_real_files_only_what_failed_is_read_again():
    documents = [document("a", {}, 2, 5, 20), document("a", {}, 2, 10, 0)]
    made = recovered("EventBased", [file("a"), file("b")], documents, events_per_job=10)
    assert [(job.files[0].lfn, *job.mask[:2]) for job in made] == [("a", 0, 9), ("a", 20, 24)]


def test_file_splitters_take_the_files_that_are_named():
    made = recovered("FileBased", map(file, "abc"), [document("c", {}), document("a", {})])
    assert [[each.lfn for each in job.files] for job in made] == [["a", "c"]]


def test_the_document_of_a_job():
    work = Subscription((file("a", {1: [1, 2, 3], 2: [1]}),), open=False)
    second = list(split("LumiBased", {"lumis_per_job": 2}, work))[1]
    assert document_of(second) == {
        "acdc_version": 2,
        "files": {
            "a": {
                "lfn": "a",
                "size": 1000,
                "events": 100,
                "first_event": 0,
                "merged": False,
                "parents": ["parent"],
                "locations": ["SE"],
                "runs": [{"run_number": 1, "lumis": [3]}],
            }
        },
    }


@pytest.mark.parametrize(
    ("splitter", "params", "files"),
    [
        ("EventBased", {"events_per_job": 7}, [file("a"), file("b", events=3, first_event=9), file("c", events=0)]),
        ("EventBased", {"events_per_job": 10, "events_per_lumi": 5}, [file(MC, {1: range(1, 21)}, first_event=1)]),
        ("LumiBased", {"lumis_per_job": 3}, [file("a", {1: range(8)}), file("b", {1: [9], 2: [1, 5, 6]})]),
        ("EventAwareLumiBased", {"events_per_job": 30}, [file("a", {1: range(8)}), file("b", {2: [1, 5, 6]})]),
        ("EventAwareLumiByWork", {"events_per_job": 30}, [file("a", {1: range(8)}), file("b", {2: [1, 5, 6]})]),
        ("FileBased", {"files_per_job": 1}, list(map(file, "abc"))),
    ],
)
def test_failed_jobs_come_again_as_they_were(splitter, params, files):
    work = Subscription(tuple(files), open=False, storage_to_sites={"SE": ("s",)})
    for failed in (jobs := list(split(splitter, params, work))):
        documents = json.loads(json.dumps([document_of(failed)]))
        again = recovered(splitter, files, documents, **params)
        assert [job.mask for job in again] == [failed.mask]
        assert [job.files for job in again] == [failed.files]
    everything = recovered(splitter, files, [document_of(job) for job in reversed(jobs)], **params)
    assert [job[2:] for job in everything] == [job[2:] for job in jobs]


def test_the_lumis_of_a_collection_are_each_there_once():
    mask = recovery_from({"documents": [document("a", {1: [3, 2, 7]}, 2), document("b", {1: [4, 3]}, 2)]}).lumi_mask()
    assert mask.ranges == {1: [(2, 4), (7, 7)]}
    assert Recovery({}).lumi_mask().within(1, (1, 2)) == []
