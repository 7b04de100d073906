"""What people are told of tasks that do not go on: what is waited for, and what somebody can do about it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from jim.model import State, Step
from jim.reading.job import waits
from jim.reading.progress import progress
from jim.reading.tasks import graph as task_graph
from jim.reading.tasks import hindrances as task_hindrances
from jim.reading.tasks import waits as task_waits
from jim.reading.tasks import words as task_words
from jim.reading.tasks.facts import sources
from jim.reading.view import View
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.ground import Ground, events


@pytest.fixture
def chain(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


def view_of(ground: Ground) -> View:
    return View(ground.site, ground.store, ground.clock)


def told(ground: Ground, name: str = "t") -> dict[str, str]:
    """Return what a task waits for, and what happens next."""
    return {each.what: each.next for each in task_waits.waits(view_of(ground), ground.task(name))}


def hindered(ground: Ground, name: str) -> list[str]:
    counts = ground.counts("items", name), ground.counts("pieces", name)
    view = view_of(ground)
    disks = task_hindrances.without_room(view)
    return [each.words for each in task_hindrances.hindrances(view, ground.task(name), *counts, disks)]


def test_a_wave_that_a_pause_has_ended_was_killed(ground):
    ground.start(events(6, 2))
    ground.until(lambda: len(ground.batch.tasks) == 3)
    ground.ask("pause", kill=True)
    ground.until(lambda: ground.store.grid_job(1).step is Step.FINISHED)
    job, counts = ground.store.grid_job(1), ground.store.counts(1)
    assert (counts, job.outcome) == ({State.FAILED_FROZEN: 3}, "killed")
    assert progress(job, counts) == "frozen: 3 of 3"
    (wait,) = waits.of_grid_job(view_of(ground), job)
    assert wait.what == "finished as killed: none of its local jobs counts any more: others do their work"
    assert "recover" not in wait.next  # it would be refused


def test_who_waits_for_a_task_that_waits_is_told_for_what(chain):
    chain.chain(files=5)
    chain.until(lambda: len(chain.batch.tasks) == 20)
    chain.fail("gen")
    chain.until(lambda: chain.task("gen").state is TaskState.FINISHED)
    why = "20 promises of gen.gen are broken; `jim task retry gen` or `jim task recover gen` may fulfil them"
    assert hindered(chain, "merge") == [f"it is fed by reco, which waits, too: {why}"]
    assert told(chain, "merge")["1 piece waits for promises; in all of reco: 4 promised"].startswith(
        hindered(chain, "merge")[0]
    )


def test_who_waits_for_promises_of_a_paused_task_is_told_so(chain):
    chain.chain(files=5)
    chain.until(lambda: len(chain.batch.tasks) == 20)
    chain.ask("pause", "gen")
    chain.ask("pause", "reco")
    assert "it is fed by reco, which is paused" in hindered(chain, "merge")
    chain.ask("resume", "reco")
    assert hindered(chain, "merge") == ["it is fed by reco, which waits, too: it is fed by gen, which is paused"]


def told_of(ground: Ground, name: str, p: int) -> list[str]:
    """Return what happens next with a piece."""
    task = ground.task(name)
    return [each.next for each in task_waits.of_piece(view_of(ground), task, ground.store.pieces.one(task.id, p))]


def test_promises_of_a_cancelled_task_can_only_be_given_up(chain):
    chain.chain(events=20)
    chain.until(lambda: len(chain.batch.tasks) == 10)
    first, *_ = chain.begin()
    chain.end_one(*first)
    chain.until(lambda: chain.counts("output gen", "gen").get("stored") == 1)
    chain.ask("cancel", "gen")
    chain.until(lambda: chain.task("reco").state is TaskState.FINISHED, 5.0)
    failed = "2 pieces have failed: promise * will not be fulfilled: task gen was cancelled (as reco/0)"
    assert told(chain, "reco")[failed] == "`jim task explain reco/0` tells what can be done"
    drop = "`jim task drop reco gen/1 gen/2 gen/3 … --reason WHY` gives them up"
    assert told_of(chain, "reco", 0) == [f"{drop}; then `jim task recover reco` makes a new piece of the others"]
    assert told_of(chain, "reco", 1) == [
        "nothing brings its files any more; `jim task drop reco gen/5 gen/6 gen/7 … --reason WHY` gives them up"
    ]
    assert hindered(chain, "merge") == ["2 promises of reco.reco are broken, and no retry of reco fulfils them"]
    assert told_of(chain, "merge", 0) == [f"`jim task explain reco/{p}` tells what can be done" for p in (0, 1)]


def test_promises_that_a_cancelled_task_has_never_begun_to_keep_are_drawn_as_broken(chain):
    chain.create(chain.text(events=20))
    chain.ask("throttle", "gen", at_once=1)
    for name in ("gen", "reco", "merge"):
        chain.ask("start", name, untested=True)
    chain.until(lambda: chain.counts("output gen", "gen").get("promised") == 10 and chain.batch.tasks)
    assert drawn(chain) == "gen  0/10 ─ gen 0 there, 10 promised ─> reco  0/2"
    chain.ask("cancel", "gen")
    chain.until(lambda: chain.task("gen").state is TaskState.CANCELLED)
    assert drawn(chain) == "gen  0/10 ─ gen 0 there, 10 broken ─> reco  0/2"


def drawn(ground: Ground) -> str:
    """Return the first arrow of the graph."""
    return task_graph.as_text(task_graph.graph(view_of(ground), ["gen"]))[0]


def test_promises_whose_files_were_dropped_can_only_be_given_up(chain):
    chain.chain(events=20)
    chain.until(lambda: chain.fail("reco") or chain.counts("pieces", "reco").get("failed") == 2, 5.0)
    chain.ask("drop", "reco", items=[f"gen/{n}" for n in range(5)], reason="bad")
    failed = "2 pieces have failed: exit 3 (as reco/0)"
    assert told(chain, "reco")[failed].startswith("`jim task retry reco` tries them again")
    again = "`jim task retry reco` or `jim task recover reco` may fulfil"
    assert hindered(chain, "merge") == [f"2 promises of reco.reco are broken; {again} them"]
    drop = "nobody will bring it; `jim task drop merge reco/0 --reason WHY` gives it up"
    assert told_of(chain, "merge", 0) == [f"{drop}, and what is left of its piece is planned again", f"{again} it"]
    chain.ask("drop", "reco", items=[f"gen/{n}" for n in range(5, 10)], reason="bad")
    assert told_of(chain, "reco", 0) == ["nothing more happens: all its items were dropped or are gone"]
    assert told(chain, "reco")[failed] == "nothing tries them again: all their items were dropped or are gone"
    assert hindered(chain, "merge") == ["2 promises of reco.reco are broken, and no retry of reco fulfils them"]


def test_a_piece_that_lacked_a_broken_promise_waits_again_once_that_is_mended(chain):
    chain.chain(events=20, broken="fail")
    chain.until(lambda: len(chain.batch.tasks) == 10)
    chain.begin()
    chain.batch.finish("1", 2, code=3)
    chain.until(lambda: chain.work() or chain.counts("pieces", "reco").get("failed") == 1)
    again = "`jim task retry reco` lets it wait for its files again"
    mends = "`jim task retry gen` or `jim task recover gen` may fulfil it"
    assert told_of(chain, "reco", 0) == [f"{mends}; then {again}"]
    chain.ask("retry", "gen")
    chain.until(lambda: chain.work() or chain.counts("output gen", "gen") == {"stored": 10})
    assert told_of(chain, "reco", 0) == [again]


def test_a_test_that_has_failed_is_to_be_mended(ground):
    ground.create(events(6, 2))
    assert "--untested" in told(ground)["task t is configured"]
    ground.ask("test")
    ground.until(lambda: bool(ground.work(code=3)) or ground.task().state is TaskState.CONFIGURED)
    ((what, next_),) = told(ground).items()
    assert what.startswith("task t is configured: test 1 failed: ")
    assert next_.startswith("`jim task create` takes files that have changed, and `jim task test t`")


def test_another_file_in_the_place_of_an_output_is_to_be_moved_away(chain):
    chain.chain(events=2)
    (chain.stores["gen"] / "gen-0000000-gen.dat").write_text("somebody's own")
    chain.until(lambda: bool(chain.work()) or any("other content" in each for each in told(chain, "gen")))
    (next_,) = (told(chain, "gen")[each] for each in told(chain, "gen") if "other content" in each)
    assert (
        next_ == "mend that, or move away another file of its name; it is tried again, at the latest after ten minutes"
    )
    chain.until(lambda: chain.store.grid_job(1).step is Step.FINISHED)
    assert "wave 1, grid job 1: its outputs are still to be stored" in told(chain, "gen")


def test_who_waits_for_a_file_that_cannot_be_stored_is_told_so(chain):
    (chain.stores["gen"] / "gen-0000000-gen.dat").write_text("somebody's own")
    chain.chain(events=20, files=5)
    chain.until(lambda: bool(chain.work()) or chain.counts("pieces", "reco") == {"waiting": 1, "completed": 1}, 5.0)
    why = f"is not stored: {chain.stores['gen']}/gen-0000000-gen.dat is there with other content"
    why = f"output gen of piece gen/0 {why}"
    assert hindered(chain, "reco") == [f"it is fed by gen, which waits, too: {why}"]
    assert told(chain, "reco")["1 piece waits for promises; in all of gen: 1 to be stored"].startswith(
        hindered(chain, "reco")[0]
    )
    view, task = view_of(chain), chain.task("reco")
    (wait,) = task_waits.of_piece(view, task, chain.store.pieces.one(task.id, 0))
    assert wait.what == f"it waits for gen/0, promised by piece gen/0, which is completed; {why}"
    assert task_graph.as_text(task_graph.graph(view, ["gen"]))[0] == "gen  10/10 ─ gen 9 there, 1 promised ─> reco  1/2"


def test_what_each_source_has_brought_is_counted(chain):
    chain.chain(events=20, campaigns=2, promises=False)
    chain.finish()
    found = {
        name: [each.new for each in sources(view_of(chain), chain.task(name))] for name in ("gen", "reco", "merge")
    }
    assert found == {"gen": [2], "reco": [10], "merge": [2]}


def test_a_file_that_was_lost_before_it_was_stored_is_told(chain):
    (chain.stores["gen"] / "gen-0000000-gen.dat").write_text("somebody's own")
    chain.chain(events=2)
    chain.until(lambda: bool(chain.work()) or any("other content" in each for each in told(chain, "gen")))
    (output,) = chain.store.outputs.of_piece(chain.task("gen").id, 0)
    Path(output.place).unlink()
    (chain.stores["gen"] / "gen-0000000-gen.dat").unlink()
    chain.until(lambda: any("No such file" in each for each in told(chain, "gen")))
    words = f"output gen of piece gen/0 is not stored: {output.place}: No such file or directory"
    assert told(chain, "gen")[words] == (
        "unless it comes back as it was, its piece fails; a few are tried again, others by `jim task retry gen`"
    )


def test_of_many_waves_the_first_are_told(ground):
    ground.start(events(16, 2, "release = { at_once = 1, every_seconds = 0 }"))

    for many in range(1, 9):
        ground.ask("throttle", at_once=many)
        ground.until(lambda many=many: len(ground.batch.tasks) == many, 5.0)
    found = [each for each in told(ground) if "wave" in each]
    assert len(found) == 6
    assert found[-1] == "3 more waves have not ended"


@pytest.mark.parametrize(("seconds", "words"), [(None, "-"), (5, "1 min"), (100, "2 min"), (7_000, "1 h 57 min")])
def test_what_is_left_is_told_in_minutes(seconds, words):
    assert task_words.eta_in_words(SimpleNamespace(eta_seconds=seconds)) == words


def test_a_limit_of_zero_is_told_in_the_journal(ground):
    ground.start(events(6, 2))
    ground.ask("throttle", at_once=0)
    ground.ask("priority", priority=0)
    said = "requested: somebody, by the command line"
    assert {f"throttle {said}, at_once 0", f"priority {said}, priority 0"} <= set(ground.journal())


def test_why_a_task_went_on_is_told_by_its_journal_alone(ground):
    ground.start(events(6, 2))
    ground.until(lambda: ground.work(code=3) or ground.task().state is TaskState.FINISHED)
    ground.ask("recover")
    ground.until(lambda: "running: failed pieces are recovered" in ground.journal())
    assert (ground.task().state, ground.task().reason) == (TaskState.RUNNING, "")


def test_how_attempts_end_is_told_while_there_are_some_to_come(ground):
    ground.start(events(6, 2))
    ground.until(lambda: len(ground.batch.tasks) == 3)
    assert throttle_of(ground) == "1,000 of 2,000, growing"
    ground.until_state(TaskState.FINISHED)
    assert throttle_of(ground) == "1,000 of 2,000"


def throttle_of(ground: Ground) -> str:
    return task_words.throttle_in_words(ground.task())
