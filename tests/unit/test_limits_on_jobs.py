"""A batch system that takes only so many jobs: others wait for them to end, and are sent in smaller parts."""

from __future__ import annotations

from importlib import import_module

import pytest

from jim.model import State
from tests.fake_batch.gateway import Gateway
from tests.fake_batch.histories import DIALECTS

HAVING_LIMITS = [name for name in DIALECTS if name not in ("local", "sge")]


def gateway_of(name, tmp_path, monkeypatch):
    return Gateway(tmp_path, monkeypatch, import_module(f"tests.fake_batch.dialects.{name}").DIALECT())


def handed_over(gateway):
    return [entry.mark.rpartition("-")[2] for entry in gateway.engine.notes("handed over")]


def sizes(gateway):
    """Tell how many local jobs each accepted submission had."""
    accepted = [entry.id for entry in gateway.engine.notes("accepted")]
    return [len(gateway.engine.of(id_)) for id_ in accepted]


def finish_all(gateway):
    for task in list(gateway.engine.tasks.values()):
        run = gateway.nodes.start(task) if not task.starts else None
        if run:
            gateway.nodes.finish(run)


@pytest.mark.parametrize("name", HAVING_LIMITS)
def test_nothing_fails_for_a_limit_on_jobs(name, tmp_path, monkeypatch):
    gateway = gateway_of(name, tmp_path, monkeypatch)
    gateway.liar.most = 3
    failed = []  # the batch system is well
    monkeypatch.setattr(gateway.keeper.health, "failed", failed.append)
    gateway.submit(9)
    gateway.until(lambda: gateway.engine.tasks)
    gateway.go(4, 6.0)
    assert sum(sizes(gateway)) == 3
    counts = gateway.store.counts(1)
    assert counts.pop(State.SUBMITTED) == 3
    assert set(counts) <= {State.SUBMITTING, State.WAITING}
    assert failed == []
    for _ in range(40):
        if gateway.finished(1):
            break
        finish_all(gateway)
        gateway.go(3, 6.0)
    assert gateway.store.counts(1) == {State.COMPLETED: 9}
    assert all(each.verdict == "completed" for each in gateway.store.attempts(1) if each.started)


def test_what_is_more_than_the_batch_system_ever_takes_is_sent_in_smaller_parts(tmp_path, monkeypatch):
    gateway = gateway_of("slurm", tmp_path, monkeypatch)
    gateway.liar.most = 1
    gateway.submit(3)
    gateway.until(lambda: gateway.engine.tasks, rounds=60)
    assert sizes(gateway) == [1]
    assert handed_over(gateway) == ["1", "2"]  # nothing is handed over twice, whatever was said of it
    [first, *_] = gateway.store.attempts(1)
    assert first.verdict == "again"
    assert first.reason.startswith("too many at once: sbatch: error: AssocGrpSubmitJobsLimit ")
    assert gateway.store.local_jobs(1)[0].spent == 0
    gateway.liar.most = 100
    gateway.until(lambda: gateway.store.counts(1) == {State.SUBMITTED: 3})
    assert sizes(gateway) == [1, 2]  # twice as many as the last time


def test_a_cancel_meanwhile_is_obeyed(tmp_path, monkeypatch):
    gateway = gateway_of("slurm", tmp_path, monkeypatch)
    gateway.liar.most = 0
    gateway.submit(3)
    gateway.go(20, 20.0)
    gateway.wish("cancel", "1")
    gateway.until(lambda: gateway.finished(1))
    assert gateway.store.counts(1) == {State.KILLED: 3}
