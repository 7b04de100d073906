"""What becomes of a local job whose attempt has failed, and that its batch system, its store and people are told."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jim.adapters.sge import Sge
from jim.adapters.slurm import Slurm
from jim.errors import JimError
from jim.evidence.analysis import Action, Decision, Failed, analyser, decide, usual
from jim.handlers.parametric import Parametric
from jim.jobs import HELD
from jim.model import NOTHING, Batch, Kind, State, Witness
from jim.site.file import General, Limits
from jim.statusdb.store import Store
from jim.trust.plugins import function
from tests.support.exit_records import record
from tests.support.stand_ins import Answers, Instead, World


def failed(record=None, *, blameless=True, witness=Witness.EXIT_RECORD, kind=Kind.UNKNOWN, host="node7") -> Failed:
    return Failed("", witness, blameless, record, host, attempt=1, spent=1, limit=3, kind=kind)


@pytest.mark.parametrize(
    ("known", "action"),
    [
        (failed(record(3), blameless=False), Action.GIVE_UP),
        (failed(record(signal=11), blameless=False), Action.GIVE_UP),
        (failed(record(signal=9)), Action.RETRY),
        (failed(record(1, reason="signal TERM from the batch system")), Action.RETRY),
        (failed(record(0)), Action.ELSEWHERE),  # its outputs are not what its record says
        (failed(record(72, reason="no scratch directory can be made in /x on node7")), Action.ELSEWHERE),
        (failed(record(72, reason="no set-up: /cvmfs/setup.sh cannot be read on node7")), Action.ELSEWHERE),
        (failed(record(72, reason="no image: /cvmfs/el9.sif is not there on node7")), Action.ELSEWHERE),
        (failed(witness=Witness.CLAIM), Action.ELSEWHERE),  # it vanished
        (failed(witness=Witness.ACCOUNTING, kind=Kind.NODE), Action.ELSEWHERE),
        (failed(witness=Witness.ACCOUNTING, kind=Kind.ACCOUNTING), Action.RETRY),
        (failed(witness=Witness.QUEUE), Action.RETRY),  # put back by the batch system
        (failed(witness=Witness.FENCE, host=""), Action.RETRY),  # lost: it never started
        (failed(record(3, recovery="recoverable --from 7")), Action.RETRY),
        (failed(record(3, recovery="hold disk is full"), blameless=True), Action.HOLD),
        (failed(record(signal=9, recovery="fatal"), blameless=True), Action.GIVE_UP),
    ],
)
def test_a_failure_is_decided_by_recovery_file_then_cause_then_host(known: Failed, action: Action) -> None:
    assert usual(known) == Decision(action)


OWN = """
from jim.evidence.analysis import Action, Decision

def careful(failed):
    if failed.record and failed.record.code == 75:
        return Decision(Action.ELSEWHERE, "the licence server of that host is down")
    if failed.record and failed.record.code == 76:
        return Decision(Action.HOLD, "look at the calibration")
    return Decision(Action.GIVE_UP)

def broken(failed):
    return failed.record.no_such_thing


class Own(Exception):
    pass


class Apart(BaseException):
    pass


def raises(failed):
    raise {1: RuntimeError, 2: Own, 3: SystemExit, 4: FileNotFoundError, 5: Apart}[failed.attempt]("no idea")


def long_winded(failed):
    return Decision(Action.HOLD, "look at it:\\n\\n  twice")


ODD = [
    Decision(Action.HOLD, "", 7),
    Decision(Action.HOLD, "", {3: 4}),
    Decision(Action.HOLD, "", delay="soon"),
    Decision(Action.HOLD, "", delay=float("nan")),
    Decision(Action.HOLD, "", delay=-1),
    Decision(Action.HOLD, "", delay=1e300),
    Decision(Action.HOLD, "", times="often"),
    Decision(Action.HOLD, "", times=0),
    Decision("fly"),
    "HOLD",
    None,
]


def odd(failed):
    return ODD[failed.attempt]


def asleep(failed):
    import time
    from contextlib import suppress

    with suppress(Exception):  # it is told again
        time.sleep(100)
    time.sleep(100)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give a site's directory with analysers."""
    place = tmp_path / "own" / "jim_own_site"
    place.mkdir(parents=True)
    (place / "analysis.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "jim_own_site.analysis", raising=False)
    monkeypatch.delitem(sys.modules, "jim_own_site", raising=False)
    function.cache_clear()
    return str(place.parent)


def test_a_function_of_the_site_may_decide(own: str) -> None:
    found = decide("jim_own_site.analysis.careful", own, failed(record(76), blameless=False))
    assert found[:2] == (Action.HOLD, "look at the calibration (jim_own_site.analysis.careful)")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("jim_own_site.analysis.broken", "'ExitRecord' object has no attribute 'no_such_thing'"),
        (
            "jim_own_site.analysis.none",
            "AttributeError: module 'jim_own_site.analysis' has no attribute 'none'",
        ),
        ("jim_no_site.analysis", "ModuleNotFoundError: No module named 'jim_no_site'"),
    ],
)
def test_one_that_cannot_decide_leaves_it_to_the_usual_one(own: str, name: str, reason: str) -> None:
    found = decide(name, own, failed(record(signal=9)))
    assert found.action is Action.RETRY
    assert f"{name} could not decide: " in found.why
    assert reason in found.why


@pytest.mark.parametrize("kind", [1, 2, 3, 4, 5])
def test_whatever_one_raises_the_keeper_goes_on(own: str, kind: int) -> None:
    found = decide("jim_own_site.analysis.raises", own, replace(failed(record(signal=9)), attempt=kind))
    assert found.action is Action.RETRY
    assert "jim_own_site.analysis.raises could not decide: " in found.why
    assert "no idea" in found.why
    assert ("(analysis.py, line " in found.why) == (kind != 4)


@pytest.mark.parametrize("kind", range(11))
def test_a_decision_that_makes_no_sense_is_not_followed(own: str, kind: int) -> None:
    found = decide("jim_own_site.analysis.odd", own, replace(failed(record(signal=9)), attempt=kind))
    assert found[0] is Action.RETRY
    assert found[2:] == (NOTHING, None, None)
    assert "jim_own_site.analysis.odd could not decide: " in found.why


def test_one_that_never_answers_is_interrupted(own: str) -> None:
    found = decide("jim_own_site.analysis.asleep", own, failed(record(signal=9)), seconds=0.01)
    assert found == Decision(Action.RETRY, "jim_own_site.analysis.asleep could not decide: it took longer than 0.01 s")


def test_what_one_says_becomes_one_line_of_the_journal(own: str) -> None:
    found = decide("jim_own_site.analysis.long_winded", own, failed(record(3)))
    assert found.why == "look at it: twice (jim_own_site.analysis.long_winded)"


def test_what_is_no_decision() -> None:
    with pytest.raises(JimError):
        analyser("jim")
    assert decide("jim.model.Decision", "", failed(record(3), blameless=False))[0] is Action.GIVE_UP
    assert decide("builtins.print", "", failed(record(3), blameless=False))[0] is Action.GIVE_UP


def end(world: World, **how) -> None:
    """Let everything that was sent start and end so."""
    world.until(lambda: any(task.state is State.SUBMITTED for task in world.batch.tasks.values()))
    for (id_, index), task in list(world.batch.tasks.items()):
        if task.state is State.SUBMITTED and world.batch.start(id_, index):
            world.batch.finish(id_, index, **how)
    world.go(4)


def test_a_local_job_is_held_until_a_person_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch)
    grid = world.submit(3)
    end(world, code=3, recovery="hold --from '7 8'")
    held = world.store.local_job(grid, 0)
    assert (held.state, held.held, held.reason, held.recovery) == (
        *(State.WAITING, True),
        "held: exit 3, and its recovery file asks for a person",
        ("--from", "7 8"),
    )
    world.clock.id = "boot-2"  # the machine is started anew, and everything is due again
    world.restart()
    world.go(40, seconds=60.0)
    assert len(world.batch.tasks) == 3
    world.wish("retry", f"{grid}.0")
    world.wish("cancel", f"{grid}.1")
    world.until(lambda: len(world.batch.tasks) == 4)
    assert world.state(grid, 1) is State.KILLED
    assert world.store.local_job(grid, 2).held
    world.wish("resume", str(grid))
    world.until(lambda: len(world.batch.tasks) == 5)
    end(world)
    world.until(lambda: world.finished(grid))
    assert [state.value for state, count in world.store.counts(grid).items() if count] == ["completed", "killed"]


def test_a_whole_grid_job_is_retried_with_what_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch)
    grid = world.submit(2)
    end(world, code=3, recovery="hold")
    world.wish("retry", str(grid))
    world.until(lambda: len(world.batch.tasks) == 4)


def vanish(world: World, host: str) -> None:
    world.batch.host = host
    world.until(lambda: any(task.state is State.SUBMITTED for task in world.batch.tasks.values()))
    (key,) = (key for key, task in world.batch.tasks.items() if task.state is State.SUBMITTED)
    world.batch.start(*key)
    world.go(2)
    world.batch.kill(*key)


def submissions(world: World, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Note the hosts that each submission avoids."""
    seen: list[tuple[str, ...]] = []
    really = world.batch.submit_command

    def submit_command(batch: Batch) -> list[str]:
        seen.append(batch.avoid)
        return really(batch)

    monkeypatch.setattr(world.batch, "submit_command", submit_command)
    return seen


def test_the_next_attempt_avoids_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch)
    world.batch.can_avoid = True
    monkeypatch.setattr(Store, "has_started_off", lambda *_: True)
    seen = submissions(world, monkeypatch)
    grid = world.submit(1)
    vanish(world, "node1")
    world.until(lambda: len(seen) == 2)
    assert seen == [(), ("node1",)]
    lines = [line.reason for line in world.store.journals.of(grid, 0) if line.now == "waiting"]
    assert lines[-1].endswith("it started, ended, and left no exit record; elsewhere, not on node1")
    end(world)
    assert world.finished(grid)


def test_elsewhere_is_not_insisted_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch system that knows no such host refuses: then it may go anywhere."""
    world = World(tmp_path, monkeypatch)
    world.batch.can_avoid = True
    monkeypatch.setattr(Store, "has_started_off", lambda *_: True)
    seen = submissions(world, monkeypatch)
    grid = world.submit(1)
    vanish(world, "node1")
    world.batch.lies = [Instead("submit", Answers.REFUSE)]
    world.until(lambda: len(seen) == 3)
    assert seen == [(), ("node1",), ()]
    end(world)
    assert world.finished(grid)
    assert len(world.batch.ledger) == 2


@pytest.mark.parametrize(
    ("can_avoid", "why"),
    [
        (False, "the batch system cannot be told to avoid node1"),
        (True, "no other host than node1 has been seen yet"),
    ],
)
def test_elsewhere_where_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_avoid: bool, why: str
) -> None:
    world = World(tmp_path, monkeypatch)
    world.batch.can_avoid = can_avoid
    seen = submissions(world, monkeypatch)
    grid = world.submit(1)
    vanish(world, "node1")
    world.until(lambda: len(seen) == 2)
    assert seen == [(), ()]
    assert any(f"; on any host: {why}" in line.reason for line in world.store.journals.of(grid, 0))


def test_a_sites_analyser_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str) -> None:
    limits = Limits(analyser="jim_own_site.analysis.careful")
    world = World(tmp_path, monkeypatch, limits=limits, site=General(handlers=own))
    grid = world.submit(1)
    end(world, code=75)
    world.clock.now += 600.0
    end(world, code=76)
    assert world.store.local_job(grid, 0).reason == (
        "held: exit 76; look at the calibration (jim_own_site.analysis.careful)"
    )
    first = next(line.reason for line in world.store.journals.of(grid, 0) if line.now == "waiting")
    assert first.startswith(
        "attempt 1: exit 75; the licence server of that host is down (jim_own_site.analysis.careful)"
    )


def test_adapters_that_can_avoid_a_host_have_a_word_for_it() -> None:
    batch = Batch("jim-1-1-1", "/w/job.sh", "/w", 1, avoid=("node7.example.org", "node8"))
    assert "--exclude=node7,node8" in Slurm().submit_command(batch)
    words = Sge().submit_command(batch)
    assert words[words.index("-l") + 1] == "hostname=!(node7.example.org|node8)"
    assert not [word for word in Slurm().submit_command(batch._replace(avoid=())) if "exclude" in word]
    assert Decision(Action.RETRY) == (Action.RETRY, "", {}, None, None)


def test_people_are_told_what_is_held(home) -> None:
    home.add(size=3)
    for n in (0, 2):
        home.move(n, State.WAITING, Witness.EXIT_RECORD, "held: exit 3, look at the calibration", due=HELD)
    home.beat()
    one = home.out("explain", "1.2")
    assert "* 1 local job is held by JIM, for example 1.2: held: exit 3, look at the calibration" in one
    assert "next:     nothing happens by itself; `jim retry 1.2` tries again, `jim cancel 1.2` ends it" in one
    whole = home.out("explain", "1")
    assert "* 2 local jobs are held by JIM, for example 1.0: " in whole
    assert "* 1 local job waits to be submitted" in whole
    assert home.json("explain", "1.0")["waits_for"][0]["what"].startswith("1 local job is held by JIM")
    assert "held: exit 3, look at the calibration" in home.out("show", "1.0")
    assert home.out("retry", "1", "--reason", "calibration") == (
        "1: retry requested: 2 local jobs get another set of attempts; `jim cancel 1.0,2` undoes it\n"
    )


def test_a_job_types_analyser_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str) -> None:
    limits = Limits(analyser="jim_own_site.analysis.broken")
    world = World(tmp_path, monkeypatch, limits=limits, site=General(handlers=own))
    monkeypatch.setattr(Parametric, "analyser", "jim_own_site.analysis.careful")
    grid = world.submit(1)
    end(world, code=76)
    assert world.store.local_job(grid, 0).held
