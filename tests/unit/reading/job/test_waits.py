"""What listings say beside a state: a job that can never start is named, and so is a word that nobody knows."""

from __future__ import annotations

import pytest

from jim.model import Observation, State
from jim.reading.job import waits
from jim.reading.view import View
from jim.site.file import Batch
from tests.support.stand_ins import World

VAIN = "can never start as it was asked for: PartitionTimeLimit"
ODD = "the batch system says 'REVOKED', which its adapter does not know"


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Two local jobs that the batch system has taken; `said` is what its listing says of the first."""
    world = World(tmp_path, monkeypatch, batch=Batch(query_seconds=1.0, visible_seconds=1.0))
    world.said = {}
    parse = world.batch.parse_query

    def listing(answer):
        seen = parse(answer)
        return {key: seen[key]._replace(**world.said) if key == ("1", 1) else seen[key] for key in seen}

    monkeypatch.setattr(world.batch, "parse_query", listing)
    world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.go(3, 1.0)
    return world


def say(world, **said):
    world.said = said
    world.go(3, 1.0)
    return world.store.local_job(1, 0).reason


def explained(world):
    view = View(world.site, world.store)
    return [(each.what, each.next) for each in waits.of_grid_job(view, world.store.grid_job(1))]


def test_a_job_that_can_never_start_is_named(world):
    assert say(world, reason="PartitionTimeLimit") == VAIN
    assert world.store.local_job(1, 1).reason == ""
    vain = [each for each in explained(world) if each[0] == f"1 local job: {VAIN}"]
    assert len(vain) == 1
    assert "`jim cancel 1`" in vain[0][1]
    view = View(world.site, world.store)
    (own,) = (
        each
        for each in waits.of_local_job(view, world.store.grid_job(1), world.store.local_job(1, 0))
        if VAIN in each.what
    )
    assert own.what == f"waits in the batch system's queue, batch job 1 ({VAIN})"
    assert "`jim cancel 1.0`" in own.next


def test_of_what_can_never_start_it_is_not_said_that_it_starts_some_time(world):
    waiting = [what for what, _ in explained(world) if "in the batch system's queue" in what]
    assert waiting == ["2 local jobs wait in the batch system's queue"]
    say(world, reason="PartitionTimeLimit")
    waiting = [what for what, _ in explained(world) if "in the batch system's queue" in what]
    assert waiting == ["1 local job waits in the batch system's queue"]
    world.wish("cancel", "1.1")
    world.until(lambda: world.store.local_job(1, 1).state is State.KILLED)
    assert not [what for what, _ in explained(world) if "in the batch system's queue" in what]


def test_it_is_written_down_once(world):
    say(world, reason="PartitionTimeLimit")
    before = world.store.local_job(1, 0)
    world.go(5, 1.0)
    assert world.store.local_job(1, 0) == before


def test_it_is_taken_back(world):
    say(world, reason="PartitionTimeLimit")
    assert say(world, reason="") == ""


def test_it_goes_when_the_job_starts_all_the_same(world):
    say(world, reason="PartitionTimeLimit")
    world.batch.start("1", 1)
    assert say(world, reason="") == ""
    assert world.state(1) is State.RUNNING


def test_a_word_that_the_adapter_does_not_know_is_named_and_is_no_end(world, caplog):
    assert say(world, state=State.UNKNOWN, word="REVOKED") == ODD
    assert world.state(1) is State.SUBMITTED
    assert f"1 local job: {ODD}" in [what for what, _ in explained(world)]
    assert [each.levelname for each in caplog.records if "REVOKED" in each.message] == ["WARNING"]
    assert say(world) == ""


def test_slurm_and_pbs_tell_what_will_never_start():
    from jim.adapters import pbs, slurm
    from jim.model import Answer

    def listed(reason):
        text = f"JOBID|STATE|EXIT_CODE|REASON|NAME|.\n7_1|PENDING|0|{reason}|m|.\n"
        return slurm.ADAPTER().parse_query(Answer(("squeue",), 0, text, "", 0.1))["7", 1].reason

    never = ["PartitionTimeLimit", "BadConstraints", "QOSMaxCpuPerJobLimit", "AssocMaxWallDurationPerJobLimit"]
    never += ["DependencyNeverSatisfied", "AccountNotAllowed", "InvalidQOS", "PartitionConfig", "QOSMinGRES"]
    assert [listed(each) for each in never] == never
    passing = ["Priority", "Resources", "QOSMaxJobsPerUserLimit", "AssocGrpCpuLimit", "BeginTime", "None"]
    assert [listed(each) for each in passing] == [""] * len(passing)

    def commented(comment):
        job = f'"job_state":"Q","Job_Name":"m","comment":"{comment}"'
        text = f'{{"pbs_version":"20","Jobs":{{"7.s":{{{job}}}}}}}'
        return pbs.ADAPTER().parse_query(Answer(("qstat",), 0, text, "", 0.1))["7.s", 1]

    vain = "Can Never Run: Insufficient amount of resource: ncpus (R: 99 A: 8 T: 8)"
    assert commented(vain) == Observation(State.SUBMITTED, "m", reason=vain, word="Q")
    assert commented("Not Running: Job would exceed limit").reason == ""
