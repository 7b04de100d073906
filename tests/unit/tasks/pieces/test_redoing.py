"""Completed pieces are done again: what was made of them is taken back, done again, or marked, as people say."""

from __future__ import annotations

from pathlib import Path

import pytest

from jim.model import State
from jim.statusdb.task_rows import TaskState
from jim.tasks.pieces.redoing import aside, refusal
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.ground import Ground, a_list, events


@pytest.fixture
def chain(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Ground(tmp_path, monkeypatch)


def begun(chain, **how):
    """Start all three tasks, of ten events in five pieces."""
    chain.create(chain.text(events=10, each=2, files=1, **how))
    for name in ("gen", "reco", "merge"):
        chain.ask("start", name, untested=True)


def finished(chain, **how):
    begun(chain, **how)
    chain.finish()
    assert chain.merged() == list(range(1, 11)) or not how.get("store", True)


def redo(chain, name, *numbers, **more):
    chain.ask("redo", name, numbers=list(numbers), **more)
    chain.until(lambda: any(each.startswith("redo") and "requested" not in each for each in chain.journal(name)))
    chain.go(2)


def why_not(chain, name, **content):
    return refusal(chain.store, chain.task(name), content)


def other_words(chain):
    """Let payloads bring something else from now on."""
    real = chain._brings

    def brings(words):
        brought = real(words)
        return {"gen.dat": brought["gen.dat"].replace(b"3\n", b"33\n")} if words[0] == "gen" else brought

    chain.brings = brings


# What nothing was made of


def test_a_piece_is_done_again_with_another_seed(ground):
    ground.start(events(6, 2))
    ground.until_state(TaskState.FINISHED)
    ground.ask("redo", numbers=[1], reason="a wrong table")
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert ground.ranges() == [(1, 2), (3, 4), (3, 4), (5, 6)]
    assert (ground.pieces(), len(set(ground.seeds))) == (["completed"] * 3, 4)
    assert ground.store.state(1, 1) is State.COMPLETED_FROZEN
    assert "redo requested: somebody, by the command line, numbers 1, reason a wrong table" in ground.journal()
    assert "redo: 1 piece is done again" in ground.journal()


def test_of_a_running_task_what_completed_is_done_again(ground):
    ground.start(events(6, 2))
    ground.until(lambda: len(ground.batch.tasks) == 3)
    ground.begin()
    ground.end_one("1", 1)
    ground.until(lambda: ground.counts("pieces").get("completed") == 1)
    ground.ask("redo", numbers=[0, 1])
    ground.until_state(TaskState.FINISHED)
    assert ground.ranges() == [(1, 2), (1, 2), (3, 4), (5, 6)]


def test_pieces_are_chosen_by_items(ground, tmp_path):
    words = f"""
        [[task]]
        name = "t"
        request = {{ job_type = "executable", executable = "/bin/echo", arguments = ["$InputFiles"] }}
        source = [ {{ list = "{a_list(tmp_path, "/a1", "/a2", "/b1")}" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
        """
    ground.start(words)
    ground.until_state(TaskState.FINISHED)
    ground.ask("redo", items=["/a*"])
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert dict(ground.done()) == {"/a1": 2, "/a2": 2, "/b1": 1}


def test_pieces_are_chosen_by_group(ground):
    ground.start(events(8, 2).replace("events_per_piece = 2", "events_per_piece = 2, campaigns = 2"))
    ground.until_state(TaskState.FINISHED)
    ground.ask("redo", group="2")
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert ground.ranges() == [(1, 2), (3, 4), (5, 6), (5, 6), (7, 8), (7, 8)]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({}, "t: say which pieces: t/P, --item or --group"),
        ({"numbers": [7]}, "t: none of these pieces has completed"),
        ({"group": "no"}, "t: none of these pieces has completed"),
        ({"numbers": [0], "with_all": True, "stale": True}, "t: with_all and stale exclude each other"),
        ({"numbers": ["0"]}, "numbers: expected a list of numbers of pieces, found ['0']"),
    ],
)
def test_what_cannot_be_done_again_is_refused(ground, content, why):
    ground.start(events(2, 2))
    ground.until_state(TaskState.FINISHED)
    ground.ask("redo", **content)
    assert ground.journal()[-1] == f"redo changes nothing: {why}"
    assert len(ground.diary) == 1


def test_a_cancelled_task_does_nothing_again(ground):
    ground.start(events(4, 2))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    ground.end_one("1", 1)
    ground.until(lambda: ground.counts("pieces").get("completed") == 1)
    ground.ask("cancel")
    ground.until_state(TaskState.CANCELLED)
    ground.ask("redo", numbers=[0])
    assert ground.journal()[-1] == "redo changes nothing: t is cancelled"


# What something was made of


def test_without_a_word_about_it_nothing_is_done_again_of_which_something_was_made(chain):
    finished(chain)
    made = "1 piece in reco, 1 piece in merge, 3 files in the store"
    assert why_not(chain, "gen", numbers=[1]) == (
        f"gen: of this was made: {made}; --with-all makes that again, too; --stale only marks it"
    )
    redo(chain, "gen", 1)
    assert len(chain.diary) == 11


def test_what_is_not_sent_yet_waits_for_the_new_file(chain):
    begun(chain, store=False)
    chain.ask("throttle", "reco", at_once=0)
    chain.until(lambda: chain.work() or chain.counts("pieces", "gen").get("completed") == 5)
    assert chain.counts("pieces", "reco") == {"ready": 5}
    redo(chain, "gen", 1)
    assert chain.counts("pieces", "reco") == {"ready": 4, "waiting": 1}
    chain.ask("throttle", "reco", at_once=100)
    chain.finish()
    assert chain.diary.count(("gen", "3", "4")) == 2
    assert len([each for each in chain.diary if each[0] == "reco"]) == 5
    (output,) = chain.store.outputs.of_piece(3, 0)
    assert sorted(map(int, Path(output.place).read_text().split())) == list(range(1, 11))


def test_without_promises_what_is_not_sent_yet_is_taken_back(chain):
    begun(chain, store=False, promises=False)
    chain.ask("throttle", "reco", at_once=0)
    chain.until(lambda: chain.work() or chain.counts("pieces", "reco").get("ready") == 5)
    redo(chain, "gen", 1)
    assert chain.counts("pieces", "reco") == {"ready": 4, "taken back": 1}
    chain.ask("throttle", "reco", at_once=100)
    chain.finish()
    assert [chain.task(name).outcome for name in ("gen", "reco", "merge")] == ["completed"] * 3
    assert len([each for each in chain.diary if each[0] == "reco"]) == 5
    (output,) = chain.store.outputs.of_piece(3, 0)
    assert sorted(map(int, Path(output.place).read_text().split())) == list(range(1, 11))


@pytest.mark.parametrize("promises", [True, False])
def test_with_all_that_was_made_of_it(chain, promises):
    finished(chain, promises=promises)
    other_words(chain)
    redo(chain, "gen", 1, with_all=True)
    chain.finish()
    assert [chain.task(name).outcome for name in ("gen", "reco", "merge")] == ["completed"] * 3
    stores = chain.stores
    assert (stores["gen"] / "gen-0000001-gen.dat").read_text() == "33\n4\n"
    assert (stores["gen"] / "gen-0000001-gen.dat.withdrawn.1").read_text() == "3\n4\n"
    assert (stores["reco"] / "reco-0000001-reco.dat.withdrawn.1").read_text() == "3\n4\n"
    (new,) = [each for each in stores["merge"].iterdir() if "withdrawn" not in each.name]
    assert sorted(map(int, new.read_text().split())) == [1, 2, 4, 5, 6, 7, 8, 9, 10, 33]
    old = (stores["merge"] / "merge-0000000-all.dat.withdrawn.1").read_text()
    assert sorted(map(int, old.split())) == list(range(1, 11))
    assert len(chain.diary) == 14
    assert len(set(chain.seeds)) == 14
    assert not [each for store in stores.values() for each in store.iterdir() if each.name.startswith(".")]
    place = stores["gen"] / "gen-0000001-gen.dat"
    assert f"moved aside: {place} is now {place}.withdrawn.1" in chain.journal("gen")


def test_it_may_be_done_again_and_again(chain):
    finished(chain)
    for time in (1, 2):
        redo(chain, "gen", 1, with_all=True)
        chain.finish()
        assert (chain.stores["gen"] / f"gen-0000001-gen.dat.withdrawn.{time}").exists()
    merged = (chain.stores["merge"] / "merge-0000000-all.dat").read_text().split()
    assert sorted(map(int, merged)) == list(range(1, 11))


def test_what_was_made_of_it_may_be_marked_only(chain):
    finished(chain)
    redo(chain, "gen", 1, stale=True)
    chain.finish("gen")
    chain.go(20, 2.0)
    assert chain.diary.count(("gen", "3", "4")) == 2
    assert len(chain.diary) == 12
    notes = {each.name: each.note for each in chain.store.pools.find_items(2, "*", "", -1)}
    assert {name for name, note in notes.items() if note.startswith("stale")} == {"gen/1"}
    assert "redo: 1 piece is done again; 1 stored file is moved aside; of 2 the inputs are stale" in chain.journal(
        "gen"
    )
    assert [chain.task(name).state for name in ("gen", "reco", "merge")] == [TaskState.FINISHED] * 3


def test_what_is_on_the_way_is_ended_and_released_again(chain):
    begun(chain, store=False)
    chain.until(lambda: len(chain.batch.tasks) == 5)
    chain.work()
    chain.until(lambda: chain.counts("pieces", "reco").get("sent") == 5)
    chain.go(3)
    chain.begin()
    redo(chain, "gen", 1, with_all=True)
    chain.finish()
    assert chain.diary.count(("gen", "3", "4")) == 2
    (output,) = chain.store.outputs.of_piece(3, 0)
    assert sorted(map(int, Path(output.place).read_text().split())) == list(range(1, 11))
    assert [chain.task(name).outcome for name in ("gen", "reco", "merge")] == ["completed"] * 3


def test_what_is_in_the_place_of_a_stored_file_is_never_touched(chain):
    finished(chain)
    place = chain.stores["gen"] / "gen-0000001-gen.dat"
    place.write_text("mine")  # as long as what was there
    redo(chain, "gen", 1, with_all=True)
    why = "other content than when the payload ended: somebody has changed it; move it away first"
    assert chain.journal("gen")[-1] == f"redo changes nothing: {place}: {why}"
    assert (place.read_text(), len(chain.diary)) == ("mine", 11)


def test_a_stored_file_that_is_gone_is_made_again(chain):
    finished(chain)
    (chain.stores["gen"] / "gen-0000001-gen.dat").unlink()
    redo(chain, "gen", 1, with_all=True)
    chain.finish()
    assert (chain.stores["gen"] / "gen-0000001-gen.dat").read_text() == "3\n4\n"


def test_new_pieces_do_the_work_of_those_whose_grid_jobs_are_gone(chain):
    """Nobody knows how many attempts those had, and no seed may come again."""
    finished(chain)
    for grid in list(range(1, 8)):
        if chain.store.waves.of_grid_job(grid):
            chain.keeper.store.removals.remove(chain.store.grid_job(grid))
    redo(chain, "gen", 1, with_all=True)
    chain.finish()
    assert chain.counts("pieces", "gen") == {"completed": 5, "replaced": 1}
    assert [chain.task(name).outcome for name in ("gen", "reco", "merge")] == ["completed"] * 3
    assert len(set(chain.seeds)) == 14
    new = [each for each in chain.stores["merge"].iterdir() if "withdrawn" not in each.name]
    assert [sorted(map(int, each.read_text().split())) for each in new] == [list(range(1, 11))]


def test_a_cancelled_task_keeps_what_it_has_made_and_is_marked(chain):
    begun(chain)
    chain.until(lambda: chain.work() or chain.task("reco").state is TaskState.FINISHED)
    chain.ask("cancel", "merge")
    chain.until(lambda: chain.task("merge").state is TaskState.CANCELLED)
    redo(chain, "gen", 1, with_all=True)
    chain.finish("reco")
    assert [chain.task(name).outcome for name in ("gen", "reco")] == ["completed"] * 2
    assert chain.task("merge").state is TaskState.CANCELLED


@pytest.mark.parametrize("many", [(3, 3), (3, 1), (1, 3), (0, 2), (2, 0)])
def test_pieces_that_bring_any_number_of_files_may_bring_another_one(ground, tmp_path, many):
    store = tmp_path / "store"
    store.mkdir()
    before, after = many
    words = f"""
        [[task]]
        name = "t"
        request.job_type = "executable"
        request.executable = "/bin/echo"
        request.outputs = ["*.dat"]
        source = [ {{ events = 2, events_per_piece = 2 }} ]
        output = [ {{ name = "gen", files = "*.dat", each = "any", store = "{store}" }} ]
        """
    ground.brings = lambda _: {f"{n}.dat": b"old" for n in range(before)}
    ground.start(words)
    ground.until_state(TaskState.FINISHED)
    ground.brings = lambda _: {f"{n}.dat": b"new" for n in range(after)}
    ground.ask("redo", numbers=[0], with_all=True)
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    files = {each.name: each.read_text() for each in store.iterdir()}
    assert sorted(text for name, text in files.items() if "withdrawn" in name) == ["old"] * before
    assert sorted(text for name, text in files.items() if "withdrawn" not in name) == ["new"] * after


def completed_but_not_stored(chain):
    """Let gen's pieces complete while its store is away; return that directory."""
    begun(chain)
    store = chain.stores["gen"]
    store.rename(store.with_name("away"))
    chain.until(lambda: chain.work() or chain.counts("pieces", "gen").get("completed") == 5)
    chain.until(lambda: all(each.reason for each in chain.store.outputs.to_do(1, float("inf"), 50)))
    return store


def test_what_a_killed_keeper_had_stored_and_not_recorded_is_moved_aside(chain):
    """Else the next attempt would find it in its place for ever."""
    store = completed_but_not_stored(chain)
    store.with_name("away").rename(store)
    (store / "gen-0000001-gen.dat").write_text("3\n4\n")
    other_words(chain)
    redo(chain, "gen", 1, with_all=True)
    chain.finish()
    assert (store / "gen-0000001-gen.dat").read_text() == "33\n4\n"
    assert (store / "gen-0000001-gen.dat.withdrawn.1").read_text() == "3\n4\n"
    assert chain.merged() == [1, 2, 4, 5, 6, 7, 8, 9, 10, 33]


def test_what_is_not_stored_yet_has_nothing_to_be_moved_aside(chain):
    store = completed_but_not_stored(chain)
    store.with_name("away").rename(store)
    redo(chain, "gen", 1)
    chain.finish()
    assert chain.merged() == list(range(1, 11))
    assert not any("moved aside" in line for line in chain.journal("gen"))
    assert not [each for each in store.iterdir() if "withdrawn" in each.name]


def test_a_store_that_is_away_is_waited_for_before_anything_is_done_again(chain):
    finished(chain)
    store = chain.stores["gen"]
    store.rename(store.with_name("away"))
    other_words(chain)
    redo(chain, "gen", 1, with_all=True)
    chain.go(5, 2.0)
    store.with_name("away").rename(store)
    chain.finish()
    assert (store / "gen-0000001-gen.dat").read_text() == "33\n4\n"
    assert (store / "gen-0000001-gen.dat.withdrawn.1").read_text() == "3\n4\n"


def test_names_for_what_is_moved_aside(tmp_path):
    place = tmp_path / "a.dat"
    assert aside(place) == f"{place}.withdrawn.1"
    (tmp_path / "a.dat.withdrawn.1").symlink_to("/nowhere")
    assert aside(place) == f"{place}.withdrawn.2"
