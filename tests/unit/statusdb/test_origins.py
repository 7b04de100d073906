"""Where a grid job came from: MasterJobId and JobSplitType of RFC 15, in documents, by XPath and as a filter."""

from __future__ import annotations

import pytest
from lxml import etree

from jim.clock import Clock
from jim.model import Piece
from jim.reading.documents import json_documents as documents
from jim.reading.documents.queries import answered, planned
from jim.reading.documents.xml_documents import Of
from jim.reading.filters import read
from jim.reading.lists import GRID_JOBS, grid_jobs
from jim.reading.view import View
from jim.site.file import Site, make_state
from jim.statusdb import file_of
from jim.statusdb.documents.writing import document
from jim.statusdb.store import Store

NS = {"jim": "urn:jim:status:1"}


@pytest.fixture
def site(tmp_path):
    site = Site(state=tmp_path / "state")
    make_state(site)
    return site


@pytest.fixture
def store(site):
    """Grid job 1 was split; 2 recovers it, 3 copies 1.2, and 4 comes from 11. 1.3 does work of 1.0."""
    store = Store(file_of(site.state), Clock(), write=True)
    split = {"job_type": "executable", "splitter": "FileBased"}
    store.add_grid_job(1, "a", "me", "2026-01-31T11:00:00.000Z", split)
    store.add_pieces(1, 0, [Piece(), Piece(), Piece(), Piece(source=0)])
    store.end_split(1, 4)
    store.add_grid_job(2, "b", "me", "2026-01-31T11:00:00.000Z", {**split, "came_from": "1"})
    store.add_grid_job(3, "c", "me", "2026-01-31T11:00:00.000Z", {"job_type": "executable", "came_from": "1.2"})
    store.add_grid_job(4, "d", "me", "2026-01-31T11:00:00.000Z", {"job_type": "executable", "came_from": "11"})
    yield store
    store.close()


def view_of(site, store):
    return View(site, store)


def test_json_has_the_names_of_the_rfc(site, store):
    view = view_of(site, store)
    told = [view.record(store.grid_job(number)) for number in (1, 2, 3, 4)]
    assert [each["MasterJobId"] for each in told] == [1, 1, 1, 11]
    assert [each["JobSplitType"] for each in told] == ["Splitted", "WillSplit", "Single", "Single"]
    assert [each["came_from"] for each in told] == ["", "1", "1.2", "11"]
    assert documents.of_job(view, store.grid_job(1))["led_to"] == [3, 2]
    assert documents.of_job(view, store.grid_job(3))["led_to"] == []


def test_a_local_job_that_was_split_again_is_where_its_parts_came_from(site, store):
    view = view_of(site, store)
    first, last = (view.local_record(store.grid_job(1), store.local_job(1, n)) for n in (0, 3))
    assert [(each["MasterJobId"], each["came_from"]) for each in (first, last)] == [(1, ""), (1, "1.0")]
    root = etree.fromstring(document(store, 1))
    assert [each.get("came_from") for each in root.findall("jim:local_job", NS)] == [None, None, None, "1.0"]


def test_xml_has_them_as_attributes(store):
    two, three = (etree.fromstring(document(store, number)) for number in (2, 3))
    assert (two.get("MasterJobId"), two.get("JobSplitType"), two.get("came_from")) == ("1", "WillSplit", "1")
    assert (three.get("MasterJobId"), three.get("JobSplitType"), three.get("came_from")) == ("1", "Single", "1.2")


@pytest.mark.parametrize(
    ("expression", "results"),
    [
        ("/jim:site/jim:grid_job[@MasterJobId = 1]/@id", ["1", "2", "3"]),
        ("/jim:site/jim:grid_job[@came_from = '1.2']/@id", ["3"]),
        ("/jim:site/jim:grid_job[@JobSplitType = 'Splitted']/@MasterJobId", ["1"]),
        ("count(//jim:grid_job[not(@came_from)])", ["1"]),
        ("//jim:local_job[@came_from = '1.0']/@n", ["3"]),
    ],
)
def test_both_ways_of_xpath_find_them(site, store, expression, results):
    plan = planned(view_of(site, store.reader()), expression, Of())
    assert (plan.way, list(plan.warnings)) == ("translated", [])
    assert [each.text for each in answered(view_of(site, store.reader()), plan)] == results
    whole = plan._replace(query=None)
    assert [each.text for each in answered(view_of(site, store.reader()), whole)] == results


def test_a_list_can_be_asked_for_all_that_came_from_a_grid_job(site, store):
    def numbers(master):
        return [
            job.id for job in grid_jobs(view_of(site, store), read(GRID_JOBS, [("master", master)]), names=True).rows
        ]

    assert [numbers("1"), numbers("11"), numbers("3"), numbers("9")] == [[3, 2, 1], [4], [3], []]
    plan = store.db.execute(
        "EXPLAIN QUERY PLAN SELECT id FROM grid_job WHERE came_from <> '' AND CAST(came_from AS INTEGER) IN (1)"
    ).fetchall()
    assert "grid_job_origin" in str(plan)
