"""Starts and good ends are taken in together; each decides as it does alone, and all else is taken in alone."""

import pytest

from jim.errors import DiskFull
from jim.keeper.attempts import arrivals, bulk_reports
from jim.keeper.attempts.arrivals import take_spool
from jim.model import State, SubmissionState, Witness
from tests.support.stand_ins import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Four local jobs of one submission, which the batch system has accepted."""
    world = World(tmp_path, monkeypatch)
    world.submit(4)
    world.until(lambda: world.store.submissions(SubmissionState.RECORDED, SubmissionState.CONFIRMED))
    return world


@pytest.fixture
def alone(monkeypatch):
    """Count what is taken in alone."""
    taken, take = [], arrivals._take
    monkeypatch.setattr(arrivals, "_take", lambda keeper, each: taken.append(each.path.name) or take(keeper, each))
    return taken


def index(*names):
    return sorted((int(name.split(".")[1]), name.split(".")[2]) for name in names)


def states(world):
    return [each.state for each in world.store.local_jobs(1)]


def lines(world, n):
    """Give what happened to a local job since it was submitted."""
    found = [(each.was, each.now, each.witness) for each in world.store.journals.of(1, n)]
    return found[[now for _, now, _ in found].index("submitted") + 1 :]


def spool(world):
    return list((world.site.work / "spool").iterdir())


def begin_and_end(world, *indices, **end):
    (id_,) = {id_ for id_, _ in world.batch.tasks}
    for each in indices:
        world.batch.start(id_, each)
        world.batch.finish(id_, each, **end)


def test_start_and_end_that_lie_together_are_one_step_with_a_line_for_each(world, alone):
    begin_and_end(world, 1, 2, 3)
    take_spool(world.keeper)
    assert states(world) == [State.COMPLETING] * 3 + [State.SUBMITTED]
    assert lines(world, 1) == [("submitted", "running", "claim"), ("running", "completing", "exit record")]
    attempts = world.store.attempts(1)[:3]
    told = [(each.host, bool(each.started), each.record.split("\n")[2], each.verdict) for each in attempts]
    assert told == [("node1", True, "index 1", ""), ("node1", True, "index 2", ""), ("node1", True, "index 3", "")]
    assert not world.store.attempt(1, 1, 4).started
    assert world.store.grid_job(1).started
    assert (alone, spool(world)) == ([], [])
    assert world.store.counts(1) == {State.COMPLETING: 3, State.SUBMITTED: 1}


def test_long_records_are_not_all_in_memory_at_once(world, alone, monkeypatch):
    monkeypatch.setattr(
        "jim.keeper.attempts.bulk_reports.LONGEST_AT_ONCE", 300
    )  # one record is longer than half of that
    begin_and_end(world, 1, 2, 3)
    take_spool(world.keeper)
    assert states(world)[:3] == [State.COMPLETING] * 3
    assert [kind for _, kind in index(*alone)] == ["exit", "start"]


def test_long_records_of_bad_ends_are_not_all_in_memory_at_once(world, monkeypatch):
    read, real = [], bulk_reports.read_exit_record
    monkeypatch.setattr(bulk_reports, "LONGEST_AT_ONCE", 300)
    monkeypatch.setattr(bulk_reports, "read_exit_record", lambda text: read.append(text) or real(text))
    begin_and_end(world, 1, 2, 3, code=1)
    take_spool(world.keeper)
    assert len(read) == 2
    assert [world.store.attempt(1, 1, idx).reason for idx in (1, 2, 3)] == ["exit 1"] * 3


def test_starts_come_first_and_ends_later(world, alone):
    (id_,) = {id_ for id_, _ in world.batch.tasks}
    world.batch.start(id_, 1)
    world.batch.start(id_, 2)
    take_spool(world.keeper)
    assert states(world) == [State.RUNNING] * 2 + [State.SUBMITTED] * 2
    world.batch.finish(id_, 1)
    world.batch.finish(id_, 2)
    take_spool(world.keeper)
    assert states(world) == [State.COMPLETING] * 2 + [State.SUBMITTED] * 2
    assert alone == []


def test_what_fails_is_judged_alone_and_had_started_with_the_others(world, alone):
    begin_and_end(world, 1, 2)
    begin_and_end(world, 3, code=3)
    take_spool(world.keeper)
    assert states(world) == [State.COMPLETING, State.COMPLETING, State.FAILED, State.SUBMITTED]
    assert index(*alone) == [(3, "exit")]
    assert lines(world, 2) == [("submitted", "running", "claim"), ("running", "failed", "exit record")]


def test_a_report_under_another_mark_is_of_no_attempt_of_ours(world, alone):
    """Before a restore, another attempt may have had this key."""
    begin_and_end(world, 1)
    for file in spool(world):
        file.rename(file.with_name(file.name.replace("jim-cafe0001-1-1", "jim-cafe0001-1-2")))
    take_spool(world.keeper)
    assert states(world)[0] is State.SUBMITTED
    assert index(*alone) == [(1, "exit"), (1, "start")]
    assert len(list((world.site.work / "rejected").iterdir())) == 2


def test_a_record_of_another_local_job_ends_nothing(world, alone):
    begin_and_end(world, 1)
    (record,) = (each for each in spool(world) if each.name.endswith(".exit"))
    record.write_text(record.read_text().replace("\nn 0\n", "\nn 1\n"))
    take_spool(world.keeper)
    assert states(world)[:2] == [State.RUNNING, State.SUBMITTED]
    assert len(list((world.site.work / "rejected").iterdir())) == 1


def test_a_second_report_changes_nothing_more(world, alone):
    begin_and_end(world, 1)
    again = {file: file.read_text() for file in spool(world)}
    take_spool(world.keeper)
    before = world.store.journals.of(1)
    for file, text in again.items():
        file.write_text(text)
    take_spool(world.keeper)
    assert (world.store.journals.of(1), states(world)[0]) == (before, State.COMPLETING)
    assert index(*alone) == [(1, "exit"), (1, "start")]


def test_a_late_report_after_a_verdict_is_only_noted(world, alone):
    begin_and_end(world, 1)
    world.store.set_attempt(1, 1, 1, verdict="again")
    take_spool(world.keeper)
    assert states(world)[0] is State.SUBMITTED
    assert [each.now for each in world.store.journals.of(1, 0)][-1] == "late exit record"


def test_of_ends_that_cannot_be_stored_nothing_is_stored_and_no_file_goes(world, monkeypatch):
    begin_and_end(world, 1, 2)
    before = world.store.local_jobs(1), world.store.attempts(1), world.store.counts(1), world.store.in_batch()
    with monkeypatch.context() as patch:
        patch.setattr(world.store, "set_grid_job", lambda *_, **__: (_ for _ in ()).throw(DiskFull("full")))
        with pytest.raises(DiskFull):
            take_spool(world.keeper)
    after = world.store.local_jobs(1), world.store.attempts(1), world.store.counts(1), world.store.in_batch()
    assert after == before
    assert len(spool(world)) == 4
    world.run_all(1)
    assert set(states(world)) == {State.COMPLETED}


def test_the_first_report_confirms_a_submission_and_the_others_follow(world, alone):
    for n in range(4):
        world.store.set_local_job(1, n, state=State.SUBMITTING, witness=Witness.SUBMISSION)
    world.store.set_submission(1, 1, state=SubmissionState.RECORDED)
    begin_and_end(world, 1, 2)
    take_spool(world.keeper)
    assert states(world) == [State.COMPLETING] * 2 + [State.SUBMITTED] * 2
    assert world.store.submission(1, 1).state is SubmissionState.CONFIRMED
    assert alone == []


def test_a_submission_that_cannot_be_confirmed_leaves_each_report_alone(world, alone, monkeypatch):
    world.store.set_submission(1, 1, state=SubmissionState.RECORDED)
    monkeypatch.setattr(arrivals, "confirm", lambda *_: int("no number"))
    begin_and_end(world, 1)
    take_spool(world.keeper)
    assert index(*alone) == [(1, "exit"), (1, "start")]
    assert states(world)[0] is not State.COMPLETING


def test_outputs_that_are_verified_complete_together_and_a_wish_is_told_that_it_came_too_late(world):
    begin_and_end(world, 1, 2, 3)
    take_spool(world.keeper)
    world.store.set_local_job(1, 1, wish="cancel")
    world.until(lambda: states(world)[:3] == [State.COMPLETED] * 3)
    assert [(each.spent, each.wish) for each in world.store.local_jobs(1)][:3] == [(1, ""), (1, ""), (1, "")]
    assert [each.verdict for each in world.store.attempts(1)][:3] == ["completed"] * 3
    assert lines(world, 0)[-1] == ("completing", "completed", "exit record")
    assert [each.now for each in world.store.journals.of(1, 1)][-2:] == ["cancel changes nothing", "completed"]


def told(world):
    """Give all that is stored of a grid job, without times and nonces."""
    jobs = [
        (each.n, each.state, each.attempt, each.spent, each.witness, each.reason) for each in world.store.local_jobs(1)
    ]
    attempts = [(each.n, each.idx, each.host, bool(each.started), each.verdict) for each in world.store.attempts(1)]
    lines = [
        (each.was, each.now, each.witness, each.attempt) for n in range(4) for each in world.store.journals.of(1, n)
    ]
    return jobs, attempts, lines, world.store.counts(1), world.store.grid_job(1).started


def test_together_comes_to_the_same_as_each_alone(tmp_path, monkeypatch):
    found = []
    for together in (True, False):
        place = tmp_path / str(together)
        place.mkdir()
        world = World(place, monkeypatch)
        if not together:
            monkeypatch.setattr("jim.keeper.attempts.bulk_reports.reports", lambda _: [])
        world.submit(4)
        world.until(lambda world=world: world.batch.tasks)
        begin_and_end(world, 1, 4)
        begin_and_end(world, 2, code=None, signal=9)
        begin_and_end(world, 3, code=3)
        world.until(lambda world=world: states(world)[3] is State.COMPLETED)
        found.append(told(world))
    assert found[0] == found[1]
    assert [each[1] for each in found[0][0]] == [State.COMPLETED, State.WAITING, State.FAILED, State.COMPLETED]
