"""Hosts that eat jobs: found, avoided, and what they have eaten is done elsewhere, against a clock that is set."""

from __future__ import annotations

import itertools
import json
from datetime import datetime

import pytest

from jim.model import Kind, State
from jim.site import avoid
from tests.support.farm import HOURS, SETTINGS, Node, farm, let_time_be_told
from tests.support.sampled import sampled
from tests.support.stand_ins import Answers, Instead, World


@pytest.fixture
def world(tmp_path, monkeypatch):
    let_time_be_told(monkeypatch)
    return World(tmp_path, monkeypatch, **SETTINGS)


def words(world: World, n: int) -> list[str]:
    return [line.reason for line in world.store.journals.of(1, n)]


@pytest.mark.parametrize("can_avoid", sampled([False, True]))
def test_what_a_black_hole_eats_is_done_elsewhere_and_does_not_count(world, can_avoid):
    world.batch.can_avoid = can_avoid
    world.submit(60)
    on = farm(world)
    on.until_finished()
    assert world.store.counts(1) == {State.COMPLETED: 60}
    assert on.tried["hole0"] == 11, "every 2 s, until the others have run ten times as long"
    assert [each.spent for each in world.store.local_jobs(1)] == [1] * 60
    assert len(world.batch.ledger) == 60 + 11
    later = [each.avoid for each in world.batch.tasks.values() if each.mark != "jim-cafe0001-1-1"]
    assert later == [("hole0",) if can_avoid else ()] * len(later)
    assert on.left["hole0"] >= 3, "what was sent before comes there all the same"


def test_once_others_have_ended_well_it_eats_three_and_what_it_has(world):
    world.submit(40)
    on = farm(world)
    hole = on.nodes.pop(0)
    for _ in range(85):
        on.second()
    on.nodes.insert(0, hole)
    on.until_finished()
    assert world.store.counts(1) == {State.COMPLETED: 40}
    assert 3 <= on.tried["hole0"] <= 4


def test_its_failures_are_told(world):
    world.batch.can_avoid = True
    world.submit(40)
    on = farm(world)
    on.until_finished()
    eaten = [n for n in range(40) if any("black hole" in each for each in words(world, n))]
    assert len(eaten) == on.tried["hole0"]
    assert "attempt 1 does not count: hole0 is a black hole: exit 3" in words(world, eaten[0])
    (told,) = json.loads(world.store.fact("avoided"))
    assert (told["host"], told["times"], told["hole"][1]) == ("hole0", 1, 10)


def test_if_all_hosts_fail_none_is_avoided_and_failures_count(world):
    world.submit(20)
    on = farm(world, bad=4, good=0)
    on.until_finished()
    assert world.store.fact("avoided") == ""
    assert world.store.counts(1) == {State.FAILED: 20}
    assert len(world.batch.ledger) == 20


def test_the_only_host_is_never_avoided(world):
    world.submit(9)
    on = farm(world, bad=1, good=0)
    on.until_finished()
    assert world.store.counts(1) == {State.FAILED: 9}
    assert not (world.site.work / "avoid").exists()


def test_wrappers_leave_and_each_attempt_is_fenced_before_the_next(world):
    """No adapter can be told, and what waits comes to that host first: after ten tries, they count."""
    avoid.avoid(world.site, ["hole0"])
    grid = ran_elsewhere(world)
    on = farm(world, good=0)
    world.go(2)
    world.clock.now += 11  # orders are read every ten seconds
    on.until_finished(grid)
    attempts = world.store.attempts(grid, n=0)
    assert [each.kind for each in attempts] == [Kind.AVOIDED] * 12
    assert [each.verdict for each in attempts] == ["again"] * 12
    assert (on.left["hole0"], on.tried["hole0"]) == (12, 0)
    assert world.store.local_job(grid, 0).reason == (
        "left hole0, a host that JIM avoids, without having started (attempt 2 of 2)"
    )
    for attempt in attempts:
        claim = world.keeper.directory(grid) / f"s{attempt.k}" / "claim.1"
        assert "fence" in claim.read_text().split()
    ends = [datetime.fromisoformat(attempt.updated).timestamp() for attempt in attempts]
    apart = [round(later - sooner) for sooner, later in itertools.pairwise(ends)]
    assert max(apart[:3]) < 65, "three are sent anew at once: the wrapper has waited for a minute"
    assert apart[3:10] == sorted(apart[3:10]), "then the batch system goes on choosing that host, and JIM waits longer"
    assert apart[9] > 500


def ran_elsewhere(world):
    """Let a first grid job run on a host that takes nothing afterwards; hand in a second one."""
    world.submit(1, key="first")
    farm(world, bad=0, good=1).until_finished()
    return world.submit(1)


def test_the_only_host_is_used_though_a_person_has_named_it_before_anything_ran(world):
    avoid.avoid(world.site, ["hole0"])
    world.submit(3)
    on = farm(world, bad=1, good=0)
    on.nodes[0].code = 0
    world.go(2)
    world.clock.now += 11
    on.until_finished()
    assert world.store.counts(1) == {State.COMPLETED: 3}
    assert 1 <= on.left["hole0"] <= 3, "only a wrapper can tell that this host is the only one"
    assert [each.spent for each in world.store.local_jobs(1)] == [1, 1, 1]
    assert not is_there(world)


def test_of_two_hosts_that_are_named_before_anything_ran_one_is_used(world):
    avoid.avoid(world.site, ["hole0", "hole1", "elsewhere"])
    world.submit(4)
    on = farm(world, bad=2, good=0)
    for each in on.nodes:
        each.code = 0
    world.go(2)
    world.clock.now += 11
    while not on.tried:
        on.second()
    assert sorted(on.tried) == ["hole1"]
    assert (world.site.work / "avoid").read_text() == "elsewhere\nhole0\n"


def test_the_end_of_a_grid_job_waits_until_its_failures_are_judged(world):
    """All that is left when the black hole fails is what it has just eaten."""
    world.submit(15)
    on = farm(world, bad=0, good=3)
    while world.store.counts(1).get(State.COMPLETED, 0) < 12:
        on.second()
    on.nodes = [Node("hole0", 2.0, code=3)]
    failures = [key for key, each in world.batch.tasks.items() if each.state is State.RUNNING]
    world.batch.host = "hole0"
    assert len(failures) == 3
    for key in failures:  # as if they had begun there
        world.batch.finish(*key, code=3, extra="up 2\n")
        world.store.set_attempt(1, int(key[0]), key[1], host="hole0")
    on.nodes = [Node("wn1", 40.0)]
    on.until_finished()
    assert world.store.counts(1) == {State.COMPLETED: 15}


@pytest.mark.parametrize("killed", [False, True])
def test_the_end_of_a_grid_job_waits_until_its_last_good_ends_have_testified(world, killed):
    """They end just before the hosts would be judged once more."""
    world.submit(6)
    on = farm(world, good=0)
    on.nodes = [Node("hole0", 1.0, code=3), *(Node(f"wn{n}", 11.0) for n in range(3))]
    while on.tried["hole0"] < 3 or on.nodes[0].has:
        on.second()
    on.second()
    assert world.store.fact("avoided") == ""
    if killed:
        world.restart()
    on.until_finished()
    assert world.store.counts(1) == {State.COMPLETED: 6}
    assert on.tried["hole0"] == 3


@pytest.mark.torture
def test_a_keeper_that_is_killed_again_and_again_spares_each_attempt_once(world):
    world.submit(60)
    on = farm(world)
    for second in range(3 * HOURS):
        if world.finished(1):
            break
        on.second()
        if second % 7 == 3:
            world.restart()
    assert world.store.counts(1) == {State.COMPLETED: 60}
    assert [each.spent for each in world.store.local_jobs(1)] == [1] * 60
    assert len(world.batch.ledger) == 60 + on.tried["hole0"]


def sent_to(world, host):
    """Give the attempt of the only local job to a host that is avoided."""
    avoid.avoid(world.site, [host])
    world.submit(1)
    world.until(lambda: len(world.batch.tasks) == 1)
    world.batch.host = host
    world.batch.tasks["1", 1].state = State.RUNNING


def test_what_only_the_submission_directory_tells_is_found_once_the_job_has_left_the_queue(world):
    sent_to(world, "wn1")
    world.batch.leave(1, spool=False)
    world.until(lambda: len(world.store.attempts(1, n=0)) == 2)
    first = world.store.attempts(1, n=0)[0]
    assert (first.kind, first.facts) == (Kind.AVOIDED, {"host": "wn1"})
    assert world.store.local_job(1, 0).spent == 0


def test_between_the_notice_and_the_fence_a_kill_loses_nothing(world, monkeypatch):
    sent_to(world, "wn1")
    world.batch.leave(1)
    monkeypatch.setattr("jim.keeper.queue.avoiding.leave", lambda keeper: None)
    world.until(lambda: not list((world.site.work / "spool").iterdir()))
    monkeypatch.undo()
    assert world.store.spared.to_fence(9) == {(1, 1, 1): "wn1"}
    world.restart()
    world.until(lambda: len(world.store.attempts(1, n=0)) == 2)
    assert world.store.attempts(1, n=0)[0].kind is Kind.AVOIDED
    assert world.store.spared.to_fence(9) == {}


def test_another_start_of_the_attempt_that_has_won_the_claim_is_adopted(world):
    sent_to(world, "wn1")
    world.batch.leave(1)
    world.batch.host = "wn2"
    assert world.batch.start(1)
    (world.site.work / "spool" / "jim-cafe0001-1-1.1.start").unlink()
    world.until(lambda: world.store.attempts(1, n=0)[0].started)
    world.batch.finish(1)
    world.until(lambda: world.finished(1))
    assert world.store.counts(1) == {State.COMPLETED: 1}
    assert len(world.batch.ledger) == 1
    assert world.store.spared.to_fence(9) == {}


def test_a_wrapper_that_has_left_is_not_tried_again_after_a_cancel(world):
    sent_to(world, "wn1")
    world.wish("cancel", "1")
    world.batch.leave(1)
    world.until(lambda: world.finished(1))
    assert world.store.counts(1) == {State.KILLED: 1}
    assert not world.batch.start(1)


def test_hosts_that_a_batch_system_does_not_know_are_excluded_no_more(world):
    """Its refusal may have another reason; the local jobs are sent once more without, and wrappers still leave."""
    world.batch.can_avoid = True
    world.submit(40)
    on = farm(world)
    while not world.keeper.hosts.avoided:
        on.second()
    world.batch.lies = [Instead("submit", Answers.REFUSE)]
    on.until_finished()
    assert world.store.counts(1) == {State.COMPLETED: 40}
    assert world.keeper.hosts.not_excluded == {"hole0"}
    assert "(with the request to avoid hole0)" in str(world.store.journals.of(1))


def test_a_grid_job_that_has_ended_is_not_opened_again(world):
    """Evidence that comes later changes no end that was told."""
    world.submit(3)
    on = farm(world, good=0)
    on.until_finished()
    assert world.store.counts(1) == {State.FAILED: 3}
    world.submit(9, key="k2")
    on.nodes = [Node(f"wn{n}", 30.0) for n in range(3)]
    on.until_finished(2)
    world.clock.now += 11
    world.go(3)
    assert json.loads(world.store.fact("avoided"))[0]["host"] == "hole0"
    assert world.store.counts(1) == {State.FAILED: 3}
    assert world.finished(1)


def test_an_administrator_ends_that_a_host_is_avoided(world):
    world.submit(40)
    on = farm(world)
    while not is_there(world):
        on.second()
    avoid.use_again(world.site, ["hole0.example.org"], "repaired")
    hole = next(each for each in on.nodes if each.name == "hole0")
    hole.seconds, hole.code = 40.0, 0
    for _ in range(12):
        on.second()
    assert not is_there(world)
    on.until_finished()
    assert world.store.counts(1) == {State.COMPLETED: 40}


def is_there(world):
    return (world.site.work / "avoid").exists()


def test_orders_that_cannot_be_read_are_told_and_hold_up_nothing(world, caplog):
    (world.site.state / "avoid").write_text("{")
    world.submit(1)
    world.run_all(1)
    assert "mend or remove it, and name the hosts anew" in caplog.text


def test_where_wrappers_cannot_be_told_the_batch_system_is(world, caplog):
    world.batch.can_avoid = True
    (world.site.work / "avoid").mkdir()
    world.submit(40)
    on = farm(world)
    while not world.keeper.hosts.avoided:
        on.second()
    assert world.keeper.hosts.avoided == ("hole0",)
    assert "wrappers cannot be told: " in caplog.text


def test_a_fault_of_the_judgement_holds_up_no_end(world, monkeypatch, caplog):
    monkeypatch.setattr("jim.evidence.hosts.black_holes", lambda tried: 1 / 0)
    world.submit(12)
    on = farm(world, bad=2, good=3)
    on.until_finished()
    assert "the hosts cannot be judged just now: division by zero" in caplog.text
