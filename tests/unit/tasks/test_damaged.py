"""Files of completed pieces that are gone or changed before they were stored, or given to another task."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from jim.model import State
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.ground import Ground

FIRSTS = range(1, 13, 2)
STORED = {f"t-{p:07}-{first}.dat": f"{first} to {first + 1}\n" for p, first in enumerate(FIRSTS)}


def text(store, many=12, more=""):
    return f"""
        [[task]]
        name = "t"
        request.job_type = "executable"
        request.executable = "/bin/echo"
        request.arguments = ["$FirstEvent", "$LastEvent"]
        request.outputs = ["*.dat", "*.json"]
        source = [ {{ events = {many}, events_per_piece = 2 }} ]
        output = [ {{ name = "gen", files = "*.dat", store = "{store}"{more} }} ]
        """


@pytest.fixture
def ground(tmp_path, monkeypatch):
    made = Ground(tmp_path, monkeypatch)
    made.brings = lambda words: {f"{words[0]}.dat": f"{words[0]} to {words[1]}\n".encode()}
    return made


@pytest.fixture
def store(tmp_path):
    place = tmp_path / "store"
    place.mkdir()
    return place


def stored(place):
    return {path.name: path.read_text() for path in sorted(place.iterdir())}


def gone(path):
    path.unlink()


def changed(path):
    path.write_text("0 to 0\n")


def other_length(path):
    path.write_text("")


def a_link(path):
    path.unlink()
    path.symlink_to("/etc/hostname")


def to_be_stored(ground, store, **how):
    """Let all pieces end while their store is away; return where the first ones have left their files."""
    ground.start(text(store, **how))
    store.rename(store.with_name("away"))
    ground.until(lambda: ground.work() or ground.counts("pieces").get("completed") == how.get("many", 12) // 2)
    ground.until(lambda: all(each.reason for each in ground.store.outputs.to_do(1, float("inf"), 50)))
    return [ground.site.work / f"1/s1/run.{n}" for n in range(1, 1 + how.get("many", 12) // 2)]


def back(store):
    store.with_name("away").rename(store)


@pytest.mark.parametrize("damage", [gone, changed, other_length, a_link])
def test_what_is_damaged_before_it_is_stored_is_made_again(ground, store, damage):
    runs = to_be_stored(ground, store)
    damage(runs[2] / "5.dat")
    back(store)
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"
    assert stored(store) == STORED
    assert ground.ranges() == sorted([(n, n + 1) for n in FIRSTS] + [(5, 6)])
    assert any(f"damaged: piece 2: {runs[2]}/5.dat: " in line for line in ground.journal())
    assert len(set(ground.seeds)) == 7


def test_a_piece_is_tried_again_as_often_as_any(ground, store):
    runs = to_be_stored(ground, store)
    ground.brings = lambda words: {}  # the next attempts bring nothing
    gone(runs[2] / "5.dat")
    back(store)
    ground.until_state(TaskState.FINISHED)
    assert (ground.task().outcome, ground.counts("output gen")) == ("with failures", {"stored": 5, "broken": 1})


def test_more_than_a_few_fail_and_wait_for_a_person(ground, store):
    """The work directory may be another one: it is not computed anew by itself."""
    runs = to_be_stored(ground, store)
    for run, first in list(zip(runs, FIRSTS, strict=True))[:3]:
        gone(run / f"{first}.dat")
    back(store)
    ground.until_state(TaskState.FINISHED)
    assert ground.counts("output gen") == {"stored": 3, "broken": 3}
    assert len(ground.diary) == 6
    reasons = {each.reason for each in ground.store.pieces.failed(1)}
    assert len(reasons) == 3
    assert all(each.startswith("outputs were lost or changed after they were verified: ") for each in reasons)
    ground.ask("retry")
    ground.until_state(TaskState.FINISHED)
    assert (ground.task().outcome, stored(store)) == ("completed", STORED)


def test_more_than_a_few_can_be_recovered(ground, store):
    runs = to_be_stored(ground, store)
    for run, first in list(zip(runs, FIRSTS, strict=True))[:3]:
        gone(run / f"{first}.dat")
    back(store)
    ground.until_state(TaskState.FINISHED)
    ground.ask("recover", parameters={"events_per_piece": 1})
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"
    assert ground.counts("output gen") == {"stored": 9, "replaced": 3}
    assert sorted(" ".join(stored(store).values()).split()).count("to") == 9


def test_a_file_that_comes_back_in_time_is_stored(ground, store):
    runs = to_be_stored(ground, store)
    (runs[2] / "5.dat").rename(runs[2] / "elsewhere")
    back(store)
    ground.until(lambda: any("5.dat: " in each.reason for each in ground.store.outputs.of_piece(1, 2)), 0.1)
    (runs[2] / "elsewhere").rename(runs[2] / "5.dat")
    ground.until_state(TaskState.FINISHED)
    assert (stored(store), len(ground.diary)) == (STORED, 6)


def test_a_directory_that_is_away_has_an_hour_to_come_back(ground, store):
    runs = to_be_stored(ground, store)
    runs[2].rename(runs[2].with_name("elsewhere"))
    back(store)
    ground.until(lambda: len(stored(store)) == 5)
    ground.go(20, 100.0)
    assert ground.counts("pieces") == {"completed": 6}
    runs[2].with_name("elsewhere").rename(runs[2])
    ground.until_state(TaskState.FINISHED, seconds=100.0)
    assert (stored(store), len(ground.diary)) == (STORED, 6)


def test_a_directory_that_stays_away_fails_its_piece_and_a_person_may_retry_it(ground, store):
    runs = to_be_stored(ground, store)
    runs[2].rename(runs[2].with_name("elsewhere"))
    back(store)
    ground.until_state(TaskState.FINISHED, seconds=100.0)
    assert (ground.task().outcome, len(ground.diary)) == ("with failures", 6)
    ground.ask("retry")
    ground.until_state(TaskState.FINISHED)
    assert stored(store) == STORED


def test_a_file_server_that_fails_shows_nothing(ground, store, monkeypatch):
    to_be_stored(ground, store)

    def stale(*_):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    with monkeypatch.context() as away:
        away.setattr("jim.tasks.results.storing.verified", stale)
        back(store)
        ground.go(20, 600.0)
        assert ground.counts("pieces") == {"completed": 6}
    ground.until_state(TaskState.FINISHED, seconds=100.0)
    assert (stored(store), len(ground.diary)) == (STORED, 6)


def test_a_description_that_is_gone_fails_the_piece(ground, store):
    ground.brings = lambda words: {f"{words[0]}.dat": b"x", f"{words[0]}.dat.json": b'{"events": 2}'}
    ground.start(text(store, many=4, more=', about = ".json"'))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    ground.end_one("1", 1)
    ground.end_one("1", 2)
    described = ground.site.work / "1/s1/run.2/3.dat.json"
    described.unlink()
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"
    assert len(stored(store)) == 2


def test_what_else_a_piece_has_brought_is_used_so_a_person_decides(ground, store):
    """A second file of another attempt beside the first one would be a mixture."""
    ground.brings = lambda words: {f"{words[0]}.dat": b"x", f"{words[0]}.json": b"y"}
    other = store.with_name("other")
    other.mkdir()
    ground.start(two_pools(store, other))
    store.rename(store.with_name("away"))
    ground.until(lambda: ground.work() or len(stored(other)) == 2)
    gone(ground.site.work / "1/s1/run.2/3.dat")
    back(store)
    ground.until(lambda: len(stored(store)) == 1)
    ground.go(20, 600.0)
    assert ground.counts("pieces") == {"completed": 2}
    assert any("more of it is used, so 'jim task redo t/1' decides: " in line for line in ground.journal())


def two_pools(store, other):
    return f"""
        [[task]]
        name = "t"
        request.job_type = "executable"
        request.executable = "/bin/echo"
        request.arguments = ["$FirstEvent", "$LastEvent"]
        request.outputs = ["*.dat", "*.json"]
        source = [ {{ events = 4, events_per_piece = 2 }} ]
        [[task.output]]
        name = "gen"
        files = "*.dat"
        store = "{store}"
        [[task.output]]
        name = "about"
        files = "*.json"
        store = "{other}"
        """


# What feeds other tasks


@pytest.fixture
def chain(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


@pytest.mark.parametrize("promises", [True, False])
@pytest.mark.parametrize("damage", [gone, changed, other_length])
def test_what_is_damaged_before_it_is_fed_is_made_again(chain, promises, damage):
    chain.create(chain.text(store=False, events=10, each=2, files=1, promises=promises))
    for name in ("gen", "reco", "merge"):
        chain.ask("start", name, untested=True)
    chain.ask("throttle", "reco", at_once=0)
    chain.until(lambda: chain.work() or chain.counts("pieces", "gen").get("completed") == 5)
    damage(chain.site.work / "1/s1/run.1/gen.dat")
    chain.ask("throttle", "reco", at_once=100)
    chain.finish()
    assert [chain.task(name).outcome for name in ("gen", "reco", "merge")] == ["completed"] * 3
    output = chain.store.outputs.of_piece(chain.task("merge").id, 0)[0]
    assert sorted(map(int, Path(output.place).read_text().split())) == list(range(1, 11))
    assert [each for each in chain.diary if each[0] == "gen"].count(("gen", "1", "2")) == 2
    assert len([each for each in chain.diary if each[0] == "reco"]) == 5


def test_what_was_stored_and_is_gone_before_it_is_fed_is_made_again(chain):
    chain.create(chain.text(events=10, each=2, files=1))
    for name in ("gen", "reco", "merge"):
        chain.ask("start", name, untested=True)
    chain.ask("throttle", "reco", at_once=0)
    chain.until(lambda: chain.work() or len(list(chain.stores["gen"].iterdir())) == 5)
    gone(chain.stores["gen"] / "gen-0000001-gen.dat")
    chain.ask("throttle", "reco", at_once=100)
    chain.finish()
    assert chain.merged() == list(range(1, 11))
    assert [each for each in chain.diary if each[0] == "gen"].count(("gen", "3", "4")) == 2


def test_what_a_removed_grid_job_has_stored_is_made_again_by_new_pieces(chain):
    chain.create(chain.text(events=10, each=2, files=1))
    for name in ("gen", "reco", "merge"):
        chain.ask("start", name, untested=True)
    chain.ask("throttle", "reco", at_once=0)
    chain.until(lambda: chain.work() or chain.task("gen").state is TaskState.FINISHED)
    chain.keeper.store.removals.remove(chain.store.grid_job(1))
    gone(chain.stores["gen"] / "gen-0000001-gen.dat")
    chain.ask("throttle", "reco", at_once=100)
    chain.until(lambda: chain.counts("pieces", "gen").get("failed") == 1)
    assert chain.store.pieces.one(1, 1).reason.startswith("its outputs are lost: ")
    chain.ask("retry", "gen")
    chain.until(lambda: chain.counts("pieces", "gen").get("replaced") == 1)
    chain.finish()
    assert chain.merged() == list(range(1, 11))


def test_a_stored_file_that_another_piece_has_used_is_not_made_again(chain):
    """Its next user is told by its own payload that an input is gone."""
    chain.create(chain.text(events=4, each=2, files=1))
    for name in ("gen", "reco", "merge"):
        chain.ask("start", name, untested=True)
    chain.until(lambda: chain.counts("pieces", "reco").get("sent") or chain.work())
    assert chain.store.outputs.is_used(1, 0)
    assert chain.store.state(1, 0) is State.COMPLETED
