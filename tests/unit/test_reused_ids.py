"""After a crash a batch system gives ids out again: what another has now is not JIM's to cancel, hold or suspend."""

from __future__ import annotations

from importlib import import_module

import pytest

from jim.model import State
from jim.reading.job import waits
from jim.reading.view import View
from tests.fake_batch.engine import Phase, Submission
from tests.fake_batch.gateway import Gateway
from tests.fake_batch.liar import Lie
from tests.support.sampled import sampled

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
def test_a_running_job_s_id_that_another_has_now_is_not_cancelled(gateway, verb, caplog):
    caplog.set_level("INFO", "jim.keeper.queue.fulfilling")
    run_all(gateway)
    strangers(gateway)
    gateway.wish(verb, "1")
    gateway.go(10, 20.0)
    assert [each.phase for each in gateway.engine.tasks.values()] == [Phase.PENDING] * 2
    assert "sent to the batch system" not in caplog.text


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


# Given out again, and no listing since


def twice_given(gateway):
    """Let both grid jobs be batch job 1, one by one, and run; no listing is asked for after that."""
    run_all(gateway)
    gateway.go(1, 0.1)  # just listed: the next listing comes 5 s later
    gateway.engine.forget()
    gateway.submit(2, key="another")
    gateway.until(lambda: gateway.store.counts(2).get(State.SUBMITTED) == 2, 0.1)
    for task in gateway.engine.tasks.values():
        gateway.nodes.report(gateway.nodes.start(task))
    ids = [each.batch_id for each in gateway.store.submissions("recorded", "confirmed")]
    assert ids[0] == ids[1]


def cancelled(gateway):
    return [each.mark for each in gateway.engine.notes("cancelled")]


def explained(gateway, grid):
    view = View(gateway.site, gateway.store)
    return " ".join(each.what for each in waits.of_grid_job(view, gateway.store.grid_job(grid)))


@pytest.mark.parametrize("wish", ["1", "1.0"])
def test_a_cancel_waits_for_the_listing_that_tells_whose_an_id_is(gateway, wish):
    twice_given(gateway)
    gateway.wish("cancel", wish)
    gateway.go(3, 0.1)
    assert cancelled(gateway) == []
    gateway.go(10, 20.0)
    assert cancelled(gateway) == []
    assert gateway.store.counts(2) == {State.RUNNING: 2}


@pytest.mark.parametrize("pace", [0.1, 3.0])
@pytest.mark.parametrize("rounds", sampled([1, 3, 0, 2], 2))
def test_whenever_the_id_is_given_out_again_and_the_cancel_comes(gateway, rounds, pace):
    run_all(gateway)
    gateway.go(rounds, pace)
    gateway.engine.forget()
    gateway.submit(2, key="another")
    gateway.until(lambda: gateway.store.counts(2).get(State.SUBMITTED) == 2, 0.0)
    gateway.go(3 - rounds, pace)
    gateway.wish("cancel", "1")
    gateway.go(10, pace)
    gateway.go(10, 20.0)
    assert cancelled(gateway) == []
    assert gateway.store.counts(2) == {State.SUBMITTED: 2}


def test_it_ends_what_the_listing_shows_as_its_own(gateway):
    twice_given(gateway)
    mine = [each.mark for each in gateway.engine.tasks.values()]
    gateway.wish("cancel", "2")
    gateway.go(3, 0.1)
    assert cancelled(gateway) == []
    gateway.go(4, 20.0)
    assert cancelled(gateway) == mine
    assert gateway.store.counts(2) == {State.KILLED: 2}


def test_no_running_job_of_another_is_suspended_meanwhile(gateway):
    twice_given(gateway)
    gateway.wish("suspend", "1")
    gateway.go(10, 0.1)
    gateway.go(10, 20.0)
    assert {each.phase for each in gateway.engine.tasks.values()} == {Phase.RUNNING}


def test_a_resume_waits_too_and_releases_its_own(gateway):
    run_all(gateway)
    gateway.submit(2, key="another")
    gateway.until(lambda: gateway.store.counts(2).get(State.SUBMITTED) == 2)
    gateway.wish("suspend", "2")
    gateway.until(lambda: gateway.store.counts(2).get(State.HELD) == 2, 6.0)
    gateway.go(1, 0.1)  # just listed
    first, second = gateway.store.submissions("recorded", "confirmed")
    gateway.store.set_submission(1, first.k, batch_id=second.batch_id)
    gateway.wish("resume", "2")
    gateway.go(3, 0.1)
    mine = gateway.engine.of(int(second.batch_id.split("[")[0].split(".")[0]))
    assert [each.phase for each in mine] == [Phase.HELD] * 2
    gateway.go(10, 20.0)
    assert gateway.store.counts(2) == {State.SUBMITTED: 2}
    assert not gateway.store.grid_job(2).wish


def test_what_a_wish_waits_for_is_told(gateway):
    twice_given(gateway)
    id_ = gateway.store.submissions("recorded", "confirmed", grid=1)[0].batch_id
    words = f"another submission has got batch job {id_}, too"
    gateway.wish("cancel", "1")
    gateway.go(3, 0.1)
    assert words in explained(gateway, 1)
    gateway.go(10, 20.0)
    assert words not in explained(gateway, 1)


def test_what_took_its_claim_under_an_id_that_another_has_is_not_ended_by_that(gateway):
    """The batch system accepted it twice, and runs it under the other id."""
    gateway.liar.lies["submit"].append(Lie("twice"))
    gateway.submit(1, key="twice")
    gateway.until(lambda: gateway.store.counts(2).get(State.SUBMITTED) == 1)
    stored = gateway.store.submissions("recorded", "confirmed", grid=2)[0].batch_id
    task = max(gateway.engine.tasks.values(), key=lambda each: each.job.id)
    gateway.nodes.report(gateway.nodes.start(task))
    gateway.go(2, 6.0)
    gateway.engine.forget()
    gateway.submit(1, key="another")
    gateway.until(lambda: gateway.store.counts(3).get(State.SUBMITTED) == 1)
    assert gateway.store.submissions("recorded", "confirmed", grid=3)[0].batch_id != stored
    gateway.go(2, 6.0)
    gateway.wish("cancel", "2")
    gateway.go(10, 20.0)
    assert not [mark for mark in cancelled(gateway) if "-3-" in mark]


def twice_claimed(gateway):
    """Let grid job 2 run under another id than the stored one, and let grid job 3 be given that; return its tasks."""
    gateway.liar.lies["submit"].append(Lie("twice"))
    gateway.submit(1, key="twice")
    gateway.until(lambda: gateway.store.counts(2).get(State.SUBMITTED) == 1)
    gateway.nodes.report(gateway.nodes.start(max(gateway.engine.tasks.values(), key=lambda each: each.job.id)))
    gateway.go(2, 6.0)
    gateway.engine.forget()
    gateway.submit(1, key="another")
    gateway.until(lambda: gateway.store.counts(3).get(State.SUBMITTED) == 1)
    return [task for task in gateway.engine.tasks.values() if "-3-" in task.mark]


def test_a_listing_that_omits_another_s_job_does_not_tell_that_its_id_is_free(gateway):
    (other,) = twice_claimed(gateway)
    gateway.nodes.report(gateway.nodes.start(other))
    gateway.go(2, 6.0)
    id_ = gateway.store.submissions("recorded", "confirmed", grid=3)[0].batch_id
    words = f"another submission has got batch job {id_}, too"
    gateway.liar.lies["ask"] = [Lie("none")] * 6
    gateway.go(1, 6.0)
    gateway.wish("cancel", "2")
    gateway.go(3, 6.0)
    assert words in explained(gateway, 2)
    gateway.go(10, 20.0)
    assert not [mark for mark in cancelled(gateway) if "-3-" in mark]
    assert gateway.store.counts(3) == {State.RUNNING: 1}
    assert words not in explained(gateway, 2)
