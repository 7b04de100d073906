"""Tasks that feed one another: what is exactly once is judged by the diary of payloads, and the files in the stores."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from jim.cli.tasks.recovery import recovered, say_recovery
from jim.errors import BadRequest
from jim.model import State
from jim.reading.site.site_view import tasks_seen
from jim.reading.tasks import waits as task_waits
from jim.reading.tasks.effects import effect
from jim.reading.view import View
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from jim.tasks.pieces import planning
from tests.unit.tasks.chain import RECO, RUN, Chain
from tests.unit.tasks.ground import a_list


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Chain(tmp_path, monkeypatch)


@pytest.mark.parametrize("promises", [True, False])
@pytest.mark.parametrize("store", [True, False])
def test_a_chain_of_three_tasks_does_each_event_once(ground, promises, store):
    ground.chain(promises=promises, store=store)
    ground.finish()
    last = ground.store.outputs.of_piece(ground.task("merge").id, 0)[0]
    assert sorted(map(int, Path(last.place).read_text().split())) == list(range(1, 41))
    assert ground.task("merge").next_piece == 1
    assert [ground.task(name).outcome for name in ("gen", "reco", "merge")] == ["completed"] * 3
    assert ground.counts("items", "reco") == {"completed": 20}


def test_pieces_of_promises_are_planned_at_once_and_released_when_their_files_are_there(ground):
    ground.chain()
    ground.until(lambda: ground.counts("pieces", "merge") and len(ground.batch.tasks) == 20)
    assert ground.counts("pieces", "reco") == {"waiting": 4}
    assert ground.counts("items", "reco") == {"acquired": 20}
    ground.begin()
    reco = ground.task("reco").id
    items = ground.store.pools.items(reco, ground.store.pieces.one(reco, 0).record["files"]).values()
    for each in items:
        key = ("1", int(each.name.partition("/")[2]) + 1)
        ground.batch.finish(*key, files=[("gen.dat", b"1\n")], extra=f"file 2 {ONE} gen.dat\n")
    ground.until(lambda: ground.counts("output gen", "gen").get("stored") == 5)
    ground.until(lambda: any(ground.words(key)[1] == "reco" for key in ground.batch.tasks))
    assert ground.counts("pieces", "reco") == {"waiting": 3, "sent": 1}
    assert [ground.words(key)[2].count(",") for key in ground.batch.tasks if ground.words(key)[1] == "reco"] == [4]


def test_few_pieces_are_released_a_minute_after_the_last_wave_and_none_before_its_last_file_is_there(ground):
    text = ground.text()
    head, reco, tail = text.partition('[[task]]\nname = "reco"')
    ground.start(head + reco + tail.replace("every_seconds = 0", "every_seconds = 60", 1), "gen", "reco", "merge")
    ground.until(lambda: len(ground.batch.tasks) == 20)
    runs = sorted(ground.begin(), key=lambda key: int(ground.words(key)[2]))

    def brought(many):
        for _ in range(many):
            ground.end_one(*runs.pop(0))
        ground.until(lambda: ground.counts("output gen", "gen").get("stored") == 20 - len(runs))
        ground.go(3)

    def sent():
        return ground.counts("pieces", "reco").get("sent", 0)

    brought(4)
    ground.go(12, 10.0)
    assert sent() == 0, "its fifth file is not there"
    brought(1)
    assert sent() == 1, "nothing of it is on the way"
    ground.go(1, 10.0)
    brought(5)
    ground.go(1, 45.0)
    ground.go(3)
    assert sent() == 1, "one piece is few: others may come within the minute"
    ground.go(1, 6.0)
    ground.go(3)
    assert sent() == 2
    for key in runs:
        ground.end_one(*key)
    ground.finish()
    assert ground.merged() == list(range(1, 41))


ONE = "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865"


def test_a_piece_waits_for_a_broken_promise_until_it_is_fulfilled_after_a_retry(ground):
    ground.chain(events=20)
    ground.until(lambda: len(ground.batch.tasks) == 10)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    ground.until(lambda: ground.work() or ground.counts("output gen", "gen") == {"stored": 9, "broken": 1})
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {"waiting": 1, "completed": 1})
    assert ground.store.pools.item_named(ground.task("reco").id, "gen/1").there == -1
    assert ground.task("gen").state is TaskState.FINISHED
    reco, view = ground.task("reco"), View(ground.site, ground.store, ground.clock)
    p = ground.pieces("reco").index("waiting")
    told = [(each.what, each.next) for each in task_waits.of_piece(view, reco, ground.store.pieces.one(reco.id, p))]
    assert told == [
        (
            "it waits for gen/1, promised by piece gen/1, which is failed: exit 3",
            "`jim task retry gen` or `jim task recover gen` may fulfil it",
        )
    ]
    ground.ask("retry", "gen")
    ground.until(lambda: ground.store.pools.item_named(ground.task("reco").id, "gen/1").there == 0)
    ground.finish()
    assert ground.merged() == list(range(1, 21))
    assert ground.counts("output all", "merge") == {"stored": 1}


def test_a_waiting_piece_waits_for_the_three_that_replace_the_failed_one(ground):
    ground.chain(events=24, each=3, files=4)
    ground.until(lambda: len(ground.batch.tasks) == 8)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    ground.until(lambda: ground.work() or ground.counts("output gen", "gen").get("stored") == 7)
    ground.ask("recover", "gen", parameters={"events_per_piece": 1})
    ground.until(lambda: ground.task("gen").next_piece == 11)
    reco = ground.task("reco").id
    piece = ground.store.pieces.one(reco, 0)
    names = {each.name for each in ground.store.pools.items(reco, piece.record["files"]).values()}
    assert names == {"gen/0", "gen/8", "gen/9", "gen/10", "gen/2", "gen/3"}
    assert (piece.state.value, piece.missing) == ("waiting", 3)
    assert ground.store.pools.item_named(reco, "gen/1").state.value == "gone"
    ground.finish()
    assert ground.merged() == list(range(1, 25))
    assert ground.task("reco").next_piece == 2
    assert ground.task("merge").outcome == "completed"


def test_with_fail_the_piece_fails_and_can_be_recovered(ground):
    ground.chain(events=20, broken="fail")
    ground.until(lambda: len(ground.batch.tasks) == 10)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco").get("failed") == 1)
    (piece,) = ground.store.pieces.failed(ground.task("reco").id)
    assert piece.reason == "promise gen/1 is broken: exit 3"
    ground.ask("retry", "gen")
    ground.until(lambda: ground.work() or ground.counts("output gen", "gen") == {"stored": 10})
    ground.ask("recover", "reco")
    ground.finish()
    assert ground.merged() == list(range(1, 21))


def test_promises_of_a_cancelled_task_fail_the_pieces_that_wait(ground):
    ground.chain(events=20)
    ground.until(lambda: len(ground.batch.tasks) == 10)
    ground.begin()
    ground.batch.finish("1", 1, files=[("gen.dat", b"1\n")], extra=f"file 2 {ONE} gen.dat\n")
    ground.until(lambda: ground.counts("output gen", "gen").get("stored") == 1)
    ground.ask("cancel", "gen")
    ground.until(lambda: ground.task("reco").state is TaskState.FINISHED, 5.0)
    reasons = {each.reason for each in ground.store.pieces.failed(ground.task("reco").id)}
    told = {reason.partition(" ")[2].partition(" ")[2] for reason in reasons}
    assert told == {"will not be fulfilled: task gen was cancelled"}
    assert ground.task("reco").outcome == "with failures"
    assert ground.counts("pieces", "merge") == {"waiting": 1}
    ground.ask("cancel", "reco")
    ground.until(lambda: ground.task("merge").state is TaskState.FINISHED, 5.0)
    assert ground.task("merge").outcome == "with failures"


def _one_of_ten_is_there(ground):
    """Let one piece of the first task complete, and cancel the others."""
    ground.chain(events=20)
    ground.until(lambda: len(ground.batch.tasks) == 10)
    first, *_ = ground.begin()
    ground.end_one(*first)
    ground.until(lambda: ground.counts("output gen", "gen").get("stored") == 1)
    ground.ask("cancel", "gen")
    ground.until(lambda: ground.task("reco").state is TaskState.FINISHED, 5.0)


@pytest.mark.parametrize("verb", ["retry", "recover"])
def test_what_waits_anew_for_a_removed_task_fails_again(ground, verb):
    _one_of_ten_is_there(ground)
    ground.ask("remove", "gen")
    ground.ask(verb, "reco")
    pieces = [0, 1] if verb == "retry" else [2, 3]
    reasons = [f"promise gen/{n} will not be fulfilled: task gen was removed" for n in (1, 5)]
    reco = ground.task("reco").id
    ground.until(
        lambda: (
            [(each.p, each.reason) for each in ground.store.pieces.failed(reco)] == [*zip(pieces, reasons, strict=True)]
        )
    )
    ground.until(lambda: ground.task("reco").state is TaskState.FINISHED)


def test_what_is_left_of_a_piece_can_be_done_once_the_rest_is_given_up(ground):
    _one_of_ten_is_there(ground)
    ground.ask("drop", "reco", items=[f"gen/{n}" for n in range(1, 10)], reason="gen was cancelled")
    ground.ask("recover", "reco")
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco").get("completed") == 1, 5.0)
    ground.ask("drop", "merge", items=["reco/1"], reason="gen was cancelled")
    ground.finish()
    assert ground.merged() == [1, 2]


def test_a_piece_that_lacked_a_promise_waits_for_it_again_after_a_retry(ground):
    ground.chain(events=20, broken="fail")
    ground.until(lambda: len(ground.batch.tasks) == 10)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco").get("failed") == 1)
    ground.ask("retry", "gen")
    ground.until(lambda: ground.counts("output gen", "gen").get("promised"))
    ground.ask("retry", "reco")
    assert ground.counts("pieces", "reco").get("waiting") == 1
    ground.finish()
    assert ground.merged() == list(range(1, 21))


def test_a_file_that_a_cancelled_task_could_not_store_fails_the_pieces_that_wait_for_it(ground):
    (ground.stores["gen"] / "gen-0000000-gen.dat").write_text("somebody's own")
    ground.chain(events=20, files=5)
    ground.until(lambda: ground.work() or ground.counts("output gen", "gen") == {"stored": 9, "verified": 1}, 5.0)
    ground.ask("cancel", "gen")
    ground.until(lambda: ground.work() or ground.task("reco").state is TaskState.FINISHED, 20.0)
    assert ground.counts("pieces", "reco") == {"failed": 1, "completed": 1}
    assert [each.reason for each in ground.store.pieces.failed(ground.task("reco").id)] == [
        "promise gen/0 will not be fulfilled: task gen was cancelled"
    ]
    assert ground.counts("output gen", "gen") == {"stored": 9, "broken": 1}


def test_no_file_of_any_number_fulfils_a_promise_by_nothing(ground):
    text = ground.text(events=10, each=2, files=5, promises=True)
    text = text.replace('files = "gen.dat",', 'files = "gen.dat", each = "any",', 1)
    real = ground.brings
    ground.brings = lambda words: {} if words[:2] == ("gen", "3") else real(words)
    ground.start(text, "gen", "reco", "merge")
    ground.finish()
    assert ground.merged() == [1, 2, *range(5, 11)]
    assert ground.items("reco")["gen/1"] == "gone"
    assert ground.task("merge").outcome == "completed"


def test_no_file_for_a_piece_that_has_failed_for_want_of_another_one_is_not_in_its_way(ground):
    text = ground.text(events=10, each=2, files=5, broken="fail")
    text = text.replace('files = "gen.dat",', 'files = "gen.dat", each = "any",', 1)
    real = ground.brings
    ground.brings = lambda words: {} if words[:2] == ("gen", "3") else real(words)
    ground.start(text, "gen", "reco", "merge")
    ground.until(lambda: len(ground.batch.tasks) == 5)
    first, second, *_ = ground.begin()
    ground.batch.finish(*first, code=3)
    ground.until(lambda: ground.counts("pieces", "reco") == {"failed": 1} and ground.task("reco").outcome)
    ground.end_one(*second)
    ground.until(
        lambda: ground.counts("pieces", "reco") == {"taken back": 1, "failed": 1} and ground.task("reco").outcome
    )
    ground.end()
    ground.ask("retry", "gen")
    ground.until(lambda: ground.work() or ground.counts("output gen", "gen") == {"stored": 4, "withdrawn": 1})
    ground.ask("recover", "reco")
    ground.finish()
    assert ground.merged() == [1, 2, *range(5, 11)]


def test_each_group_is_merged_as_soon_as_it_is_closed_and_there(ground):
    ground.chain(events=30, campaigns=3, promises=False)
    merged = []

    def goes_on():
        here = list(ground.begin())
        for key in here:
            if ground.words(key)[1] == "merge":
                inputs = ground.words(key)[2].split(",")
                events = sorted(int(line) for each in inputs for line in Path(each).read_text().split())
                merged.append(events)
        ground.end()
        return ground.task("merge").state is TaskState.FINISHED

    ground.until(goes_on, 2.0, 600)
    assert merged == [list(range(1, 11)), list(range(11, 21)), list(range(21, 31))]
    assert ground.counts("pieces", "merge") == {"completed": 3}


@pytest.mark.parametrize("promises", [True, False])
def test_a_group_is_merged_while_nothing_of_the_others_has_ended(ground, promises):
    ground.chain(events=30, campaigns=3, promises=promises)
    ground.until(lambda: len(ground.batch.tasks) == 15)

    def others_hang():
        ground.begin()
        for key, task in list(ground.batch.tasks.items()):
            if task.state is State.RUNNING and not (ground.words(key)[1] == "gen" and int(ground.words(key)[2]) > 10):
                ground.end_one(*key)
        return ground.merged()

    ground.until(others_hang, 2.0)
    assert ground.merged() == list(range(1, 11))
    assert ground.counts("pieces", "gen") == {"completed": 5, "sent": 10}
    assert ground.counts("pieces", "merge").get("sent", 0) == 0, "in no wave before"
    ground.finish()
    assert ground.merged() == list(range(1, 31))
    assert len(list(ground.stores["merge"].iterdir())) == 3


@pytest.mark.parametrize("promises", [True, False])
def test_a_recovery_upstream_opens_a_group_that_was_merged(ground, promises):
    ground.chain(events=20, promises=promises, broken="fail")
    ground.until(lambda: len(ground.batch.tasks) == 10)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    if promises:
        ground.until(lambda: ground.work() or ground.counts("pieces", "reco").get("failed") == 1)
        ground.ask("drop", "merge", items=["reco/0"], reason="no")
    ground.until(lambda: ground.work() or ground.task("merge").state is TaskState.FINISHED, 2.0)
    missing = range(1, 11) if promises else (3, 4)  # with promises, a whole piece of reco has failed
    assert ground.merged() == [n for n in range(1, 21) if n not in missing]
    ground.ask("recover", "gen")
    ground.until(lambda: ground.task("gen").state is TaskState.RUNNING)
    ground.until(lambda: ground.work() or ground.task("gen").state is TaskState.FINISHED)
    if promises:
        ground.ask("recover", "reco")
    ground.until(lambda: ground.work() or len(ground.merged()) == 20, 2.0, 600)
    assert any(line.startswith("opened again: ") for line in ground.journal("merge" if promises else "reco"))
    assert ground.merged() == list(range(1, 21))
    assert len(list(ground.stores["merge"].iterdir())) == 2, "the remainder makes another piece"
    assert "late" not in ground.counts("items", "merge")
    assert "late" not in ground.counts("items", "reco")


def test_a_task_that_feeds_an_unfinished_one_is_not_removed_and_its_files_stay(ground, monkeypatch):
    ground.chain(events=10, store=False)
    ground.until(lambda: ground.work() or ground.task("gen").state is TaskState.FINISHED)
    ground.ask("pause", "reco")
    from jim.keeper.results.aging import is_over

    monkeypatch.setattr(type(ground.site.keep), "seconds", lambda *_, **__: 0.0)
    ground.go(2, 10.0)
    first = ground.store.grid_job(ground.store.waves.all(ground.task("gen").id)[0].grid)
    assert not is_over(ground.keeper, first)
    ground.ask("remove", "gen")
    why = "gen feeds 'reco', which is not finished; finish or cancel that first"
    assert f"remove changes nothing: {why}" in ground.journal("gen")
    ground.ask("resume", "reco")
    ground.finish()
    (place,) = (Path(each.place) for each in ground.store.outputs.of_piece(ground.task("merge").id, 0))
    assert sorted(map(int, place.read_text().split())) == list(range(1, 11))
    ground.go(2, 10.0)
    assert is_over(ground.keeper, first), "nothing reads them any more"


def test_what_was_there_before_a_task_is_caught_up_with(ground, monkeypatch):
    monkeypatch.setattr("jim.tasks.pool.feeding.AT_ONCE", 3)
    whole = ground.text(events=20)
    gen = whole[: whole.index('[[task]]\nname = "reco"')]
    ground.start(gen, "gen")
    ground.until(lambda: ground.work() or ground.task("gen").state is TaskState.FINISHED)
    ground.create(whole[whole.index('[[task]]\nname = "reco"') :], "more.toml")
    ground.ask("start", "reco", untested=True)
    ground.ask("start", "merge", untested=True)
    ground.finish()
    assert ground.merged() == list(range(1, 21))


def test_what_is_no_longer_kept_is_gone_for_a_task_that_comes_later(ground, monkeypatch):
    whole = ground.text(events=20, store=False)
    gen = whole[: whole.index('[[task]]\nname = "reco"')]
    ground.start(gen, "gen")
    ground.until(lambda: ground.work() or ground.task("gen").state is TaskState.FINISHED)
    with monkeypatch.context() as patched:
        patched.setattr(type(ground.site.keep), "seconds", lambda *_, **__: 0.0)
        ground.until(lambda: not ground.store.grid_jobs(), seconds=4000.0)
    ground.create(whole[whole.index('[[task]]\nname = "reco"') :], "more.toml")
    ground.ask("start", "reco", untested=True)
    ground.until(lambda: ground.task("reco").state is TaskState.FINISHED)
    assert ground.counts("items", "reco") == {"gone": len(ground.store.chains.outputs_after(1, "gen", 0, 100))}
    assert ground.counts("pieces", "reco") == {}
    task = ground.task("reco")
    assert (task.outcome, task.reason) == ("with failures", "the files of 10 items of reco are no longer kept")
    told = [each.what for each in task_waits.waits(View(ground.site, ground.store), task)]
    assert "10 items are gone: their grid jobs are no longer kept, nor are their files" in told


def _forget_upstream(ground, monkeypatch, files=5):
    """Let all pieces of reco fail, and then all grid jobs age out."""
    whole = ground.text(events=8, store=False, files=files, promises=False)
    ground.start(whole[: whole.index('[[task]]\nname = "merge"')], "gen", "reco")

    def finished():
        ground.fail("reco")
        return ground.task("reco").state is TaskState.FINISHED

    ground.until(finished)
    _forget(ground, monkeypatch)


def _forget(ground, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(type(ground.site.keep), "seconds", lambda *_, **__: 0.0)
        ground.until(lambda: not ground.store.grid_jobs(), seconds=4000.0)


@pytest.mark.parametrize("verb", ["recover", "retry"])
def test_nothing_is_made_anew_of_files_that_are_no_longer_kept(ground, monkeypatch, verb):
    _forget_upstream(ground, monkeypatch)
    sent = len(ground.batch.tasks)
    assert ground.counts("items", "reco") == {"failed": 4}
    ground.ask(verb, "reco")
    ground.until(lambda: any("no longer kept" in line for line in ground.journal("reco")))
    ground.go(5, 100.0)
    nothing = {"recover": "nothing is recovered", "retry": "nothing is tried again"}[verb]
    assert f"{verb}: {nothing}: the files of 4 items are no longer kept" in ground.journal("reco")
    assert ground.counts("items", "reco") == {"gone": 4}
    assert ground.counts("pieces", "reco") == {"failed": 1}
    assert len(ground.batch.tasks) == sent
    task = ground.task("reco")
    assert (task.state, task.outcome) == (TaskState.FINISHED, "with failures")
    assert task.reason == "the files of 4 items of reco are no longer kept"
    told = [each.what for each in task_waits.waits(View(ground.site, ground.store), task)]
    assert "4 items are gone: their grid jobs are no longer kept, nor are their files" in told


def test_files_that_are_no_longer_kept_are_told_before_a_recovery(ground, monkeypatch, capsys):
    _forget_upstream(ground, monkeypatch)
    view, task = View(ground.site, ground.store), ground.task("reco")
    lost = "the files of 4 items are no longer kept"
    assert effect(view, TaskVerb.RETRY, task, {}).words == f"0 of 1 failed piece is tried again; {lost}"
    say_recovery({**recovered(view, task, {}), "wish": {}})
    first, becomes, last = capsys.readouterr().out.splitlines()
    assert first == "failed: 0 pieces, 0 items; 0 completed pieces are left alone"
    assert (becomes, last) == ("becomes: 0 pieces", f"gone: {lost}")


@pytest.mark.parametrize("verb", ["recover", "retry"])
def test_what_is_left_of_a_piece_is_made_anew(ground, monkeypatch, verb):
    _forget_upstream(ground, monkeypatch, files=2)
    (kept,) = ground.store.outputs.of_piece(1, 0)
    stored = ground.stores["gen"] / "first.dat"
    stored.write_text("1\n2\n")
    ground.store.outputs.is_stored(kept, str(stored))
    (item,) = (each for each in ground.store.pools.find_items(2, "*", "", -1) if each.output == kept.id)
    ground.store.db.execute("UPDATE item SET record = ? WHERE id = ?", (f'{{"lfn": "{stored}"}}', item.id))
    ground.ask(verb, "reco")
    ground.until(lambda: ground.counts("pieces", "reco").get("replaced"))
    ground.finish("reco", rounds=900)
    told = "recover: 1 failed piece is replaced by 1; the files of 3 items are no longer kept"
    assert told in ground.journal("reco")
    assert ground.counts("items", "reco") == {"gone": 3, "completed": 1}
    assert ground.counts("pieces", "reco") == {"failed": 1, "replaced": 1, "completed": 1}
    assert ground.task("reco").outcome == "with failures"


def test_a_fed_task_that_was_not_tested_lets_its_first_pieces_go_alone(ground, tmp_path):
    ground.create(ground.text(events=40, files=2))
    ground.ask("start", "gen", untested=True)
    ground.ask("start", "reco")
    most = []

    def passed():
        ground.begin()
        live = [key for key, task in ground.batch.tasks.items() if task.state is State.RUNNING]
        most.append(sum(ground.words(key)[1] == "reco" for key in live))
        ground.end()
        return any(line.startswith("its first pieces have passed") for line in ground.journal("reco"))

    ground.until(passed)
    assert max(most) == 1
    assert ground.counts("pieces", "reco")["completed"] == 1
    ground.until(lambda: ground.work() or ground.task("reco").state is TaskState.FINISHED)
    assert ground.counts("pieces", "reco") == {"completed": 10}


def test_a_fed_task_that_was_never_tested_starts_also_once_something_has_come(ground):
    ground.create(ground.text(events=8, files=1, promises=False))
    ground.ask("start", "gen", untested=True)
    ground.until(lambda: ground.work() or ground.counts("items", "reco").get("available", 0) > 1)
    ground.ask("start", "reco")
    ground.go(1)
    assert ground.task("reco").state is TaskState.RUNNING
    assert ground.task("reco").throttle["alone_first"] == 1
    ground.until(lambda: ground.work() or ground.task("reco").state is TaskState.FINISHED)
    assert ground.task("reco").outcome == "completed"


def test_a_fed_task_that_has_changed_since_its_test_is_tested_again_if_something_has_come(ground):
    ground.create(ground.text(events=8, files=1, promises=False))
    ground.ask("start", "gen", untested=True)
    ground.until(lambda: ground.work() or ground.counts("items", "reco").get("available", 0) > 1)
    ground.ask("test", "reco")
    ground.until(lambda: ground.work() or ground.task("reco").state is TaskState.READY)
    ground.ask("fix", "reco", changes={"memory_mb": 3000})
    ground.ask("start", "reco")
    ground.go(1)
    assert ground.task("reco").state is not TaskState.RUNNING
    assert any("reco has not been tested as it is now" in line for line in ground.journal("reco"))


def test_a_fed_task_that_a_person_has_closed_goes_on_when_more_comes(ground):
    ground.create(ground.text(events=8, files=1, promises=False))
    for name in ("gen", "reco"):
        ground.ask("start", name, untested=True)
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin_one("1", 1)
    ground.end()

    def reco_works():
        for key, task in list(ground.batch.tasks.items()):
            if task.state is State.SUBMITTED and ground.words(key)[1] == "reco":
                ground.begin_one(*key)
        ground.end()
        return ground.counts("pieces", "reco").get("completed") == 1

    ground.until(reco_works)
    ground.ask("close", "reco")
    ground.until(lambda: ground.task("reco").state is TaskState.FINISHED)
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco").get("completed") == 4)
    ground.until(lambda: ground.task("reco").state is TaskState.FINISHED)
    assert ground.task("reco").outcome == "completed"
    assert ground.items("reco") == {f"gen/{p}": "completed" for p in range(4)}
    assert any("has come" in line for line in ground.journal("reco"))


@pytest.mark.parametrize("promises", [False, True])
def test_a_fed_task_that_lacks_what_has_failed_has_not_simply_completed(ground, promises):
    ground.create(ground.text(events=8, files=1, promises=promises, broken="fail"))
    for name in ("gen", "reco", "merge"):
        ground.ask("start", name, untested=True)
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.batch.finish("1", 3, code=3)
    ground.until(lambda: ground.work() or ground.task("reco").state is TaskState.FINISHED)
    assert ground.task("reco").outcome == "with failures"
    if promises:
        return  # its own piece has failed
    lacks = "1 file of gen.gen was not brought"
    assert _ends(ground) == {"reco": ("with failures", lacks), "merge": ("with failures", lacks)}
    ground.ask("retry", "gen")
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco") == {"completed": 4})
    assert _ends(ground) == {"reco": ("completed", ""), "merge": ("completed", "")}
    assert ground.merged() == list(range(1, 9))


def _ends(ground):
    """Wait until the tasks that are fed have finished; return their outcomes and what they lack."""
    fed = ("reco", "merge")
    ground.until(lambda: ground.work() or all(ground.task(each).state is TaskState.FINISHED for each in fed))
    return {each: (ground.task(each).outcome, ground.task(each).reason) for each in fed}


def test_a_fed_task_whose_first_piece_fails_pauses_by_itself(ground):
    ground.create(ground.text(events=40, files=2))
    ground.ask("start", "gen", untested=True)
    ground.ask("start", "reco")
    ground.until(lambda: ground.fail("reco") or ground.task("reco").state is TaskState.PAUSED)
    assert ground.task("reco").reason == "by itself: its first pieces have not passed: reco/0: exit 3"
    assert ground.counts("pieces", "reco")["failed"] == 1
    ground.ask("resume", "reco")
    ground.ask("retry", "reco")
    ground.until(lambda: ground.work() or ground.task("reco").state is TaskState.FINISHED)
    assert ground.task("reco").outcome == "completed"


def test_first_pieces_whose_promises_break_are_none_that_go_alone(ground):
    ground.create(ground.text(events=8, files=1, broken="fail"))
    ground.ask("start", "gen", untested=True)
    ground.ask("start", "reco")
    ground.until(lambda: ground.batch.tasks)
    ground.batch.finish(*ground.begin()[0], code=3)  # the promise of the first piece
    ground.until(lambda: ground.work() or ground.task("reco").state is not TaskState.RUNNING)
    assert ground.counts("pieces", "reco") == {"completed": 3, "failed": 1}
    assert "its first pieces have passed: " in ground.journal("reco")


@pytest.mark.parametrize("pieces", [1, 5], ids=["as many as there are", "more than there are"])
@pytest.mark.parametrize("code", [0, 3])
def test_a_fed_task_of_few_pieces_is_judged_before_it_is_finished(ground, code, pieces):
    """Its check says what its only piece is worth, though nothing can follow that."""
    test = f"test = {{ pieces = {pieces}, check = ['./check.sh'] }}"
    check = ground.place / "check.sh"
    check.write_text(f"#!/bin/sh\nexit {code}\n")
    check.chmod(0o755)
    ground.create(ground.text(events=20, more=test))
    ground.ask("start", "gen", untested=True)
    ground.ask("start", "reco", untested=True)
    ground.ask("start", "merge")
    ground.until(lambda: ground.work() or ground.task("merge").state is not TaskState.RUNNING, 2.0, 600)
    assert ground.counts("pieces", "merge") == {"completed": 1}
    if not code:
        assert ground.task("merge").state is TaskState.FINISHED
        assert ground.journal("merge")[-3:] == ["its first pieces have passed: ", "finished: ", "completed: "]
        return
    why = "by itself: its first pieces have not passed: check check.sh: no output (exit 3 "
    assert ground.task("merge").state is TaskState.PAUSED
    assert ground.task("merge").reason.startswith(why)
    ground.ask("resume", "merge")
    ground.until(lambda: ground.task("merge").state is TaskState.FINISHED)
    assert ground.task("merge").outcome == "completed"


def test_nobody_adds_by_hand_what_another_task_brings(ground):
    ground.chain(events=4)
    ground.ask("add", "reco", items=["/else/gen/1", "gen/0"], reopen=True)
    ground.until(lambda: any(line.startswith("add ") for line in ground.journal("reco")))
    assert "add changes nothing: gen/0 is what task gen brings: it comes by itself" in ground.journal("reco")
    ground.finish()
    assert ground.merged() == [1, 2, 3, 4]


def test_promises_have_the_runs_of_what_they_are_made_of(ground, tmp_path):
    lines = [f'{{"lfn": "/raw/{n}", "runs": {{"{n // 4}": [{n}]}}}}' for n in range(8)]
    ground.brings = lambda words: {"gen.dat": b"x", "reco.dat": b"x"}
    text = RUN.format("gen", '"$InputFiles"', "gen") + f'source = [ {{ list = "{a_list(tmp_path, *lines)}" }} ]\n'
    text += 'split = { splitter = "FileBased", parameters = { files_per_job = 2 } }\n'
    text += 'output = [ { name = "gen", files = "gen.dat" } ]\n' + RECO
    text += 'source = [ { task = "gen", output = "gen", promises = true } ]\nsplit = { splitter = "RunBased" }\n'
    ground.start(text, "gen", "reco")
    ground.until(lambda: ground.counts("pieces", "reco").get("waiting"))
    reco = ground.task("reco").id
    named = [sorted(ground.items_of(reco, p)) for p in range(ground.task("reco").next_piece)]
    assert named == [["gen/0", "gen/1"], ["gen/2", "gen/3"]]
    ground.until(lambda: ground.work() or ground.task("reco").state is TaskState.FINISHED)
    assert ground.task("reco").outcome == "completed"


CYCLES = {
    "1": ("a", "a"),
    "2": ("a", "b", "a"),
    "3": ("a", "b", "c", "a"),
}


def ring(*names):
    text = ""
    for name, fed in pairwise(names):
        text += RUN.format(name, '"$InputFiles"', name)
        text += f'source = [ {{ task = "{fed}", output = "o" }} ]\noutput = [ {{ name = "o", files = "*.dat" }} ]\n'
    return text


@pytest.mark.parametrize("names", CYCLES.values(), ids=CYCLES)
def test_a_cycle_is_refused_and_nothing_is_stored(ground, names):
    with pytest.raises(BadRequest, match=r"source.task: .* -> .*: a task cannot feed itself"):
        ground.create(ring(*names))
    assert ground.store.tasks.all() == []


def test_a_cycle_of_two_files_is_refused(ground, tmp_path):
    first = RUN.format("a", '"$InputFiles"', "a") + f'source = [ {{ list = "{a_list(tmp_path, "x")}" }} ]\n'
    ground.create(first + 'output = [ { name = "o", files = "*.dat" } ]\n')
    ground.create(ring("b", "a"), "b.toml")
    with pytest.raises(BadRequest, match=r"source\.task: a -> b -> a: a task cannot feed itself"):
        ground.create(ring("a", "b"), "a.toml")
    assert [each.name for each in ground.store.tasks.all()] == ["a", "b"]


def test_a_store_that_a_task_upstream_watches_is_refused(ground):
    place = ground.stores["gen"]
    text = RUN.format("a", '"$InputFiles"', "a") + f'source = [ {{ directory = "{place}" }} ]\n'
    text += 'output = [ { name = "o", files = "*.dat" } ]\n' + RUN.format("b", '"$InputFiles"', "b")
    text += 'source = [ { task = "a", output = "o" } ]\n'
    text += f'output = [ {{ name = "p", files = "*.dat", store = "{place}" }} ]\n'
    with pytest.raises(BadRequest, match=f"output.store: {place} is watched by a source of task 'a': what it brings"):
        ground.create(text)


def watching(name, directory, store):
    text = RUN.format(name, '"$InputFiles"', name) + f'source = [ {{ directory = "{directory}" }} ]\n'
    return text + f'output = [ {{ name = "o", files = "*.dat", store = "{store}" }} ]\n'


@pytest.mark.parametrize("ways", ["ab ba", "ab bc ca"])
def test_tasks_that_watch_one_another_s_stores_are_refused(ground, tmp_path, ways):
    """A task may watch what another one stores, but what it brings must not come back to that one."""
    for name in "abc":
        (tmp_path / name).mkdir()
    *good, bad = (watching(f"t{way}", tmp_path / way[0], tmp_path / way[1]) for way in ways.split())
    with pytest.raises(BadRequest, match=r"output.store: .* is watched by a source of task '.*': what it brings"):
        ground.create("".join(good) + bad)
    assert ground.store.tasks.all() == []
    for n, text in enumerate(good):
        ground.create(text, f"{n}.toml")
    with pytest.raises(BadRequest, match=f"output.store: {tmp_path}/a is watched by a source of task 'tab': what it"):
        ground.create(bad, "last.toml")
    assert len(ground.store.tasks.all()) == len(good)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('task = "gen"', 'task = "gne"', "source.task: there is no task 'gne'; did you mean 'gen'?"),
        ('output = "gen"', 'output = "geen"', "source.output: 'gen' has no output 'geen'.*known: gen"),
        ('"wait"', '"skip"', "source.when_broken: 'skip': must be wait or fail"),
        ('"wait"', '"go on"', "source.when_broken: 'go on': later: this version"),
        ('"FileBased", parameters = { files_per_job = 5 }', '"SizeBased"', "source.promises: SizeBased needs sizes"),
        ("promises = true", "promises = 1", "source.promises: expected true or false, found 1"),
    ],
)
def test_what_is_wrong_in_a_connector_is_told(ground, old, new, why):
    text = ground.text()
    assert old in text
    with pytest.raises(BadRequest, match=why.replace("?", "\\?")):
        ground.create(text.replace(old, new, 1))
    assert ground.store.tasks.all() == []


def test_a_source_that_closes_while_jobs_run_ends_the_chain_only_with_the_last_short_piece(ground, tmp_path):
    names = [f"/data/{n}" for n in range(5)]
    text = f"""
[[task]]
name = "gen"
request = {{ job_type = "executable", executable = "/bin/echo", arguments = ["gen", "1", "1"], outputs = ["gen.dat"] }}
source = [ {{ list = "{a_list(tmp_path, *names, closed=False)}", every_seconds = 1 }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = 2 }} }}
output = [ {{ name = "gen", files = "gen.dat", store = "{ground.stores["gen"]}" }} ]
release = {{ every_seconds = 0 }}
{RECO}
source = [ {{ task = "gen", output = "gen", promises = true }} ]
split = {{ splitter = "FileBased", parameters = {{ files_per_job = 2 }} }}
output = [ {{ name = "reco", files = "reco.dat", store = "{ground.stores["reco"]}" }} ]
release = {{ every_seconds = 0 }}
"""
    ground.start(text, "gen", "reco")
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    a_list(tmp_path, *names)
    ground.go(10, 2.0)
    assert ground.pieces("gen") == ["sent"] * 3
    assert ground.pieces("reco") == ["waiting", "waiting"], "the last is short, as nothing more will come"
    ground.end()
    ground.until(lambda: ground.pieces("reco") == ["sent", "waiting"])
    assert ground.task("gen").state is TaskState.RUNNING
    ground.finish("reco")
    assert len(list(ground.stores["gen"].iterdir())) == 3
    assert len(list(ground.stores["reco"].iterdir())) == 2


def test_no_more_pieces_wait_for_promises_than_the_limit(ground, monkeypatch):
    """The limit is 100,000: what waits beyond that stays a promise, and is planned by and by."""
    monkeypatch.setattr(planning, "WAITING", 6)
    monkeypatch.setattr(planning, "SLICE", 4)
    ground.chain(events=40, each=1, files=2)
    most = 0

    def finished():
        nonlocal most
        most = max(most, ground.counts("pieces", "reco").get("waiting", 0))
        ground.work()
        return ground.task("merge").state is TaskState.FINISHED

    ground.until(finished, 2.0, 600)
    assert 6 <= most <= 7
    assert ground.merged() == list(range(1, 41))


def test_files_with_an_expected_number_of_events_are_planned_by_events(ground):
    text = ground.text(events=8, each=4).replace('files = "gen.dat"', 'files = "gen.dat", expects = { events = 4 }')
    text = text.replace(
        '"FileBased", parameters = { files_per_job = 5 }', '"EventBased", parameters = { events_per_job = 2 }'
    )
    text = text.replace(
        'arguments = ["reco", "$InputFiles"]', 'arguments = ["reco", "$InputFiles", "$FirstEvent", "$LastEvent"]'
    )
    ground.start(text, "gen", "reco", "merge")
    ground.until(lambda: ground.counts("pieces", "reco").get("waiting") == 4)
    ground.finish()
    given = sorted(words[2:] for words in ground.diary if words[0] == "reco")
    assert given == [("0", "1"), ("0", "1"), ("2", "3"), ("2", "3")]


def without(text: str, name: str) -> str:
    """Return the first task of a chain without its output, or with one of another name."""
    first = next(iter(text.split('\n[[task]]\nname = "reco"')))
    lines = [line for line in first.splitlines() if name or not line.startswith("output")]
    return "\n".join(lines).replace('name = "gen", files', f'name = "{name}", files')


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "task 'reco' reads 'gen'; source.output: 'gen' has no output; say"),
        ("other", "task 'reco' reads 'gen'; source.output: 'gen' has no output 'gen'"),
    ],
)
def test_a_task_that_feeds_another_keeps_the_output_that_is_read(ground, name, why):
    ground.create(ground.text())
    with pytest.raises(BadRequest, match=why):
        ground.create(without(ground.text(), name))
    ground.ask("cancel", "merge")
    ground.ask("cancel", "reco")
    ground.create(without(ground.text(), name))
    assert [each.name for each in ground.task("gen").spec.outputs] == [name] * bool(name)


def test_what_replaces_a_task_that_was_not_started_feeds_what_that_one_fed(ground):
    ground.create(ground.text(events=40))
    ground.create(without(ground.text(events=20), "gen"))
    for name in ("gen", "reco", "merge"):
        ground.ask("start", name, untested=True)
    ground.finish()
    assert ground.merged() == list(range(1, 21))


def test_a_keeper_killed_all_the_time_does_each_event_of_a_chain_once(ground):
    ground.chain(events=40)

    def kill():
        ground.work()
        ground.go(2, 3.0)
        ground.restart()
        return ground.task("merge").state is TaskState.FINISHED

    ground.until(kill, 5.0, 300)
    assert ground.merged() == list(range(1, 41))
    assert sum(task.state is State.COMPLETED for task in ground.batch.tasks.values()) == 20 + 4 + 1


def test_a_task_that_got_nothing_of_what_was_promised_has_failed(ground):
    ground.chain(events=20)
    ground.until(lambda: ground.counts("items", "merge").get("promised"))
    ground.ask("cancel", "reco")
    ground.until(lambda: ground.task("merge").state is TaskState.FINISHED, 5.0)
    assert set(ground.items("merge").values()) <= {"dropped"}
    assert ground.items("merge")
    assert ground.task("merge").outcome == "with failures"


def test_a_piece_that_is_taken_back_upstream_splits_no_merge(ground):
    ground.chain(events=8, files=2)
    ground.until(lambda: ground.counts("pieces", "merge") == {"waiting": 1})
    ground.ask("drop", "reco", items=["gen/0"], reason="broken")
    ground.finish()
    assert ground.counts("pieces", "merge") == {"taken back": 1, "completed": 1}
    assert ground.merged() == [3, 4, 5, 6, 7, 8]


def test_a_cancelled_task_keeps_what_is_stored_and_those_that_it_feeds_are_told(ground):
    ground.chain(events=20)
    ground.until(lambda: len(ground.batch.tasks) == 10)
    first, *_ = ground.begin()
    ground.end_one(*first)
    ground.until(lambda: ground.counts("output gen", "gen").get("stored") == 1)
    stored = {path.name: path.read_text() for path in ground.stores["gen"].iterdir()}
    ground.ask("remove", "gen")
    assert ground.journal("gen")[-1] == "remove changes nothing: gen has 9 pieces on the way; cancel it first"
    ground.ask("pause", "reco")  # it is told all the same, and until then it is still fed
    ground.ask("cancel", "gen")
    ground.until(lambda: ground.task("gen").state is TaskState.CANCELLED, 5.0)
    assert not any(task.state in (State.RUNNING, State.SUBMITTED) for task in ground.batch.tasks.values())
    assert ground.counts("pieces", "gen") == {"completed": 1, "failed": 9}
    ground.ask("remove", "gen")
    why = "gen feeds 'reco', which is not finished; finish or cancel that first"
    assert ground.journal("gen")[-1] == f"remove changes nothing: {why}"
    ground.ask("resume", "reco")
    ground.until(lambda: ground.task("reco").state is TaskState.FINISHED, 5.0)
    reco = ground.task("reco").id
    assert all(
        each.reason.endswith(" will not be fulfilled: task gen was cancelled")
        for each in ground.store.pieces.failed(reco)
    )
    assert ground.counts("pieces", "reco") == {"failed": 2}
    ground.ask("remove", "gen")
    assert [each.name for each in ground.store.tasks.all()] == ["reco", "merge"]
    assert {path.name: path.read_text() for path in ground.stores["gen"].iterdir()} == stored
    assert [*stored.values()] == ["1\n2\n"]


CUT_SHORT = "task gen was cancelled before all of it was there"


def told_of(ground, name):
    """Return the outcome of a task, its reason, and the first thing that explains it."""
    task = ground.task(name)
    first = next(task_waits.waits(View(ground.site, ground.store, ground.clock), task))
    return task.outcome, task.reason, first.what


def test_a_task_whose_feeder_was_cancelled_before_it_brought_all_is_told_so_also_once_that_is_removed(ground):
    ground.chain(events=20, promises=False, files=1)
    ground.until(lambda: len(ground.batch.tasks) == 10)
    first, *_ = ground.begin()
    ground.end_one(*first)
    ground.until(lambda: ground.counts("output gen", "gen").get("stored") == 1)
    ground.ask("cancel", "gen")
    ground.until(lambda: ground.task("gen").state is TaskState.CANCELLED, 5.0)
    ground.until(lambda: ground.fail("reco") or ground.task("reco").state is TaskState.FINISHED, 5.0)
    told = ("with failures", CUT_SHORT, f"task reco is finished, with failures: {CUT_SHORT}")
    assert (told_of(ground, "reco"), ground.counts("pieces", "reco")) == (told, {"failed": 1})
    assert f"finished: {CUT_SHORT}" in ground.journal("reco")
    ground.ask("remove", "gen")
    ground.ask("retry", "reco")
    assert (ground.task("reco").state, ground.task("reco").reason) == (TaskState.RUNNING, "")
    ground.until_state(TaskState.FINISHED, "reco", seconds=5.0)
    assert (told_of(ground, "reco"), ground.counts("pieces", "reco")) == (told, {"completed": 1})


@pytest.mark.parametrize("promises", [True, False])
def test_a_task_whose_feeder_was_cancelled_before_it_began_has_not_completed(ground, promises):
    ground.create(ground.text(promises=promises))
    ground.ask("cancel", "gen")
    ground.ask("start", "reco", untested=True)
    ground.until(lambda: ground.task("reco").state is TaskState.FINISHED, 5.0)
    assert (ground.items("reco"), told_of(ground, "reco")[:2]) == ({}, ("with failures", CUT_SHORT))
    seen = tasks_seen(View(ground.site, ground.store, ground.clock), "")
    assert [each[:2] for each in seen.wanting] == [("reco", f"finished with failures: {CUT_SHORT}")]


@pytest.mark.parametrize("promises", [True, False])
@pytest.mark.parametrize("store", [True, False])
def test_a_task_whose_feeder_had_brought_all_when_it_was_cancelled_completes(ground, promises, store):
    ground.create(ground.text(events=20, promises=promises, store=store))
    ground.ask("start", "gen", untested=True)
    ground.until_state(TaskState.FINISHED, "gen")
    ground.ask("cancel", "gen")
    ground.until_state(TaskState.CANCELLED, "gen")
    ground.ask("start", "reco", untested=True)
    ground.until_state(TaskState.FINISHED, "reco", seconds=5.0)
    assert (told_of(ground, "reco")[:2], ground.counts("items", "reco")) == (("completed", ""), {"completed": 10})


@pytest.mark.parametrize("promises", [True, False])
def test_an_open_feeder_that_is_cancelled_has_not_brought_all(ground, promises):
    names = a_list(ground.place, "/data/1", closed=False)
    head, _, tail = ground.text(promises=promises).partition("source = [ { events = 40")
    ground.brings = lambda words: {f"{words[0]}.dat": b"1\n"}
    tail = tail.partition("]")[2]
    ground.start(
        f'{head.replace("$FirstEvent", "$InputFiles")}source = [ {{ list = "{names}" }} ]\n'
        f"split = {{ parameters = {{ files_per_job = 1 }} }}{tail}",
        "gen",
        "reco",
    )
    ground.until(lambda: ground.work() or ground.counts("pieces", "gen") == {"completed": 1})
    ground.ask("cancel", "gen")
    ground.until_state(TaskState.FINISHED, "reco", seconds=5.0)
    assert (told_of(ground, "reco")[:2], ground.counts("items", "reco")) == (
        ("with failures", CUT_SHORT),
        {"completed": 1},
    )


def test_a_task_is_not_removed_while_another_waits_for_what_only_its_files_can_mend(ground):
    """Between the two is one that has finished with failures: done again, it needs the files of the first."""
    ground.chain(events=20)
    ground.until(lambda: ground.work() or ground.counts("pieces", "gen") == {"completed": 10})
    ground.until(lambda: ground.begin())
    first = next(task for task in ground.batch.tasks if ground.batch.tasks[task].state is State.RUNNING)
    ground.batch.finish(*first, code=3)
    ground.until(lambda: ground.work() or ground.task("reco").state is TaskState.FINISHED)
    assert ground.counts("pieces", "reco")["failed"] == 1
    assert ground.task("merge").state is TaskState.RUNNING
    ground.ask("remove", "gen")
    why = "gen feeds 'merge', which is not finished; finish or cancel that first"
    assert ground.journal("gen")[-1] == f"remove changes nothing: {why}"
    ground.ask("retry", "reco")
    ground.finish()
    assert ground.merged() == list(range(1, 21))
    ground.ask("remove", "gen")
    assert [each.name for each in ground.store.tasks.all()] == ["reco", "merge"]
