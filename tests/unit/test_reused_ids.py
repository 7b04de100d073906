"""After a crash a batch system gives ids out again: what another has now is not JIM's to cancel, hold or suspend."""

from __future__ import annotations

from importlib import import_module

import pytest

from jim.model import State
from tests.fake_batch.engine import Phase, Submission
from tests.fake_batch.gateway import Gateway
from tests.fake_batch.liar import Lie

OTHERS = [pytest.param(name, marks=pytest.mark.torture) for name in ("sge", "pbs", "torque", "lsf")]


@pytest.fixture(params=["slurm", "condor", *OTHERS])
def gateway(request, tmp_path, monkeypatch):
    gateway = Gateway(tmp_path, monkeypatch, import_module(f"tests.fake_batch.dialects.{request.param}").DIALECT())
    gateway.submit(2)
    gateway.until(lambda: gateway.state(1) is State.SUBMITTED)
    return gateway


def run_all(gateway):
    for task in list(gateway.engine.tasks.values()):
        gateway.nodes.report(gateway.nodes.start(task))
    gateway.go(2, 6.0)
    assert gateway.store.counts(1) == {State.RUNNING: 2}


def strangers(gateway):
    """Lose the job, and let a person of the same account be given its id."""
    gateway.engine.forget()
    gateway.engine.accept(Submission("my-own-work", 2, "/home/person/x.sh"))
    gateway.go(2, 6.0)


@pytest.mark.parametrize("verb", ["cancel", "suspend"])
def test_a_running_job_s_id_that_another_has_now_is_not_cancelled(gateway, verb):
    run_all(gateway)
    strangers(gateway)
    gateway.wish(verb, "1")
    gateway.go(10, 20.0)
    assert [each.phase for each in gateway.engine.tasks.values()] == [Phase.PENDING] * 2


def test_a_waiting_job_s_id_that_another_has_now_is_not_cancelled(gateway):
    gateway.go(2, 6.0)
    strangers(gateway)
    gateway.wish("cancel", "1")
    gateway.go(10, 20.0)
    assert [each.phase for each in gateway.engine.tasks.values()] == [Phase.PENDING] * 2
    assert gateway.store.counts(1) == {State.KILLED: 2}


def test_of_what_runs_after_a_restart(gateway):
    run_all(gateway)
    strangers(gateway)
    gateway.wish("cancel", "1")
    gateway.restart()
    gateway.go(10, 20.0)
    assert [each.phase for each in gateway.engine.tasks.values()] == [Phase.PENDING] * 2


def test_of_what_runs_once_a_listing_has_shown_nothing(gateway):
    run_all(gateway)
    strangers(gateway)
    gateway.liar.lies["ask"] = [Lie("none")] * 2
    gateway.go(1, 6.0)
    gateway.wish("cancel", "1")
    gateway.go(10, 20.0)
    assert [each.phase for each in gateway.engine.tasks.values()] == [Phase.PENDING] * 2


def test_another_grid_job_s_of_the_same_keeper(gateway):
    gateway.engine.forget()
    gateway.submit(2, key="another")
    gateway.until(lambda: gateway.store.counts(2).get(State.SUBMITTED) == 2)
    gateway.go(2, 6.0)
    gateway.wish("cancel", "1")
    gateway.go(10, 20.0)
    assert {each.phase for each in gateway.engine.tasks.values()} == {Phase.PENDING}
    assert gateway.store.counts(2) == {State.SUBMITTED: 2}


def test_another_grid_job_s_while_one_of_it_is_missed_too(gateway):
    run_all(gateway)
    gateway.engine.forget()
    gateway.submit(2, key="another")
    gateway.until(lambda: gateway.store.counts(2).get(State.SUBMITTED) == 2)
    tasks = list(gateway.engine.tasks.values())
    lost, other = (gateway.nodes.start(task) for task in tasks)
    gateway.nodes.report(lost)
    gateway.nodes.report(other)
    gateway.nodes.die(lost)
    gateway.engine.end(tasks[0], signal=9)
    gateway.go(2, 6.0)
    gateway.wish("cancel", "1")
    gateway.go(4, 6.0)
    assert tasks[1].phase is Phase.RUNNING
    gateway.wish("cancel", "2")
    gateway.go(4, 6.0)
    assert tasks[1].phase is Phase.ENDED
