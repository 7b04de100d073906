"""Scenes that random histories brought to light, each by itself."""

from __future__ import annotations

import pytest

from jim.evidence.listing import NOTHING_NOTED
from jim.keeper.queue import asking
from jim.model import State
from tests.fake_batch.dialects.lsf import Lsf
from tests.fake_batch.dialects.sge import Sge
from tests.fake_batch.dialects.slurm import Slurm
from tests.fake_batch.engine import Phase
from tests.fake_batch.gateway import VISIBLE, Gateway
from tests.fake_batch.histories import dialect_of
from tests.fake_batch.liar import NOT_OBEYED, Lie


@pytest.fixture
def gateway(tmp_path, monkeypatch):
    return Gateway(tmp_path, monkeypatch, Slurm())


def submitted(gateway, pieces=2):
    """Hand in a grid job whose local jobs have been seen in the queue."""
    gateway.submit(pieces)
    gateway.until(lambda: gateway.state(1) is State.SUBMITTED)
    gateway.go(2, 6.0)
    assert gateway.store.submissions("confirmed")
    return gateway


def test_two_listings_in_short_order_do_not_prove_absence_minutes_later(gateway):
    submitted(gateway)
    gateway.engine.tasks[1, 1].hidden = 2
    gateway.go(2, 6.0)
    assert gateway.engine.tasks[1, 1].hidden == 0
    gateway.liar.lies["ask"] += [Lie("down")] * 9  # and then nobody can ask
    gateway.wait(5 * VISIBLE)
    gateway.go(20, 6.0)
    assert [each.attempt for each in gateway.store.attempts(1)] == [1, 1]


def test_a_promised_job_that_is_listed_late_is_not_given_up_before_the_site_says_so(gateway):
    gateway.submit(1)
    gateway.until(lambda: gateway.state(1) is State.SUBMITTED)
    gateway.engine.tasks[1, 1].hidden = 99
    gateway.liar.patience = VISIBLE  # so long listings leave it out, and no longer
    gateway.go(20, 5.0)
    assert gateway.engine.tasks[1, 1].hidden == 0
    assert [each.attempt for each in gateway.store.attempts(1)] == [1]
    assert gateway.engine.tasks[1, 1].phase is Phase.PENDING


def test_a_job_that_was_found_by_its_mark_is_doubted_anew(gateway):
    """Listings do not show it; then its mark does, late; then a listing or two again do not show it."""
    gateway.submit(1)
    gateway.until(lambda: gateway.state(1) is State.SUBMITTED)
    gateway.engine.tasks[1, 1].hidden = 3
    gateway.until(lambda: gateway.keeper.doubts and gateway.store.submissions("unknown"), seconds=6.0)
    gateway.engine.tasks[1, 1].hidden = 0
    gateway.liar.lies["ask"].append(Lie("lost"))
    gateway.until(lambda: gateway.store.submissions("confirmed"))
    gateway.wait(VISIBLE)
    gateway.engine.tasks[1, 1].hidden = 2
    gateway.go(6, 6.0)
    assert gateway.engine.tasks[1, 1].hidden == 0
    assert [each.attempt for each in gateway.store.attempts(1)] == [1]


@pytest.mark.parametrize("lie", ["", "unclear"])
def test_a_resume_that_overtakes_the_listing_releases_what_was_held(gateway, lie):
    submitted(gateway, 1)
    gateway.go(1, 1.0)  # just listed: the next listing comes after the resume
    if lie:
        gateway.liar.lies["tell"].append(Lie(lie))
    gateway.wish("suspend", "1")
    gateway.until(lambda: gateway.engine.tasks[1, 1].phase is Phase.HELD)
    gateway.wish("resume", "1")
    gateway.go(30, 2.0)
    assert gateway.engine.tasks[1, 1].phase is Phase.PENDING
    assert not gateway.store.grid_job(1).wish


def test_a_listing_counts_once_all_of_it_is_taken_in(gateway):
    submitted(gateway)
    keeper, before = gateway.keeper, gateway.keeper.doubts.listed.at
    seen = asking.Compared(alike={(1, 1, State.SUBMITTED, State.HELD, NOTHING_NOTED): [0, 1]}, proves_absence=True)
    asking.take_in(keeper, before + 1, seen)
    assert keeper.workers.deliver(0)
    assert (gateway.state(1), keeper.doubts.listed.at) == (State.HELD, before)
    assert keeper.workers.deliver(0)
    assert keeper.doubts.listed.at == before + 1


def test_a_look_at_what_is_missing_does_not_undo_a_later_listing(gateway):
    submitted(gateway, 1)
    gateway.engine.forget()
    gateway.go(20, 20.0)  # each listing is taken in while a look is under way
    assert [each.attempt for each in gateway.store.attempts(1)] == [1, 2]


@pytest.mark.parametrize("lie", ["ignored", "late", "unclear"])
def test_a_cancel_is_believed_when_the_end_is_seen(gateway, lie):
    """It was answered well, or not at all, and nothing came of it: what runs is not told as killed."""
    task = submitted(gateway, 1).engine.tasks[1, 1]
    gateway.nodes.report(gateway.nodes.start(task))
    gateway.go(2, 6.0)
    gateway.liar.lies["tell"] += [Lie(lie, 1)] * 99
    gateway.wish("cancel", "1")
    gateway.go(20, 6.0)
    assert gateway.liar.asked.count("tell") > 1
    assert (task.phase, gateway.state(1)) == (Phase.RUNNING, State.RUNNING)
    gateway.liar.lies["tell"].clear()
    gateway.until(lambda: gateway.state(1) is State.KILLED, seconds=6.0)
    assert (task.phase, gateway.nodes.runs) == (Phase.ENDED, [])


def test_a_controller_that_is_down_gives_up_nothing(gateway):
    gateway.liar.lies["submit"] += [Lie("down", NOT_OBEYED)] * 3
    gateway.submit(1)
    gateway.until(lambda: not gateway.liar.lies["submit"], seconds=5.0)
    gateway.until(lambda: gateway.state(1) is State.SUBMITTED, seconds=5.0)
    assert [each.verdict for each in gateway.store.attempts(1)] == ["again", "again", "again", ""]
    assert gateway.store.local_job(1, 0).spent == 0


def test_what_was_accepted_and_denied_is_found_by_its_mark(gateway):
    for n, word in enumerate(("down", "full"), 1):
        gateway.liar.lies["submit"].append(Lie(word))
        gateway.submit(1, key=word)
        gateway.until(lambda n=n: gateway.state(n) is State.SUBMITTED, seconds=5.0)
        assert [each.attempt for each in gateway.store.attempts(n)] == [1]
        assert [each.batch_id for each in gateway.store.submissions("confirmed", grid=n)] == [str(n)]


def test_what_was_accepted_and_denied_does_not_run_beside_its_successor(gateway):
    """Nor does it run after its grid job is told as cancelled, though no listing ever shows it."""
    gateway.liar.lies["submit"] += [Lie("full"), Lie("down")]
    gateway.submit(1)
    gateway.submit(1, key="cancelled")
    gateway.until(lambda: len(gateway.engine.tasks) == 2)
    first, second = gateway.engine.tasks.values()
    first.hidden = second.hidden = 10**6
    gateway.wish("cancel", "2")
    gateway.until(lambda: gateway.finished(2) and len(gateway.engine.tasks) == 3, seconds=5.0)
    assert gateway.store.counts(2) == {State.KILLED: 1}
    assert gateway.nodes.start(first) is gateway.nodes.start(second) is None


def test_a_suspended_job_that_was_put_back_and_has_ended_is_not_waited_for(tmp_path, monkeypatch):
    """Its second start was refused, so that its end says nothing of the first; but nobody suspends it any more."""
    gateway = submitted(Gateway(tmp_path, monkeypatch, Lsf()), pieces=1)
    task = gateway.engine.tasks[1, 1]
    run = gateway.nodes.start(task)
    gateway.nodes.report(run)
    gateway.wish("suspend", "1")
    gateway.until(lambda: gateway.state(1) is State.SUSPENDED, seconds=5.0)
    gateway.nodes.die(run)
    gateway.engine.put_back(task)
    assert gateway.nodes.start(task) is None
    gateway.wish("resume", "1")
    gateway.until(lambda: len(gateway.store.attempts(1)) == 2, seconds=10.0)
    assert gateway.store.grid_job(1).wish == ""


def test_a_suspended_job_that_is_listed_as_ended_is_resumed_no_more(tmp_path, monkeypatch):
    """LSF lists ended jobs for an hour and more, and this one knows no history: only silence tells of the death."""
    gateway = submitted(Gateway(tmp_path, monkeypatch, dialect_of("lsf", 1)), pieces=1)
    gateway.engine.accounts_after, gateway.liar.flatters = 1e9, True
    task = gateway.engine.tasks[1, 1]
    run = gateway.nodes.start(task)
    gateway.nodes.report(run)
    gateway.wish("suspend", "1")
    gateway.until(lambda: gateway.state(1) is State.SUSPENDED, seconds=5.0)
    gateway.nodes.die(run)
    gateway.engine.end(task, signal=9)
    gateway.wish("resume", "1")
    gateway.until(lambda: len(gateway.store.attempts(1)) == 2, seconds=10.0)
    assert gateway.store.grid_job(1).wish == ""


def test_what_could_not_be_started_and_stays_is_taken_out_of_the_queue(tmp_path, monkeypatch):
    dialect = Sge()
    told = dialect.told

    def in_error(ask, tasks, now):
        said = told(ask, tasks, now)
        return said._replace(out=said.out.replace("<state>qw</state>", "<state>Eqw</state>"))

    monkeypatch.setattr(dialect, "told", in_error)
    gateway = Gateway(tmp_path, monkeypatch, dialect)
    gateway.submit(1)
    gateway.until(lambda: gateway.finished(1), seconds=20.0)
    attempts = gateway.store.attempts(1)
    assert gateway.store.counts(1) == {State.FAILED: 1}
    assert {each.reason.partition(";")[0] for each in attempts} == {"lost: Eqw: it could not be started"}
    gateway.submit(1, key="another")  # while there is something to ask about
    gateway.go(10, 20.0)
    left = [task.phase for (id_, _), task in gateway.engine.tasks.items() if id_ <= len(attempts)]
    assert left == [Phase.ENDED] * 3


@pytest.mark.parametrize("dialect", [Lsf, Slurm])
def test_what_is_left_of_an_ended_attempt_does_not_fill_the_queue_for_ever(tmp_path, monkeypatch, dialect):
    """Nothing else of JIM is there to be asked about, and one job is all that the batch system takes."""
    gateway = submitted(Gateway(tmp_path, monkeypatch, dialect()), pieces=1)
    task = gateway.engine.tasks[1, 1]
    run = gateway.nodes.start(task)
    gateway.nodes.report(run)
    gateway.nodes.die(run)
    gateway.engine.put_back(task)
    gateway.engine.change("hold", task)
    gateway.liar.most = 1
    gateway.until(lambda: len(gateway.engine.tasks) == 2, seconds=10.0)
    assert task.phase is Phase.ENDED
