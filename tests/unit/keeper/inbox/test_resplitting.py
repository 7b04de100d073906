"""What has ended is split again: smaller local jobs do its work, and the old one is frozen."""

import json
import tarfile

from jim.keeper.inbox.accepting import TakingInbox
from jim.model import State, Step
from tests.support.splitting_work import end_all, states, submit

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # "abc", FIPS 180


def test_what_failed_is_split_again_into_smaller_pieces(world):
    submit(world, splitter_parameters={"lumis_per_job": 3})
    world.until(lambda: len(world.batch.tasks) == 2)
    end_all(world, 1, 0)
    wish = {"verb": "resplit", "target": "1.0", "parameters": {"lumis_per_job": 2}, "by": "me"}
    (world.site.state / "inbox" / "wish-1").write_text(json.dumps(wish))
    world.until(lambda: ("2", 2) in world.batch.tasks)
    job = world.store.grid_job(1)
    assert (job.size, states(world)) == (4, ["failed_frozen", "completed", "submitted", "submitted"])
    new = [world.store.local_job(1, n).piece for n in (2, 3)]
    assert [each.mask for each in new] == [{"run_lumis": {"1": [[1, 2]]}}, {"run_lumis": {"1": [[3, 3]]}}]
    assert [each.source for each in new] == [0, 0]
    assert [each.arguments for each in new] == [("2",), ("3",)]
    for index in (1, 2):
        world.batch.start(2, index)
        world.batch.finish(2, index)
    world.until(lambda: world.finished(1))
    assert world.store.counts(1) == {State.COMPLETED: 3, State.FAILED_FROZEN: 1}
    assert world.store.grid_job(1).outcome == "completed"
    (world.site.state / "inbox" / "wish-2").write_text(json.dumps(wish))
    world.go(2)
    assert world.finished(1)


def test_what_completed_is_split_again_and_what_it_brought_stays_out_of_the_tar(world):
    def bring(submission, *indices):
        for index in indices:
            world.batch.start(submission, index)
            world.batch.finish(submission, index, extra=f"file 3 {ABC} out.dat\n", files=[("out.dat", b"abc")])
        world.until(lambda: world.finished(1))
        with tarfile.open(world.site.work / "1/result/1.tar") as tar:
            return sorted(each for each in tar.getnames() if not each.startswith("jim/"))

    submit(world, splitter_parameters={"lumis_per_job": 3})
    world.until(lambda: len(world.batch.tasks) == 2)
    assert bring(1, 1, 2) == ["1.0/out.dat", "1.1/out.dat", "summary.json"]
    wish = {"verb": "resplit", "target": "1.0", "parameters": {"lumis_per_job": 2}, "by": "me"}
    (world.site.state / "inbox" / "wish-1").write_text(json.dumps(wish))
    world.until(lambda: ("2", 2) in world.batch.tasks)
    assert states(world) == ["completed_frozen", "completed", "submitted", "submitted"]
    assert world.store.local_job(1, 0).reason == "split again"
    assert bring(2, 1, 2) == ["1.1/out.dat", "1.2/out.dat", "1.3/out.dat", "summary.json"]
    assert world.store.grid_job(1).outcome == "completed"


def test_the_keeper_goes_on_while_a_worker_splits_again(world):
    submit(world, splitter_parameters={"lumis_per_job": 3})
    world.until(lambda: len(world.batch.tasks) == 2)
    end_all(world, 1, 0)
    wishes = [world.site.state / "inbox" / f"wish-{n}" for n in (1, 2)]
    for path in wishes:
        path.write_text(
            json.dumps({"verb": "resplit", "target": "1.0", "parameters": {"lumis_per_job": 1}, "by": "me"})
        )
    for _ in range(2):  # while what the worker has made is not delivered
        world.rounds.round()
        assert world.keeper.workers.busy(("resplit", 1))
        assert (world.store.grid_job(1).size, states(world)[0]) == (2, "failed")
        assert all(path.exists() for path in wishes)  # a keeper that dies now finds them again
    world.go(3)
    assert (world.store.grid_job(1).size, states(world)[0]) == (5, "failed_frozen")
    assert [path.exists() for path in wishes] == [False, False]
    told = [each.reason for each in world.store.journals.of(1) if each.now == "resplit changes nothing"]
    assert told == ["1.0 is failed_frozen: only a completed, failed or killed local job can be split again"]
    assert not world.move(TakingInbox).resplits.made


def test_a_resplit_that_cannot_be_changes_nothing(world):
    submit(world)
    world.until(lambda: len(world.batch.tasks) == 4)
    end_all(world, 1, 0, 0, 0)
    wish = {"verb": "resplit", "target": "1.0", "parameters": {"lumis_per_job": 0}, "by": "me"}
    (world.site.state / "inbox" / "wish-1").write_text(json.dumps(wish))
    world.go(2)
    assert (world.finished(1), states(world)[0]) == (True, "failed")
    assert any("expected a whole number, 1 or more" in each.reason for each in world.store.journals.of(1))


def test_a_splitter_that_hangs_takes_no_thread_of_tars(world, monkeypatch):
    submit(world, splitter_parameters={"lumis_per_job": 3})
    world.until(lambda: len(world.batch.tasks) == 2)
    end_all(world, 1, 0)
    started, start = [], world.keeper.workers.start
    monkeypatch.setattr(world.keeper.workers, "start", lambda errand: started.append(errand) or start(errand))
    wish = {"verb": "resplit", "target": "1.0", "parameters": {"lumis_per_job": 2}, "by": "me"}
    (world.site.state / "inbox" / "wish-1").write_text(json.dumps(wish))
    world.until(lambda: ("2", 2) in world.batch.tasks)
    assert [errand.source for errand in started if errand.key == ("resplit", 1)] == [True]


def test_a_resplit_passes_where_lost_outputs_hold_up_the_tar(world):
    """Its outputs are lost, so it has failed; what else is lost stays held."""
    submit(world, splitter_parameters={"lumis_per_job": 3})
    world.until(lambda: len(world.batch.tasks) == 2)
    for index in (1, 2):
        world.batch.start(1, index)
        world.batch.finish(1, index, extra=f"file 3 {ABC} out.dat\n", files=[("out.dat", b"abc")])
        world.until(lambda n=index - 1: world.state(1, n) is State.COMPLETED)
        (world.site.work / f"1/s1/run.{index}/out.dat").unlink(missing_ok=True)
    world.until(lambda: "2 of 2 completed local jobs are affected" in world.store.grid_job(1).reason)
    wish = {"verb": "resplit", "target": "1.0", "parameters": {"lumis_per_job": 2}, "by": "me"}
    (world.site.state / "inbox" / "wish-1").write_text(json.dumps(wish))
    world.until(lambda: ("2", 2) in world.batch.tasks)
    assert states(world) == ["failed_frozen", "completed", "submitted", "submitted"]
    lost = "split again: outputs were lost or changed after they were verified: out.dat: "
    assert world.store.local_job(1, 0).reason.startswith(lost)


def test_a_resplit_waits_for_a_tar_that_has_not_failed(world):
    submit(world, splitter_parameters={"lumis_per_job": 3})
    world.until(lambda: len(world.batch.tasks) == 2)
    world.keeper.workers.wait(("collect", 1), 1000.0)
    for index in (1, 2):
        world.batch.start(1, index)
        world.batch.finish(1, index)
    world.until(lambda: world.store.grid_job(1).step is Step.COLLECTING)
    wish = {"verb": "resplit", "target": "1.0", "parameters": {"lumis_per_job": 2}, "by": "me"}
    (world.site.state / "inbox" / "wish-1").write_text(json.dumps(wish))
    world.go(5, 1.0)
    assert states(world) == ["completed", "completed"]
