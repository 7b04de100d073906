"""Outputs are in their places before a poll says that the grid job has ended."""

import hashlib
import json
import tarfile

import pytest

from jim import run_grid_job
from jim.doors import placing as files
from jim.jobs import PLACED
from jim.keeper.results.answering import Answering
from jim.keeper.results.placing import PATIENCE_SECONDS
from jim.model import State, Step
from tests.support.stand_ins import World

DOOR = "tests.unit.shell.fetching.Fetching"


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, None)
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    monkeypatch.setattr(run_grid_job, "wake", lambda _: None)
    return world


@pytest.fixture
def place(tmp_path):
    (tmp_path / "taken from").mkdir()
    return tmp_path / "taken from"


@pytest.fixture
def submit(world, tmp_path, place, capfdbinary):
    def submit(**asked):
        file = tmp_path / "request.json"
        file.write_text(json.dumps({"work": "/bin/true", "place": str(place), **asked}))
        assert run_grid_job.main(["--door", DOOR, "submit", str(file)]) == 0
        world.until(lambda: world.batch.tasks)
        return world

    return submit


def poll(world, number=1):
    return json.loads(world.answer(number))


def listed(**outputs):
    """Give the lines of an exit record about outputs."""
    lines = [f"file {len(each)} {hashlib.sha256(each).hexdigest()} {name}\n" for name, each in outputs.items()]
    return "".join(lines)


def end(world, code=0, index=1, **outputs):
    world.batch.start(1, index)
    world.batch.finish(1, index, code, extra=listed(**outputs), files=outputs.items())


@pytest.mark.parametrize("code", [0, 9])
def test_a_program_that_failed_has_its_outputs_delivered_like_one_that_did_not(world, submit, place, code):
    submit(outputs=["result"])
    end(world, code, stdout=b"said\n", stderr=b"", result=b"42")
    world.until(lambda: "end" in poll(world))
    assert poll(world)["code"] == code
    assert {each.name: each.read_bytes() for each in place.iterdir()} == {
        "stdout": b"said\n",
        "stderr": b"",
        "result": b"42",
    }
    assert (place / "result").stat().st_mode & 0o777 == 0o644


def test_of_a_split_grid_job_the_tar_comes_and_each_stdout(world, submit, place):
    submit(times=3)
    for index in (1, 2, 3):
        end(world, int(index == 2), index, stdout=b"of %d\n" % index)
    world.until(lambda: "end" in poll(world))
    assert (poll(world)["code"], poll(world)["why"]) == (1, "1 of 3 local jobs failed: exit 1")
    assert (place / "stdout").read_bytes() == b"of 1\nof 2\nof 3\n"
    with tarfile.open(place / "all.tar") as tar:
        assert {"1.0/stdout", "1.1.failed/stdout", "1.2/stdout"} < set(tar.getnames())


@pytest.mark.parametrize("times", [1, 2])
def test_a_gatekeeper_s_programs_have_a_whole_tar_which_their_outputs_come_from(world, submit, place, times):
    submit(tar="summary", outputs=["result"], **({"times": 2} if times == 2 else {}))
    for index in range(1, times + 1):
        end(world, 0, index, stdout=b"said\n", stderr=b"", result=b"42")
    world.until(lambda: "end" in poll(world))
    assert (place / "stdout").read_bytes() == b"said\n" * times
    assert times == 2 or (place / "result").read_bytes() == b"42"


def test_the_end_is_told_only_when_the_outputs_are_there(world, submit, place, monkeypatch):
    seen = []
    real = files.place

    def place_and_look(job, places, *more):
        seen.append(poll(world)["now"])
        real(job, places, *more)
        seen.append(poll(world)["now"])

    monkeypatch.setattr(files, "place", place_and_look)
    submit()
    end(world, stdout=b"")
    world.until(lambda: "end" in poll(world))
    assert seen == ["active", "active"]


def test_a_place_that_is_away_for_a_while_keeps_the_last_state_and_says_why(world, submit, place):
    submit()
    away = place.rename(place.with_name("away"))
    end(world, stdout=b"said\n")
    world.until(lambda: world.finished(1))
    world.go(5, seconds=30.0)
    assert poll(world)["now"] == "active"
    assert poll(world)["doing"].startswith("the outputs cannot be placed: [Errno 2] No such file or directory: ")
    assert not world.rounds.idle()
    world.restart()
    world.go(2)
    assert (poll(world)["now"], world.rounds.idle()) == ("active", False)
    away.rename(place)
    world.until(lambda: "end" in poll(world), seconds=10.0)
    assert (place / "stdout").read_bytes() == b"said\n"
    assert poll(world) == {"end": "done", "code": 0, "why": ""}
    assert [each.now for each in world.store.journals.of(1)][-1] == "outputs placed"
    world.go(1)
    assert world.rounds.idle()


def test_after_an_hour_it_has_failed_and_stays_so(world, submit, place):
    submit()
    place.rmdir()
    end(world, stdout=b"said\n")
    world.until(lambda: world.finished(1))
    begun = world.clock.now
    world.until(lambda: "end" in poll(world), seconds=30.0)
    assert PATIENCE_SECONDS <= world.clock.now - begun < PATIENCE_SECONDS + 200
    assert (poll(world)["end"], poll(world)["code"]) == ("failed", 1)
    assert poll(world)["why"].startswith("the outputs cannot be placed: [Errno 2] No such file")
    assert world.store.grid_job(1).outcome == "completed"  # for people, who can fetch the tar
    place.mkdir()
    world.restart()
    world.go(5, seconds=60.0)
    assert list(place.iterdir()) == []
    assert world.rounds.idle()


def test_a_file_server_that_hangs_for_an_hour_is_given_up_and_a_slow_copy_is_not(world, submit, place, monkeypatch):
    submit()
    end(world, stdout=b"said\n")
    begun, real = [], world.keeper.workers._begin
    monkeypatch.setattr(world.keeper.workers, "_begin", lambda each: begun.append(each) if each.far else real(each))
    world.until(lambda: world.finished(1))
    world.until(lambda: begun)
    world.go(5, seconds=PATIENCE_SECONDS)
    assert poll(world)["now"] == "active"  # no worker is free: nothing is known of the place
    begun[0].work()  # it copies all this time, as far as it is heard of
    for _ in range(3):
        world.go(1, seconds=PATIENCE_SECONDS - 1)
        world.move(Answering)._placing._heard[1] = world.clock.now
        world.go(1)
        assert poll(world)["now"] == "active"
    world.until(lambda: "end" in poll(world), seconds=60.0)
    assert poll(world)["why"] == f"the outputs cannot be placed: {place} has not answered for an hour"
    begun[0].done(None)  # too late: the end was told
    world.go(3)
    assert poll(world)["end"] == "failed"


def test_a_keeper_that_dies_after_placing_places_again_and_then_no_more(world, submit, place, monkeypatch):
    submit()
    end(world, stdout=b"said\n")
    monkeypatch.setattr("jim.keeper.results.placing._placed", lambda *_: None)
    world.until(lambda: (place / "stdout").exists())
    assert "now" in poll(world)
    (place / "stdout").unlink()
    monkeypatch.undo()
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    world.restart()
    world.until(lambda: "end" in poll(world))
    for each in place.iterdir():  # taken
        each.unlink()
    world.restart()
    world.store.answers.write_anew(world.store.answers.written())
    world.restart()
    world.go(5, seconds=10.0)
    assert list(place.iterdir()) == []


def test_outputs_of_a_grid_job_that_is_retried_meanwhile_are_placed_when_it_ends_again(
    world, submit, place, monkeypatch
):
    submit()
    end(world, 3, stdout=b"first\n")
    monkeypatch.setattr(files, "place", retry_meanwhile(world, files.place))
    world.until(lambda: len(world.batch.tasks) == 2)
    assert "now" in poll(world)
    monkeypatch.undo()
    world.batch.start(2)
    world.batch.finish(2, 1, extra=listed(stdout=b"second\n"), files=[("stdout", b"second\n")])
    world.until(lambda: (place / "stdout").read_bytes() == b"second\n")
    world.go(2)
    assert world.store.at_doors.of(1).placed == PLACED


def retry_meanwhile(world, real):
    def place(job, places, *more):
        real(job, places, *more)
        world.store.set_local_job(1, 0, state=State.WAITING, spent=0, due=0.0)
        world.store.set_grid_job(1, step=Step.ACTIVE, outcome="", reason="")

    return place


def test_a_grid_job_that_is_removed_meanwhile_leaves_nothing(world, submit, place, monkeypatch):
    submit()
    end(world, stdout=b"")
    monkeypatch.setattr(files, "place", lambda job, places, *more: world.store.removals.remove(job))
    world.until(lambda: world.store.grid_jobs() == [])
    world.go(3)
    assert world.store.db.execute("SELECT count(*) FROM at_door").fetchone() == (0,)


def test_what_its_own_door_has_cancelled_places_nothing(world, submit, place):
    submit()
    world.batch.start(1)
    world.go(2)
    assert run_grid_job.main(["--door", DOOR, "cancel", "1"]) == 0
    world.until(lambda: "end" in poll(world))
    assert poll(world)["end"] == "cancelled"
    assert list(place.iterdir()) == []


def test_what_is_cancelled_places_its_tar_where_the_gatekeeper_takes_it(world, submit, place, monkeypatch):
    monkeypatch.setattr("tests.unit.shell.fetching.Fetching.takes_cancelled", True)
    submit(times=2)
    world.batch.start(1)
    world.go(2)
    assert run_grid_job.main(["--door", DOOR, "cancel", "1"]) == 0
    world.until(lambda: "end" in poll(world))
    assert poll(world)["end"] == "cancelled"
    with tarfile.open(place / "all.tar") as tar:
        assert "summary.json" in tar.getnames()


def test_a_cancel_by_a_person_places_what_is_there(world, submit, place):
    submit()
    run_grid_job.wish("cancel", "1")
    world.until(lambda: "end" in poll(world))
    assert sorted(each.name for each in place.iterdir()) == ["stderr", "stdout"]


def test_the_line_of_progress_is_renewed_while_it_runs(world, submit):
    submit(times=3)
    for index in (1, 2):
        world.batch.start(1, index)
    world.go(2)
    assert poll(world)["doing"] == "0 of 3 local jobs completed"
    world.store.publications.publish(
        1, 0, "phase-sim", '<phase name="generate" done="117" total="250" unit="events"/>', 1
    )
    world.go(2)
    assert poll(world)["doing"] == "0 of 3 local jobs completed"  # publications cause no look
    world.go(2, seconds=31.0)
    assert poll(world)["doing"] == "generate 117 of 250 events; 0 of 3 local jobs completed"
    world.batch.finish(1, 2, 3)
    world.until(lambda: "failed" in poll(world)["doing"])
    assert poll(world)["doing"] == (
        "generate 117 of 250 events; 0 of 3 local jobs completed; 1 failed: exit 3 on node1"
    )
    assert world.store.grid_job(1).step is Step.ACTIVE
