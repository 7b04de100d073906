"""Keys with generations: a submission after the door's own cancel is another grid job, every other one is the same."""

import errno
import json

import pytest

from jim import run_grid_job
from jim.doors import generations, inbox
from jim.doors.restored_requests import hand_in_again
from jim.model import Step
from tests.support.stand_ins import World
from tests.unit.shell.fetching import Fetching

DOOR, TOY = "tests.unit.shell.fetching.Fetching", "tests.unit.shell.toy.Toy"
LONG = "k" * 200  # its file has the sum of the key as its name


@pytest.fixture(params=["k", LONG], ids=["short", "long"])
def key(request):
    return request.param


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, None)
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    monkeypatch.setattr(run_grid_job, "wake", lambda _: None)
    return world


@pytest.fixture
def submit(world, tmp_path, key, capfdbinary):
    """Hand in by a door; give the grid job's number, 0 after a refusal."""

    def submit(door=DOOR, **asked):
        file = tmp_path / "request.json"
        file.write_text(json.dumps({"work": "/bin/true", "once": key, **asked}))
        run_grid_job.main(["--door", door, "submit", str(file)])
        said = json.loads(capfdbinary.readouterr().out.splitlines()[-1])
        return int(said.get("id", "toy-0").removeprefix("toy-"))

    return submit


def cancel(number, door=DOOR):
    assert run_grid_job.main(["--door", door, "cancel", str(number)]) == 0


def ran(world):
    return [mark for mark, _ in world.batch.ledger]


def test_any_repeat_is_the_same_grid_job(world, submit):
    assert submit() == submit() == 1
    world.run_all(1)
    assert submit() == 1
    assert len(ran(world)) == 1


@pytest.mark.parametrize("rounds", [0, 3])
def test_a_submission_after_the_door_s_own_cancel_begins_the_next_generation(world, submit, rounds):
    assert submit() == 1
    world.go(rounds)  # the wish is in the inbox, or in the store
    cancel(1)
    world.go(rounds)
    assert submit() == submit() == 2
    world.go(3)
    assert submit() == 2
    world.run_all(2)
    assert submit() == 2
    assert [world.store.grid_job(number).outcome for number in (1, 2)] == ["killed", "completed"]
    cancel(2)
    assert submit() == 3


def test_a_cancel_that_came_too_late_is_a_mark_too(world, submit):
    submit()
    world.run_all(1)
    cancel(1)
    world.go(2)
    assert world.store.grid_job(1).outcome == "completed"
    assert submit() == 2


@pytest.mark.parametrize("by", ["a person", "another door", "a person, of a local job"])
def test_no_other_cancel_is_a_mark(world, submit, by):
    submit()
    world.go(3)
    if by == "another door":
        cancel(1, TOY)
    else:
        run_grid_job.wish("cancel", "1" if by == "a person" else "1.0")
    assert submit() == 1
    world.until(lambda: world.finished(1))
    assert submit() == 1


def test_a_door_without_generations_has_none(world, submit):
    submit(TOY)
    cancel(1, TOY)
    assert submit(TOY) == 1


def test_a_different_request_is_refused_within_a_generation_and_may_begin_the_next(world, submit):
    submit()
    assert submit(work="/bin/false") == 0
    cancel(1)
    assert submit(work="/bin/false") == 2
    assert submit() == 0


def test_nothing_of_the_next_one_is_sent_while_anything_of_the_one_before_may_live(world, submit):
    submit()
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2)
    world.batch._cancel = lambda *ids: ""  # it obeys no cancel
    cancel(1)
    assert submit() == 2
    world.go(20, seconds=1.0)
    assert (world.store.grid_job(2).step, len(world.batch.tasks)) == (Step.ACCEPTED, 1)
    world.restart()
    world.go(20, seconds=1.0)
    assert len(world.batch.tasks) == 1
    world.batch.finish(1, 1)
    world.until(lambda: len(world.batch.tasks) == 2)
    assert world.store.grid_job(1).step is Step.FINISHED
    world.run_all(2)
    assert world.store.grid_job(2).outcome == "completed"


def test_the_store_knows_the_one_before_first(world, submit, key, monkeypatch):
    """Files of the inbox are taken in by name, which for a long key may stand before that of its first generation."""
    submit()
    cancel(1)
    assert submit() == 2
    first, read = inbox.request_name(key), inbox.read_regular

    def out_of_reach(path, limit):
        if path.name == first:
            raise OSError(errno.EIO, "Input/output error")
        return read(path, limit)

    with monkeypatch.context() as away:
        away.setattr(inbox, "read_regular", out_of_reach)
        world.go(3)
        assert world.store.grid_jobs() == []
    world.until(lambda: world.batch.tasks)
    assert [(each.id, each.wish) for each in world.store.grid_jobs()] == [(1, "cancel"), (2, "")]


def test_a_removed_generation_holds_up_nothing_and_the_last_one_frees_the_key(world, submit, key):
    state = world.site.state
    submit()
    world.go(3)
    cancel(1)
    submit()
    world.until(lambda: world.finished(1))
    run_grid_job.wish("remove", "1")
    world.until(lambda: not any(each.id == 1 for each in world.store.grid_jobs()))
    assert submit() == 2  # which may still run
    world.run_all(2)
    assert submit() == 2
    run_grid_job.wish("remove", "2")
    world.until(lambda: world.store.grid_jobs() == [])
    assert generations.last(state, key) == 1
    assert submit() == 3
    assert not list((state / "keys").glob("last-*"))


def test_what_a_restored_store_has_forgotten_is_taken_in_again_with_its_generation(world, submit):
    submit()
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2)
    world.batch._cancel = lambda *ids: ""  # it obeys no cancel
    cancel(1)
    submit()
    world.go(3)
    assert sorted(hand_in_again(world.site.state, (), "")) == [1, 2]
    again = json.loads((world.site.state / "inbox" / inbox.request_name(world.store.grid_job(2).key)).read_text())
    assert (again["after"], again["door"]) == (1, DOOR)


def test_doors_that_begin_a_generation_at_one_moment_begin_one(world, submit, key, monkeypatch):
    submit()
    cancel(1)
    assert generations.begin(world.site.state, key, 1) == 2  # another door, a moment before
    assert submit() == 2
    assert generations.begin(world.site.state, key, 1) == 2


def test_the_journal_names_who_cancelled_and_not_the_door_twice(world, submit):
    submit()
    world.go(3)
    cancel(1)
    world.go(3)
    (line,) = [each for each in world.store.journals.of(1) if each.now == "cancel requested"]
    assert line.reason == f"{inbox.account()}, by the door {Fetching('x').name.replace('x', DOOR)}"


def test_a_key_that_ends_with_an_endless_number_is_a_key_like_others(world):
    """Python reads no number of so many digits; the keeper asks when it removes the grid job."""
    key = f"k#{'9' * 5000}"
    grid = world.submit(1, key=key)
    world.until(lambda: world.batch.tasks)
    world.run_all(grid)
    world.wish("remove", str(grid))
    world.until(lambda: not world.store.grid_jobs(), seconds=1.0)
    assert generations.before(world.site.state, key) == 0
