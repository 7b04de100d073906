"""Publications in the namespace of a job type's grammar: kept, compared, and marked if they differ."""

import pytest

from jim.errors import JimError
from jim.handlers.executable import HANDLER
from jim.keeper.attempts import validating
from jim.keeper.attempts.arrivals import take_spool
from jim.request.grammars import grammars_of
from jim.statusdb.documents.validating import Found
from tests.support.stand_ins import World

GRAMMAR = '<element name="a" ns="urn:mine" xmlns="http://relaxng.org/ns/structure/1.0"><empty/></element>'


@pytest.fixture
def world(tmp_path, monkeypatch):
    grammars_of.cache_clear()
    (tmp_path / "mine.rng").write_text(GRAMMAR)
    files = {"urn:mine": tmp_path / "mine.rng"}
    monkeypatch.setattr("jim.keeper.attempts.publishing.grammars_of", lambda *_: files)
    monkeypatch.setattr("jim.keeper.attempts.validating.grammars_of", lambda *_: files)
    world = World(tmp_path / "world", monkeypatch)
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.grammar = files["urn:mine"]
    (world.task,) = world.batch.tasks.values()
    return world


def publish(world, **elements):
    for key, text in elements.items():
        (world.site.work / f"spool/{world.task.mark}.1.pub.{key}").write_text(text)
    take_spool(world.keeper)


def valid(world):
    return {each.name: each.valid for each in world.store.publications.details(1)}


def test_what_differs_is_kept_and_marked_and_no_local_job_suffers(world):
    publish(world, good='<a xmlns="urn:mine"/>', bad='<b xmlns="urn:mine"/>', other="<a/>")
    assert valid(world) == {"bad": "?", "good": "?", "other": ""}
    world.go(3)
    found = valid(world)
    assert (found["good"], found["other"]) == ("", "")
    assert "b" in found["bad"]
    publish(world, bad='<a xmlns="urn:mine"/>')
    world.go(3)
    assert valid(world)["bad"] == ""
    world.batch.finish(1)
    world.until(lambda: world.store.grid_job(1).outcome == "completed")


def test_with_a_grammar_that_is_not_well_formed_jobs_run(world, caplog):
    world.grammar.write_text("<element")
    publish(world, good='<a xmlns="urn:mine"/>')
    world.go(3)
    assert valid(world) == {"good": ""}
    assert "mine.rng cannot be used" in caplog.text
    world.batch.finish(1)
    world.until(lambda: world.store.grid_job(1).outcome == "completed")


def test_the_one_for_which_the_child_needs_too_much_is_found_and_marked(world, monkeypatch):
    def compare(elements):
        if any("bomb" in content for content, _ in elements):
            raise JimError("it took too long")
        return Found({}, [""] * len(elements))

    monkeypatch.setattr(validating, "compare", compare)
    publish(world, **{f"n{n}": '<a xmlns="urn:mine"/>' for n in range(9)}, bomb='<bomb xmlns="urn:mine"/>')
    move = validating.Validating()
    for _ in range(30):
        world.keeper.workers.forget(validating.KEY)
        move(world.keeper)
        if world.keeper.workers.idle():
            break
        world.keeper.workers.deliver(5.0)
    assert valid(world) == {"bomb": "it took too long", **{f"n{n}": "" for n in range(9)}}


def test_an_answer_about_what_was_replaced_meanwhile_counts_for_nothing(world):
    publish(world, mine='<b xmlns="urn:mine"/>')
    (asked,) = world.store.publications.unchecked(9)
    publish(world, mine='<a xmlns="urn:mine"/>')
    world.store.publications.are_checked([(asked, "differs")])
    assert valid(world) == {"mine": "?"}


def test_most_job_types_have_no_grammar():
    assert HANDLER.published == {}
