"""Stories of what was computed wrongly and is done again, with keepers killed at any moment."""

from __future__ import annotations

import pytest

from tests.faults.judged import NAMES

WHY = ("--reason", "a wrong table")
ONE_PIECE = {
    "gen": ["gen-0000001-gen.dat"],
    "reco": ["reco-0000000-reco.dat"],
    "merge": ["merge-0000000-merge.dat"],
}
several = pytest.mark.parametrize("time", range(2))


def twice(told, task):
    """Return the events with which payloads of a task have begun more than once; none did three times."""
    times = told.times(task)
    assert max(times.values()) <= 2, told.told()
    return {event for event, many in times.items() if many == 2}


def with_one_wrong_piece(story, kills):
    """Let the chain finish; its second piece was made with a wrong table, which is right now."""
    told = story()
    told.say("word.gen.0000001", "wrong")
    told.chain()
    told.finish(kills)
    told.calm()
    assert any("wrong" in stamps["gen"] for stamps in told.lines().values())
    told.say("word.gen.0000001", "right")
    return told, told.snapshot()


def test_pieces_of_a_finished_task_are_made_again_by_their_items(story):
    """The short story, for who changes something: one task, and one kill."""
    told = story()
    told.say("word.gen.0000000", "wrong")
    words = "events = 4\nevents_per_piece = 2"
    told.start(told.task("gen", words, given='"$FirstEvent", "$LastEvent"'), ["gen"])
    told.finish()
    before = told.snapshot()
    told.say("word.gen.0000000", "right")
    told.ask("task", "redo", "gen/0", "--with-all", *WHY, kills=1)
    told.finish()
    told.calm()
    assert told.moved(before)["gen"] == ["gen-0000000-gen.dat"]
    assert {event: stamps["gen"] for event, stamps in told.lines("gen").items()} == {
        event: f"{attempt}:right" for event, attempt in told.lasts("gen").items()
    }
    assert twice(told, "gen") == {1, 2}


@pytest.mark.torture
@several
def test_one_wrong_piece_is_made_again_with_all_that_was_made_of_it(story, time):
    told, before = with_one_wrong_piece(story, 3)
    refused = told.jim("task", "redo", "gen/1", code=2)
    assert "1 piece in reco, 1 piece in merge, 3 files in the store" in refused
    told.ask("task", "redo", "gen/1", "--with-all", *WHY, kills=4)
    told.finish(3)
    told.hold(8)
    assert told.moved(before) == ONE_PIECE
    assert (twice(told, "gen"), twice(told, "reco")) == ({3, 4}, {1, 2, 3, 4})
    assert twice(told, "merge") == set(range(1, 9))


@pytest.mark.torture
@several
def test_one_wrong_piece_is_made_again_and_what_was_made_of_it_is_marked(story, time):
    told, before = with_one_wrong_piece(story, 3)
    told.ask("task", "redo", "gen/1", "--stale", *WHY, kills=4)
    told.finish(3)
    told.hold(8, stale=True)
    assert told.moved(before) == {"gen": ["gen-0000001-gen.dat"], "reco": [], "merge": []}
    assert [twice(told, name) for name in NAMES] == [{3, 4}, set(), set()]
    assert {told.lines("gen")[event]["gen"] for event in (3, 4)} == {f"{told.lasts('gen')[3]}:right"}
    assert {name for name, note in told.notes("reco").items() if note.startswith("stale")} == {"gen/1"}


@pytest.mark.torture
@pytest.mark.parametrize("which", [("--item", "gen/1"), ("--group", "2")])
def test_pieces_are_chosen_by_item_and_by_group(story, which):
    told = story()
    told.chain(more="campaigns = 2")
    told.finish(2)
    before, name = told.snapshot(), "reco" if which[0] == "--item" else "gen"
    told.ask("task", "redo", name, *which, "--with-all", *WHY, kills=3)
    told.finish(3)
    told.hold(8)
    moved = told.moved(before)
    if name == "reco":
        assert [twice(told, each) for each in NAMES] == [set(), {1, 2, 3, 4}, {1, 2, 3, 4}]
        assert [len(moved[each]) for each in NAMES] == [0, 1, 1]
    else:
        assert [twice(told, each) for each in NAMES] == [{5, 6, 7, 8}] * 3
        assert [len(moved[each]) for each in NAMES] == [2, 1, 1]


@pytest.mark.torture
@several
def test_what_is_on_the_way_is_ended_and_made_of_the_new_file(story, time):
    told = story()
    told.say("word.gen.0000001", "wrong")
    told.say("nap.reco.0000000", "15")
    told.chain()
    told.work(lambda: len(told.runs(task="reco")) == 2, "pieces of the next task run", 2)
    told.say("word.gen.0000001", "right")
    before = told.snapshot()
    told.ask("task", "redo", "gen/1", "--with-all", *WHY, kills=3)
    told.say("nap.reco.0000000", "0.1")
    told.finish(3)
    told.hold(8)
    assert told.moved(before)["gen"] == ["gen-0000001-gen.dat"]
    assert (twice(told, "gen"), twice(told, "reco")) == ({3, 4}, {1, 2, 3, 4})
    assert twice(told, "merge") == set()


@pytest.mark.torture
def test_somebody_elses_bytes_in_the_place_of_a_stored_file_are_never_touched(story):
    told, before = with_one_wrong_piece(story, 1)
    place = told.stores["gen"] / "gen-0000001-gen.dat"
    mine = before["gen"][place.name].replace("wrong", "mine!")
    place.write_text(mine)
    told.ask("task", "redo", "gen/1", "--with-all", *WHY, kills=3)
    told.finish()
    assert f"{place}: other content than when the payload ended: somebody has changed it" in told.told()
    assert (place.read_text(), [twice(told, name) for name in NAMES]) == (mine, [set()] * 3)
    assert told.moved(before | {"gen": told.files("gen")}) == {name: [] for name in NAMES}
    place.rename(told.here / "mine")
    told.ask("task", "redo", "gen/1", "--with-all", *WHY, kills=3)
    told.finish(1)
    told.hold(8)
    assert (told.here / "mine").read_text() == mine


@pytest.mark.torture
def test_a_redo_of_a_paused_task_waits_for_its_resume(story):
    told, before = with_one_wrong_piece(story, 1)
    told.say("nap.gen.0000001", "60")
    told.ask("task", "redo", "gen/1", "--with-all", *WHY, kills=1)
    told.work(lambda: not told.waits(), "the redo is taken")
    told.ask("task", "pause", "gen", "--kill", kills=2)
    told.work(lambda: told.states()["gen"] == "paused" and not told.waits(), "it has paused", 1)
    told.say("nap.gen.0000001", "0.1")
    told.ask("task", "redo", "gen/0", "--with-all", *WHY, kills=2)
    told.work(lambda: not told.waits(), "the second redo is taken")
    told.ask("task", "resume", "gen", kills=2)
    told.finish(3)
    told.hold(8)
    assert set(told.moved(before)["gen"]) == set(before["gen"]) - {"gen-0000002-gen.dat", "gen-0000003-gen.dat"}


@pytest.mark.torture
def test_a_redo_may_be_cancelled_and_loses_no_bytes(story):
    told, before = with_one_wrong_piece(story, 1)
    told.say("nap.gen.0000001", "60")
    told.ask("task", "redo", "gen/1", "--with-all", *WHY, kills=2)
    told.work(lambda: not told.waits(), "the redo is taken")
    told.ask("task", "cancel", "gen", kills=2)
    told.work(lambda: not told.waits() and told.states()["gen"] == "cancelled", "it is cancelled", 1)
    told.end()
    told.calm()
    told.moved(before)
    assert set(told.lines("merge")) <= set(range(1, 9))
    assert twice(told, "gen") <= {3, 4}


@pytest.mark.torture
@pytest.mark.parametrize("second", ["gen/1", "gen/2"])
def test_redo_twice_in_one_breath(story, second):
    told, before = with_one_wrong_piece(story, 1)
    told.end()
    for piece in ("gen/1", second):
        told.jim("task", "redo", piece, "--with-all", *WHY)
    told.die(4)
    told.finish(3)
    told.hold(8)
    moved = told.moved(before)
    assert moved["gen"] == sorted({"gen-0000001-gen.dat", f"gen-000000{second[-1]}-gen.dat"})
    assert twice(told, "gen") == ({3, 4} if second == "gen/1" else {3, 4, 5, 6})
