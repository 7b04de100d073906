"""A second door, toy.py: one file that nothing else knows. JIM must answer in its words, from its first to its last."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jim import run_grid_job
from jim.doors.contract import door_of
from jim.doors.restored_requests import hand_in_again
from jim.errors import BadSite, JimError
from jim.model import Standing, State, Step
from jim.statusdb.status import standing
from tests.support.stand_ins import World
from tests.unit.shell.toy import Toy

HOME = Path(__file__).parents[3]
TOY = "tests.unit.shell.toy.Toy"
WAIT, BUSY = {"now": "wait"}, {"now": "busy"}


class Faulty(Toy):
    """A site's own door, whose code is broken for a while."""

    broken = True

    def state(self, told):
        if self.broken and told.standing is not Standing.ACCEPTED:
            raise RuntimeError("oops")
        return super().state(told)

    def tell(self, keeper):
        if self.broken:
            raise RuntimeError("oops")


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, None)
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    monkeypatch.setattr(run_grid_job, "wake", lambda _: None)
    return world


@pytest.fixture
def call(tmp_path, capfdbinary):
    """Call a door as `python -m jim.run_grid_job` does; give its exit code, stdout and stderr."""

    def call(*words, door=TOY):
        code = run_grid_job.main([*(("--door", door) if door else ()), *map(str, words)])
        said = capfdbinary.readouterr()
        return code, said.out.decode(), said.err.decode()

    return call


@pytest.fixture
def submit(tmp_path, call):
    """Hand in by the toy door; give what it says."""
    return lambda **asked: call("submit", written(tmp_path, {"work": "/bin/true", **asked}))


def written(place, asked):
    (place / "request.json").write_text(json.dumps(asked))
    return place / "request.json"


def poll(world, number=1):
    return json.loads(world.answer(number))


def started(world, number=1):
    world.until(lambda: world.batch.tasks)
    world.batch.start(number)
    world.go(2)


def test_it_is_polled_from_its_first_answer_to_its_end(world, submit):
    assert submit() == (0, '{"id": "toy-1"}\n', "")
    assert poll(world) == WAIT
    started(world)
    assert poll(world) == BUSY
    world.batch.finish("1", 1)
    world.until(lambda: world.finished(1))
    world.go()
    assert poll(world) == {"end": "done", "code": 0, "why": ""}


def test_a_failure_has_its_exit_code_and_its_reason(world, submit):
    submit()
    started(world)
    world.batch.finish("1", 1, code=3)
    world.until(lambda: world.finished(1))
    world.go()
    end = poll(world)
    assert (end["end"], end["code"]) == ("failed", 3)
    assert end["why"] == "1 of 1 local job failed: exit 3"


def test_a_cancel_is_answered_and_ends_it(world, submit, call):
    submit()
    started(world)
    assert call("cancel", "1") == (0, '{"cancelled": true}\n', "")
    world.until(lambda: world.finished(1))
    world.go()
    assert poll(world)["end"] == "cancelled"
    assert call("cancel", "1") == (0, '{"cancelled": false}\n', "")


def test_a_refusal_is_in_its_words(world, submit, call):
    code, out, err = submit(work="no/such program\0")
    assert (code, json.loads(out)["yours"]) == (2, True)
    assert err.startswith("jim-submit: executable: ")
    for words, refused in ((("cancel", "7"), 4), (("cancel",), 2), (("deliver", "1", "file"), 1), ((), 1)):
        code, out, err = call(*words)
        assert (code, json.loads(out)["yours"]) == (refused, refused == 2), words
        assert json.loads(out)["sorry"] in err
    assert not list((world.site.state / "inbox").iterdir())


def test_its_own_language_is_not_read_by_another_door(world, tmp_path, call):
    code, out, _ = call("submit", written(tmp_path, {"work": "/bin/true"}), door="")
    assert (code, out.splitlines()[-2]) == (2, "GRAM_SCRIPT_ERROR:48")


def test_a_key_that_comes_again_has_its_id_and_another_request_none(world, submit):
    assert submit(once="k") == submit(once="k") == (0, '{"id": "toy-1"}\n', "")
    world.go(3)
    assert submit(once="k")[:2] == (0, '{"id": "toy-1"}\n')
    code, out, _ = submit(once="k", work="/bin/false")
    assert (code, json.loads(out)["yours"]) == (2, True)
    assert submit(once="another")[1] == '{"id": "toy-2"}\n'


def test_a_keeper_that_starts_again_remembers_the_door(world, submit):
    submit()
    world.go(3)
    (world.site.state / "answers/1").write_bytes(b"lost\n")
    world.restart()
    world.go()
    assert poll(world) == WAIT
    world.until(lambda: world.batch.tasks)
    (world.site.state / "answers/1").write_bytes(b"lost\n")
    world.restart()
    world.go()
    assert poll(world) == WAIT
    world.run_all(1)
    (world.site.state / "answers/1").write_bytes(b"lost\n")
    world.store.answers.write_anew(world.store.answers.written())
    world.restart()
    world.go()
    assert poll(world)["end"] == "done"
    assert world.rounds.idle()


def test_two_doors_in_one_state_directory_each_have_their_words(world, submit, tmp_path, call):
    plain = {"job_type": "executable", "executable": "/bin/true"}
    assert call("submit", written(tmp_path, plain), door="")[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")
    assert submit()[1] == '{"id": "toy-2"}\n'
    assert call("submit", written(tmp_path, plain))[1] == '{"id": "toy-3"}\n'  # a plain request, by the toy door
    assert (world.answer(1), poll(world, 2), poll(world, 3)) == ("GRAM_SCRIPT_JOB_STATE:32\n\n", WAIT, WAIT)
    world.until(lambda: len(world.batch.tasks) == 3)
    for number in (1, 2, 3):
        world.batch.start(number)
    world.go(2)
    assert (world.answer(1), poll(world, 2), poll(world, 3)) == ("GRAM_SCRIPT_JOB_STATE:2\n\n", BUSY, BUSY)
    for number in ("1", "2", "3"):
        world.batch.finish(number, 1, code=int(number == "3"))
    world.until(lambda: all(world.finished(number) for number in (1, 2, 3)))
    world.go()
    assert world.answer(1) == "GRAM_SCRIPT_JOB_STATE:8\n\n"
    assert [poll(world, number)["end"] for number in (2, 3)] == ["done", "failed"]
    assert sorted(world.keeper.doors.by_name) == ["gram", TOY]


def test_a_cancel_through_another_door_is_taken_in(world, submit, call):
    submit()
    world.submit(key="of gram")
    assert call("cancel", "1", door="")[:2] == (0, "GRAM_SCRIPT_JOB_STATE:4\n\n")
    assert call("cancel", "2")[:2] == (0, '{"cancelled": true}\n')
    world.until(lambda: world.finished(1) and world.finished(2))
    world.go()
    assert (poll(world)["end"], "GRAM_SCRIPT_ERROR:8\n" in world.answer(2)) == ("cancelled", True)


def test_what_an_older_version_took_in_is_answered_in_the_words_of_gram(world):
    world.submit()
    (handed,) = (world.site.state / "inbox").iterdir()
    content = json.loads(handed.read_text())
    assert content.pop("door") == "gram"
    handed.write_text(json.dumps(content))
    world.run_all(1)
    assert (world.store.grid_job(1).door, world.answer(1)) == ("", "GRAM_SCRIPT_JOB_STATE:8\n\n")


def test_what_a_restored_store_has_forgotten_is_taken_in_again_unless_its_door_said_that_it_ended(world, submit):
    submit(once="ended")
    submit(once="open")
    world.go(3)
    world.batch.start(1)
    world.batch.finish("1", 1)
    world.until(lambda: world.finished(1))
    world.go()
    assert hand_in_again(world.site.state, (), "") == [2]


# Doors that fail


def test_a_door_with_a_fault_holds_up_no_other_and_answers_once_it_is_mended(world, call, tmp_path, monkeypatch):
    faulty = f"{__name__}.Faulty"
    plain = {"job_type": "executable", "executable": "/bin/true"}
    assert call("submit", written(tmp_path, plain), door=faulty)[:2] == (0, '{"id": "toy-1"}\n')
    world.submit(key="of gram")
    world.run_all(1)
    world.run_all(2)
    assert (poll(world), world.answer(2)) == (WAIT, "GRAM_SCRIPT_JOB_STATE:8\n\n")
    world.restart()
    world.go()
    monkeypatch.setattr(Faulty, "broken", False)
    world.until(lambda: "end" in poll(world))
    assert poll(world)["end"] == "done"


def test_a_grid_job_that_was_removed_before_its_door_was_mended_holds_up_no_other(world, call, tmp_path):
    faulty = f"{__name__}.Faulty"
    call("submit", written(tmp_path, {"work": "/bin/true"}), door=faulty)
    world.run_all(1)
    world.store.removals.remove(world.store.grid_job(1))
    world.submit(key="of gram")
    world.run_all(2)
    assert (world.answer(2), list(world.keeper.answered)) == ("GRAM_SCRIPT_JOB_STATE:8\n\n", [])


def test_a_door_that_is_gone_holds_up_no_other(world, submit):
    submit()
    world.go(2)
    world.store.db.execute("UPDATE grid_job SET door = 'no.such.Door'")
    world.submit(key="of gram")
    world.restart()
    world.run_all(1)
    world.run_all(2)
    assert (poll(world), world.answer(2)) == (WAIT, "GRAM_SCRIPT_JOB_STATE:8\n\n")
    assert world.store.grid_job(1).outcome == "completed"


@pytest.mark.parametrize("name", ["nosuch", "inbox", "a\0b", "..", f"{TOY}s", "json.loads"])
def test_a_door_that_is_not_there_is_an_error_for_people(world, call, name):
    code, out, err = call("cancel", "1", door=name)
    assert (code, out) == (3 if "." not in name else 1, "")
    assert "door" in err
    with pytest.raises((BadSite, JimError), match="door"):
        door_of(name)


# Where a grid job is, in the words that all doors share


@pytest.mark.parametrize(
    ("columns", "counts", "where"),
    [
        ({}, {}, "accepted"),
        ({"step": Step.SPLIT}, {State.WAITING: 1}, "accepted"),
        ({"step": Step.ACTIVE}, {State.SUBMITTED: 1}, "pending"),
        ({"step": Step.ACTIVE, "started": 1}, {State.SUBMITTED: 1}, "active"),
        ({"step": Step.COLLECTING, "started": 1}, {State.COMPLETED: 1}, "active"),
        ({"step": Step.ACTIVE, "wish": "suspend"}, {State.SUBMITTED: 1}, "suspended"),
        ({"step": Step.FINISHED, "outcome": "completed"}, {}, "done"),
        ({"step": Step.FINISHED, "outcome": "failed", "size": 2}, {}, "failed"),
        ({"step": Step.FINISHED, "outcome": "killed"}, {}, "cancelled"),
        ({"step": Step.FINISHED, "outcome": "failed", "size": 2, "wish": "cancel"}, {}, "cancelled"),
        ({"step": Step.FINISHED, "outcome": "failed", "size": 0, "wish": "cancel"}, {}, "failed"),  # at its split
    ],
)
def test_where_a_grid_job_is(world, columns, counts, where):
    world.store.add_grid_job(1, "key", "me", "", {"job_type": "executable"})
    world.store.set_grid_job(1, **columns)
    found = standing(world.store.grid_job(1), counts)
    assert (found, found.final) == (where, where in ("done", "failed", "cancelled"))


# As a gatekeeper calls it, with a keeper and a batch system that are real


def test_the_real_entry_point_and_a_real_keeper(tmp_path):
    state, go = tmp_path / "state", tmp_path / "go"
    state.mkdir()
    (state / "site.toml").write_text("[batch]\nslots = 2\nquery_seconds = 0.5\n[keep]\nidle_seconds = 0.0\n")
    (tmp_path / "work.sh").write_text(f"#!/bin/sh\nwhile ! [ -e {go} ]; do sleep 0.1; done\nexit 3\n")
    (tmp_path / "work.sh").chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "JIM_STATE": str(state), "PYTHONPATH": str(HOME)}

    def door(*words):
        command = [sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "--door", TOY, *words]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, timeout=60, check=True)
        return json.loads(done.stdout)

    def polled(which):
        for _ in range(600):
            if which in (answer := json.loads((state / "answers/1").read_bytes())).values():
                return answer
            time.sleep(0.1)
        raise AssertionError((answer, (state / "keeper.log").read_text()))

    try:
        written(tmp_path, {"work": str(tmp_path / "work.sh")})
        assert door("submit", "request.json") == {"id": "toy-1"}
        assert polled("busy")
    finally:
        go.touch()
    assert polled("failed")["code"] == 3
    assert door("cancel", "1") == {"cancelled": False}
