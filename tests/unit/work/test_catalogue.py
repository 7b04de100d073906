"""Both kinds of a catalogue answer the same: what is there, and in words what is not."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from jim.errors import BadRequest, JimError
from jim.splitting.files_and_jobs import File
from jim.work.catalogue import Dataset, NotReadable, catalogue_at

EVENTS = {"13669": 20_000, "none": None, "zero": 0, "many": "many", "below": -3, "/d0/x": 7}
RECORDS = [
    {"lfn": "/store/b", "events": 300, "size": 7, "runs": {"1": [1, 2]}, "locations": ["T1"], "parents": ["/store/p"]},
    {"lfn": "/store/a", "events": 200},
]
DATASETS = {"minbias": RECORDS, "/MinBias/p14/AOD": RECORDS[:1], "empty": [], "twice": [RECORDS[1]] * 2, "odd": [{}]}
OPEN = {"growing": True, "shut": False, "maybe": 3}  # datasets for which the catalogue says so
DATASETS |= dict.fromkeys(OPEN, RECORDS[1:])


def directory(place):
    for folder in ("requests", "datasets"):
        (place / folder).mkdir(parents=True)
    for number, (name, events) in enumerate(EVENTS.items()):
        name = name.replace("/", "%2F")
        if number % 2 and events is not None:
            (place / f"requests/{name}.toml").write_text(f"events = {json.dumps(events)}\n")
        else:
            (place / f"requests/{name}.json").write_text(json.dumps({} if events is None else {"events": events}))
    for name, files in DATASETS.items():
        if files:
            told = {"files": files} | ({"open": OPEN[name]} if name in OPEN else {})
            (place / f"datasets/{name.replace('/', '%2F')}.json").write_text(json.dumps(told))
    (place / "datasets/new.toml").write_text("open = true\n")
    (place / "datasets/empty.toml").write_text("# nothing yet\n")
    for name in ("README", ".hidden.json", "..json", "x.json~"):
        (place / "requests" / name).write_text('{"events": 1}')
    (place / "secret.json").write_text('{"events": 1}')
    return place


def database(file):
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE request (id TEXT PRIMARY KEY, events INTEGER)")
        db.execute("CREATE TABLE file (dataset TEXT, record TEXT)")
        db.executemany("INSERT INTO request VALUES (?, ?)", EVENTS.items())
        rows = [(name, json.dumps(each)) for name, files in DATASETS.items() for each in files]
        db.executemany("INSERT INTO file VALUES (?, ?)", rows)
        db.execute("CREATE TABLE dataset (name TEXT PRIMARY KEY, open INTEGER)")
        db.executemany("INSERT INTO dataset VALUES (?, ?)", [*OPEN.items(), ("new", 1)])
    return file


@pytest.fixture(params=[directory, database])
def catalogue(request, tmp_path):
    return catalogue_at(str(request.param(tmp_path / "catalogue")))


def test_a_dataset_is_closed_unless_the_catalogue_says_that_it_is_open(catalogue):
    assert catalogue.dataset("minbias").open is False
    assert catalogue.dataset("growing") == Dataset((File.from_record(RECORDS[1]),), open=True)
    assert catalogue.dataset("new") == Dataset((), open=True)
    assert catalogue.dataset("shut").open is False
    with pytest.raises(JimError, match=r"dataset 'maybe' of the catalogue, .*: open: expected true or false"):
        catalogue.dataset("maybe")
    with pytest.raises(BadRequest, match=r"there is no dataset 'growin' .*; did you mean 'growing'"):
        catalogue.dataset("growin")
    with pytest.raises(BadRequest, match=r"dataset 'new' of the catalogue, .*, is empty"):
        catalogue.files("new")


def test_what_there_is_is_counted(catalogue):
    ids, datasets = catalogue.counts()
    assert ids == len(EVENTS)
    assert datasets in (len(DATASETS) + 1, len(DATASETS) - 1)  # in a database, an empty one leaves no trace


def test_events_of_a_request_id(catalogue):
    assert catalogue.events("13669") == 20_000
    assert catalogue.events("/d0/x") == 7


def test_files_of_a_dataset_in_their_order(catalogue):
    first, second = catalogue.files("minbias")
    assert (first.lfn, first.events, first.size) == ("/store/b", 300, 7)
    assert (first.locations, first.parents) == (frozenset({"T1"}), ("/store/p",))
    assert second == File.from_record(RECORDS[1])
    assert catalogue.files("/MinBias/p14/AOD") == (first,)


@pytest.mark.parametrize(
    ("request_id", "found"), [("none", ""), ("zero", ", but 0"), ("many", ", but 'many'"), ("below", ", but -3")]
)
def test_a_request_id_without_events_is_refused(catalogue, request_id, found):
    with pytest.raises(
        BadRequest, match=f"request id '{request_id}' of the catalogue, /.*/catalogue, has no events{found}$"
    ):
        catalogue.events(request_id)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "README", "x", ".hidden", "../secret", "%2F", "a\0b", "x" * 100_000, "'; DROP TABLE file; --"],
)
def test_what_is_not_there_is_refused(catalogue, name):
    for ask, what in ((catalogue.events, "request id"), (catalogue.files, "dataset")):
        with pytest.raises(BadRequest, match=f"there is no {what} ['\"]") as refusal:
            ask(name)
        assert "/catalogue" in str(refusal.value)
        assert len(str(refusal.value)) < 500


def test_the_nearest_is_told(catalogue):
    with pytest.raises(BadRequest, match=r"no request id '13668' in .*; did you mean '13669'"):
        catalogue.events("13668")
    with pytest.raises(BadRequest, match=r"no dataset 'minbia' in .*; did you mean 'minbias'"):
        catalogue.files("minbia")
    with pytest.raises(BadRequest, match="did you mean '/MinBias/p14/AOD'"):
        catalogue.files("/MinBias/p14/AO")


def test_an_empty_dataset_is_refused(catalogue):
    with pytest.raises(BadRequest, match=r"dataset 'empty'.*/catalogue"):
        catalogue.files("empty")


@pytest.mark.parametrize(("dataset", "words"), [("twice", "is listed twice"), ("odd", "lfn")])
def test_a_dataset_that_is_wrong_is_the_catalogue_s_fault(catalogue, dataset, words):
    with pytest.raises(JimError, match=f"dataset '{dataset}' of the catalogue, .*: .*{words}") as fault:
        catalogue.files(dataset)
    assert not isinstance(fault.value, BadRequest | NotReadable)


def test_a_catalogue_that_cannot_be_read_is_no_refusal(tmp_path):
    place = directory(tmp_path / "catalogue")
    (place / "requests/13669.json").write_text("{")
    (place / "datasets/minbias.json").write_bytes(b"\xff")
    (tmp_path / "text").write_text("no database " * 100)
    (tmp_path / "bare").mkdir()
    for there in (place, tmp_path / "text", tmp_path / "nowhere", tmp_path / "bare"):
        for ask in (catalogue_at(str(there)).events, catalogue_at(str(there)).files):
            with pytest.raises(NotReadable, match="JIM cannot read the catalogue: "):
                ask("13669" if ask.__name__ == "events" else "minbias")
    for there in (tmp_path / "text", tmp_path / "nowhere", tmp_path / "bare"):
        with pytest.raises(NotReadable, match="JIM cannot read the catalogue: "):
            catalogue_at(str(there)).counts()


@pytest.mark.parametrize(("text", "words"), [("{", "Expecting"), ("[1]", r"expected a table, found \[1\]")])
def test_the_file_that_cannot_be_read_is_named(tmp_path, text, words):
    place = directory(tmp_path / "catalogue")
    (place / "requests/13669.json").write_text(text)
    with pytest.raises(NotReadable, match=f"JIM cannot read the catalogue: {place}/requests/13669.json: {words}"):
        catalogue_at(str(place)).events("13669")


def test_two_files_of_one_name_are_the_catalogue_s_fault(tmp_path):
    """Which one is meant, nobody knows; others are found all the same."""
    place = directory(tmp_path / "catalogue")
    (place / "datasets/minbias.toml").write_text('files = [{ lfn = "/new" }]\n')
    with pytest.raises(NotReadable, match=r"datasets has both minbias\.json and minbias\.toml"):
        catalogue_at(str(place)).files("minbias")
    assert catalogue_at(str(place)).files("/MinBias/p14/AOD")
