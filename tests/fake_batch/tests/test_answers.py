"""What the fake batch system prints, each adapter understands: else histories would hold for want of an answer."""

from __future__ import annotations

from importlib import import_module

import pytest

from jim.evidence.verdict import OF_TIME
from jim.model import State
from tests.fake_batch.dialect import Said
from tests.fake_batch.gateway import Gateway
from tests.fake_batch.histories import DIALECTS
from tests.fake_batch.liar import Lie, distorted

HISTORIES = [
    (name, history)
    for name in DIALECTS
    for history in ("", *import_module(f"tests.fake_batch.dialects.{name}").DIALECT.histories)
]
TELLS_NO_CODES = "pbs_wrappers"
NO_WORD_OF_LIMITS = ("sge", TELLS_NO_CODES)  # of time alone


@pytest.fixture
def gateway(request, tmp_path, monkeypatch):
    """Have five local jobs seen in the queue."""
    name, history = request.param
    world = Gateway(tmp_path, monkeypatch, import_module(f"tests.fake_batch.dialects.{name}").DIALECT(history))
    world.submit(5)
    world.until(lambda: world.store.counts(1) == {State.SUBMITTED: 5})
    world.go(2, 6.0)
    assert not world.store.submissions("recorded")
    return world


def asked(gateway, command, parse):
    """Ask the fake through the adapter, and give what is seen by mark and index."""
    ids = {each.batch_id for each in gateway.store.submissions("confirmed")}
    listing = parse(gateway.liar.run(command, limit=1.0))
    assert {id_ for id_, _ in listing} <= ids
    return {(seen.mark, index): seen for (_, index), seen in listing.items()}


def history(gateway):
    ids = [each.batch_id for each in gateway.store.submissions("confirmed")]
    return asked(gateway, gateway.batch.history_command(ids), gateway.batch.parse_history)


def end_each_in_its_way(gateway):
    """End five tasks: exit 0, exit 1, signal 9, beyond its time, cancelled."""
    tasks = list(gateway.engine.tasks.values())
    runs = [gateway.nodes.start(task) for task in tasks]
    gateway.nodes.finish(runs[0])
    gateway.nodes.finish(runs[1], 1)
    gateway.nodes.die(runs[2])
    gateway.engine.end(tasks[2], signal=9)
    gateway.engine.end(tasks[3], why="limit")
    gateway.engine.cancel(tasks[4])
    return tasks


@pytest.mark.parametrize("gateway", [(name, "") for name in DIALECTS], ids=DIALECTS, indirect=True)
def test_what_is_listed_and_found_is_told(gateway):
    batch = gateway.batch
    tasks = list(gateway.engine.tasks.values())
    gateway.nodes.start(tasks[0])
    for task in tasks:
        now = State.RUNNING if task is tasks[0] else State.SUBMITTED
        assert asked(gateway, batch.query_command(), batch.parse_query)[task.key].state is now
        assert asked(gateway, batch.find_command(task.mark), batch.parse_find)[task.key].state is now


@pytest.mark.parametrize("gateway", HISTORIES, ids=map("-".join, HISTORIES), indirect=True)
def test_how_jobs_ended_is_told_by_their_history(gateway):
    name = gateway.batch.name
    tasks = end_each_in_its_way(gateway)
    told = history(gateway)
    assert told.keys() == {task.key for task in tasks}
    good, bad, killed, late, cancelled = (told[task.key] for task in tasks)
    assert all(each.state in (State.FAILED, State.KILLED) for each in (bad, killed, late, cancelled))
    assert (gateway.batch.kind_of(late) in OF_TIME) == (name not in NO_WORD_OF_LIMITS)
    if name == TELLS_NO_CODES:
        assert good.state is State.FAILED  # it has ended, that is all
    else:
        assert (good.state, good.code) == (State.COMPLETED, 0)
        assert [(each.code, each.signal) for each in (bad, killed)] == [(1, None), (None, 9)]


@pytest.mark.parametrize("gateway", HISTORIES, ids=map("-".join, HISTORIES), indirect=True)
def test_of_what_goes_on_no_history_tells_an_end(gateway):
    first = next(iter(gateway.engine.tasks.values()))
    gateway.nodes.start(first)
    assert not any(seen.state.final for seen in history(gateway).values())


@pytest.mark.parametrize("gateway", [("sge", ""), ("sge", "qacct")], indirect=True)
def test_an_end_that_nobody_saw_is_no_end(gateway):
    lost, *_ = gateway.engine.tasks.values()
    gateway.nodes.start(lost)
    gateway.engine.end(lost, why="node")
    assert history(gateway) == {}


def test_an_answer_may_be_cut_at_any_byte_with_any_exit_code():
    whole = Said(0, "x" * 5000)
    cuts = {(said.code, len(said.out)) for knob in range(60_000) for said in [distorted(whole, Lie("cut", knob))]}
    codes = {code for code, _ in cuts}
    assert cuts == {(code, length) for code in codes for length in range(5001)}
