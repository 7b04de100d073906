"""Files that are only promised, cut by events: each event of each file is given to one payload, whatever is recovered.

What is exactly once is judged by the diary of payloads, and by the events in the last store.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jim.statusdb.task_rows import TaskState
from tests.support.sampled import sampled
from tests.unit.tasks.masks import EXPECTED, NAMES, Masks


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Masks(tmp_path, monkeypatch)


@pytest.mark.parametrize("about", sampled([True, False]))
@pytest.mark.parametrize("broken", ["wait", "fail"])
@pytest.mark.parametrize("many", sampled([2, 1]))
def test_what_replaces_a_promise_of_which_pieces_have_parts_is_cut_anew(ground, broken, many, about):
    ground.begins(broken=broken, about=about)
    ground.breaks_the_first()
    ended = {"wait": "waiting", "fail": "failed"}[broken]
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {"completed": 2, ended: 2})
    ground.ask("recover", "gen", parameters={"events_per_piece": EXPECTED // many})
    planned = {"completed": 2, "taken back": 2, "waiting": 2 * many}
    ground.until(lambda: ground.counts("pieces", "reco") == planned)
    assert ground.items("reco")["gen/0"] == "gone"
    ground.completes()
    ground.check_each_once(8)
    lines = {name: len(Path(name).read_text().split()) for name in ground.given()}
    assert sorted(lines.values()) == sorted([EXPECTED, *[EXPECTED // many] * many])
    if about:
        assert {name: len(those) for name, those in ground.given().items()} == lines


@pytest.mark.parametrize("broken", ["wait", "fail"])
def test_a_part_of_what_replaced_a_promise_is_recovered_as_it_is(ground, broken):
    ground.begins(broken=broken)
    ground.breaks_the_first()
    ground.ask("recover", "gen")
    ground.until(lambda: ground.counts("pieces", "reco").get("taken back") == 2)
    ground.until(lambda: ground.work_but_for("2", "3") or ground.counts("pieces", "reco").get("failed") == 2)
    ground.ask("recover", "reco")
    if broken == "fail":
        ground.until(lambda: ground.work() or ground.task("reco").outcome == "completed")
        ground.ask("recover", "merge")
    ground.completes()
    ground.check_each_once(8)


def test_pieces_that_were_recovered_before_their_promise_are_cut_anew(ground):
    ground.begins(broken="fail")
    ground.breaks_the_first()
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco").get("failed") == 2)
    ground.ask("recover", "reco", parameters={"events_per_job": 1})
    ground.until(lambda: ground.counts("pieces", "reco").get("replaced") == 2)
    ground.ask("recover", "gen", parameters={"events_per_piece": 2})
    ground.completes()
    ground.check_each_once(8)
    assert ground.counts("pieces", "reco") == {"completed": 4, "replaced": 2, "taken back": 6}


def test_a_task_that_had_finished_goes_on_with_what_replaces_its_promise(ground):
    ground.begins(broken="fail")
    ground.breaks_the_first()
    ground.until(lambda: ground.work() or [ground.task(each).outcome for each in NAMES] == ["with failures"] * 3)
    assert ground.counts("pieces", "merge") == {"failed": 1}
    ground.ask("recover", "gen")
    ground.until(lambda: ground.counts("pieces", "reco").get("taken back") == 2)
    assert [ground.task(name).state for name in ("reco", "merge")] == [TaskState.RUNNING] * 2
    ground.completes()
    ground.check_each_once(8)
    assert ground.counts("pieces", "merge") == {"taken back": 1, "completed": 1}


def test_what_a_retry_mends_keeps_its_pieces(ground):
    ground.begins()
    ground.breaks_the_first()
    ground.ask("retry", "gen")
    ground.completes()
    ground.check_each_once(8)
    assert ground.counts("pieces", "reco") == {"completed": 4}


def test_a_file_with_more_events_than_promised_fails_its_piece(ground):
    ground.told = {1: 9}
    ground.begins(per_job=3)
    ground.until(lambda: ground.work() or ground.counts("pieces", "gen") == {"completed": 1, "failed": 1})
    (piece,) = ground.store.pieces.failed(ground.task("gen").id)
    assert piece.reason == "promised at most 4 events a file, gen.dat has 9"
    ground.until(lambda: ground.work() or ground.task("gen").state is TaskState.FINISHED)
    assert ground.task("gen").outcome == "with failures"
    assert ground.counts("output gen", "gen") == {"stored": 1, "broken": 1}
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {"waiting": 2, "completed": 2})
    ground.told = {}
    ground.ask("retry", "gen")
    ground.completes()
    ground.check_each_once(8)


@pytest.mark.parametrize(
    ("events", "given", "pieces"),
    [
        (4, [0, 1, 2, 3], {"completed": 4}),
        (3, [0, 1, 2, 3], {"completed": 4}),
        (2, [0, 1], {"completed": 3, "taken back": 1}),
        (0, [0, 1], {"completed": 3, "taken back": 1}),
    ],
)
def test_no_payload_is_sent_for_events_behind_the_end_of_a_file(ground, events, given, pieces):
    ground.told = {5: events}
    ground.begins()
    ground.completes()
    assert sorted(ground.given().values()) == sorted([[0, 1, 2, 3], given])
    assert ground.merged() == list(range(1, 5 + events))
    assert ground.counts("pieces", "reco") == pieces
    assert ground.counts("items", "reco") == {"completed": 2}


def test_a_failed_piece_behind_the_end_of_a_mended_file_is_taken_back(ground):
    ground.begins(broken="fail")
    ground.breaks_the_first()
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco").get("failed") == 2)
    ground.told = {1: 2}
    ground.ask("retry", "gen")
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco").get("failed") == 1)
    ground.ask("recover", "reco")
    ground.until(lambda: ground.work() or ground.task("reco").state is TaskState.FINISHED)
    assert sorted(ground.given().values()) == [[0, 1], [0, 1, 2, 3]]
    assert ground.counts("pieces", "reco") == {"completed": 3, "replaced": 1, "taken back": 1}
