"""People read why jobs wait in the batch system's own words: on the command line, in documents, by XPath."""

from __future__ import annotations

import json
import re

import pytest
from lxml import etree

from jim.cli import explain, parser_of, show
from jim.model import State
from jim.reading.documents import json_documents as documents
from jim.reading.documents.queries import answered, planned
from jim.reading.documents.xml_documents import Of
from jim.reading.job import waits
from jim.reading.view import View
from jim.site.file import Batch
from jim.statusdb.documents.writing import document
from tests.support.stand_ins import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Three local jobs in the queue; `said` is what its listing says of each index."""
    world = World(tmp_path, monkeypatch, batch=Batch(query_seconds=1.0, visible_seconds=1.0))
    world.said = {}
    read = world.batch.parse_query

    def listing(answer):
        return {key: seen._replace(waits=world.said.get(key[1], "")) for key, seen in read(answer).items()}

    monkeypatch.setattr(world.batch, "parse_query", listing)
    world.submit(3)
    world.until(lambda: len(world.batch.tasks) == 3)
    world.go(3, 1.0)
    return world


def say(world, *words):
    world.said = dict(enumerate(words, 1))
    world.go(3, 1.0)


def queued(world):
    view = View(world.site, world.store)
    (wait,) = (each for each in waits.of_grid_job(view, world.store.grid_job(1)) if "queue" in each.what)
    return wait


def test_explain_says_why_the_batch_system_lets_jobs_wait(world, monkeypatch):
    assert queued(world).what == "3 local jobs wait in the batch system's queue"
    say(world, "Resources", "QOSMaxCpu", "Resources")
    monkeypatch.setattr(View, "age", lambda _, then: 7380.0)
    found = queued(world)
    assert found.what == (
        "3 local jobs wait in the batch system's queue: 2 × Resources (for 2 h 3 min), 1 × QOSMaxCpu (for 2 h 3 min)"
    )
    assert (found.witness, found.seen) == ("queue", world.store.fact("seen"))


def test_words_write_no_local_job_and_no_journal(world):
    before = world.store.local_jobs(1), world.store.journals.of_itself(1), world.store.journals.of(1, 0)
    say(world, "Resources", "Priority", "Priority")
    assert (world.store.local_jobs(1), world.store.journals.of_itself(1), world.store.journals.of(1, 0)) == before


def test_a_local_job_has_the_words_of_its_submission(world):
    view = View(world.site, world.store)

    def own():
        found = waits.of_local_job(view, world.store.grid_job(1), world.store.local_job(1, 0))
        return next(each.what for each in found if "queue" in each.what)

    say(world, "Priority", "Priority", "Priority")
    assert re.fullmatch(r"waits in the batch system's queue, batch job 1 \(Priority, for [\d.]+ s\)", own())
    say(world, "Priority", "Resources", "Priority")
    assert own().startswith("waits in the batch system's queue, batch job 1 (of its submission: 2 × Priority (for ")


def test_what_has_started_since_the_listing_waits_no_more(world):
    say(world, "Resources", "Resources", "Resources")
    for index in (1, 2, 3):
        world.batch.start(1, index)
    world.until(lambda: world.store.counts(1) == {State.RUNNING: 3})
    assert documents.of_job(View(world.site, world.store), world.store.grid_job(1))["queue"] == []


def test_documents_and_xpath_have_the_groups(world):
    say(world, "Resources", '<"&>', "Resources")
    view = View(world.site, world.store)
    first, second = documents.of_job(view, world.store.grid_job(1))["queue"]
    assert (first["words"], first["count"], first["submission"], first["state"]) == ('<"&>', 1, 1, "submitted")
    assert (second["words"], second["count"], second["seen"]) == ("Resources", 2, world.store.fact("seen"))
    ns = {"jim": "urn:jim:status:1"}
    elements = etree.fromstring(document(world.store, 1)).findall("jim:queued", ns)
    assert [(each.get("words"), each.get("count")) for each in elements] == [('<"&>', "1"), ("Resources", "2")]
    for expression, results in {
        "//jim:queued[@words='Resources']/@count": ["2"],
        "/jim:site/jim:grid_job[jim:queued/@words='Resources']/@id": ["1"],
        "count(//jim:queued)": ["2"],
        "/jim:site/jim:grid_job/jim:queued[@count > 1]/@since": [second["since"]],
        "/jim:site/jim:grid_job[jim:queued/@words='Priority']/@id": [],
    }.items():
        plan = planned(View(world.site, world.store.reader()), expression, Of())
        assert (expression, plan.way, list(plan.warnings)) == (expression, "translated", [])
        found = list(answered(View(world.site, world.store.reader()), plan))
        assert (expression, [each.text for each in found]) == (expression, results)
        assert {each.job for each in found} <= {"1", ""}


def test_the_command_line_prints_them(world, monkeypatch, capsys):
    say(world, "Resources", "\x1b[31mred", "Resources")
    view = View(world.site, world.store)
    for verb in (explain, show):
        monkeypatch.setattr(verb, "look", lambda: view)
    for name, verb in {"explain": explain, "show": show}.items():
        verb.run(parser_of(name).parse_args(["1"]))
        out = capsys.readouterr().out
        assert "2 × Resources (for " in out
        assert "1 × \\x1b[31mred (for " in out
        assert "\x1b" not in out
    show.run(parser_of("show").parse_args(["1", "--json"]))
    assert [each["count"] for each in json.loads(capsys.readouterr().out)["queue"]] == [2, 1]
