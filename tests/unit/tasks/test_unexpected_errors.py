"""What nobody expected in a task pauses that task, or changes nothing; all others go on."""

from __future__ import annotations

import json
import logging

import pytest

from jim.errors import JimError
from jim.statusdb.task_rows import TaskState
from jim.tasks import moves, wishes
from jim.tasks.effects import TaskVerb
from jim.tasks.pieces import planning, recovering, trial_waves
from jim.tasks.pool import looking, pooling
from jim.tasks.results import following, storing
from jim.tasks.sources import lists
from tests.unit.tasks.ground import EVENTS, Ground, events

DEEP = '{"lfn": "x", "runs": ' + "[" * 200_000 + "]" * 200_000 + "}"
PAUSED = "by itself: a fault in JIM: ZeroDivisionError: odd"


@pytest.fixture
def ground(tmp_path, monkeypatch):
    made = Ground(tmp_path, monkeypatch)
    made.may_fault = True
    return made


def two(more: str = "") -> str:
    return events(4, 2, more) + events(4, 2).replace('name = "t"', 'name = "u"')


def odd(*_, **__):
    raise ZeroDivisionError("odd")


def put(ground, content: object, target: str = "task", turn: int = 1) -> None:
    """Leave a wish as no door does."""
    text = content if isinstance(content, str) else json.dumps(content)
    (ground.site.state / "inbox" / f"wish-{turn:09d}-{target}-{'a' * 24}").write_text(text)


def aside(ground) -> int:
    return len(list((ground.site.state / "inbox").glob(".unreadable-wish-*")))


# Wishes


@pytest.mark.parametrize(
    "content",
    [
        '{"verb":"throttle","target":"task:t","at_once":1e999}',
        '{"verb":"throttle","target":"task:t","queued":-1e999}',
        '{"verb":"priority","target":"task:t","priority":1e999}',
        '{"verb":"test","target":"task:t","pieces":1e999}',
        '{"verb":"retry","target":"task:t","most":1e999}',
    ],
)
def test_a_wish_with_an_infinite_number_ends_no_keeper(ground, content):
    ground.start(events(4, 2))
    put(ground, content)
    ground.go(2)
    verb = json.loads(content)["verb"]
    assert any(each.startswith(f"{verb} changes nothing: ") for each in ground.journal())
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"


@pytest.mark.parametrize("name", ["priority", "most"])
def test_a_wish_for_a_grid_job_with_an_infinite_number_ends_no_keeper(ground, name):
    ground.submit(1)
    ground.go(2)
    verb = {"priority": "priority", "most": "retry"}[name]
    put(ground, f'{{"verb":"{verb}","target":"1","{name}":1e999}}', "1")
    ground.go(2)
    assert any(line.now == f"{verb} changes nothing" for line in ground.store.journals.of(1))


def test_a_fault_in_a_wish_puts_the_wish_aside_and_the_journal_tells_of_it(ground, monkeypatch, caplog):
    """What the wish had changed before is undone."""
    ground.start(two(), "t", "u")

    def half(keeper, task, content):
        keeper.store.tasks.change(task.id, priority=7)
        odd()

    monkeypatch.setitem(wishes.FULFIL, TaskVerb.THROTTLE, half)
    put(ground, {"verb": "throttle", "target": "task:t", "at_once": 1})
    put(ground, {"verb": "priority", "target": "task:u", "priority": 3}, turn=2)
    ground.go()
    assert (aside(ground), ground.task("t").priority, ground.task("u").priority) == (1, 0, 3)
    assert ground.journal()[-1] == "throttle changes nothing: a fault in JIM: ZeroDivisionError: odd"
    assert [(each.levelno, each.exc_info is not None) for each in caplog.records if "put aside" in each.message] == [
        (logging.ERROR, True)
    ]


def test_a_fault_in_a_wish_for_a_grid_job_puts_the_wish_aside(ground, monkeypatch):
    ground.submit(1)
    ground.go(2)
    monkeypatch.setattr("jim.keeper.inbox.accepting.wishes.take", odd)
    ground.wish("cancel", "1")
    ground.go()
    lines = [line.reason for line in ground.store.journals.of(1) if line.now == "cancel changes nothing"]
    assert (aside(ground), lines) == (1, ["a fault in JIM: ZeroDivisionError: odd"])


@pytest.mark.parametrize(
    "content",
    [
        '{"verb":["fix"],"target":"task:t"}',
        '{"verb":"dance","target":"task:t"}',
        '{"verb":"fix","target":"task:\\ud800"}',
        '{"verb":"\\ud800","target":"task:t"}',
        '{"verb":"fix","target":["task:t"]}',
        '{"verb":"create","target":"task:t","tasks":[1]}',
        "[1]",
        '"x"',
    ],
)
def test_a_wish_of_another_shape_is_put_aside(ground, content):
    ground.start(events(4, 2))
    put(ground, content)
    ground.go(2)
    assert aside(ground) == 1
    ground.until_state(TaskState.FINISHED)


def test_a_fault_while_new_pieces_are_made_is_told(ground, monkeypatch):
    ground.start(events(4, 2))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.until_state(TaskState.FINISHED, code=1, seconds=300.0)
    monkeypatch.setattr(recovering, "cut_again", odd)
    ground.ask("recover")
    ground.go(3)
    assert ground.journal()[-1] == "recover: nothing is recovered: a fault in JIM: ZeroDivisionError: odd"
    assert not list((ground.site.state / "inbox").glob("wish-*"))


# Turns


def test_a_fault_in_the_turn_of_a_task_pauses_this_one_alone(ground, monkeypatch, caplog):
    """What the turn was storing is undone."""
    ground.start(two(), "t", "u")
    tick = moves.tick

    def half(keeper, number):
        if number != ground.task("t").id:
            return tick(keeper, number)
        with keeper.store.transaction():
            keeper.store.tasks.change(number, priority=7)
            return odd()

    monkeypatch.setattr(moves, "tick", half)
    ground.until_state(TaskState.FINISHED, "u")
    task = ground.task("t")
    assert (task.state, task.reason, task.priority) == (TaskState.PAUSED, PAUSED, 0)
    assert any(each.exc_info for each in caplog.records if "task t" in each.message)
    monkeypatch.undo()
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED)


def test_a_fault_in_a_test_ends_the_test(ground, monkeypatch):
    ground.create(two())
    monkeypatch.setattr(moves.trial_waves, "go_on", odd)
    ground.ask("test")
    ground.go(2)
    task = ground.task()
    assert (task.state, task.reason) == (
        TaskState.CONFIGURED,
        "test 1 failed: a fault in JIM: ZeroDivisionError: odd",
    )


def test_a_fault_of_a_task_that_is_cancelled_lets_it_be_cancelled(ground, monkeypatch):
    ground.start(two(), "t", "u")
    ground.until(lambda: len(ground.batch.tasks) == 4)
    with monkeypatch.context() as patch:
        patch.setattr(moves.ending, "go_on", odd)
        ground.ask("cancel")
        ground.go(3)
        assert ground.task().state is TaskState.CANCELLING
    ground.until(lambda: ground.task().state is TaskState.CANCELLED, 60.0)


def test_a_fault_while_a_wave_is_followed_pauses_its_task(ground, monkeypatch):
    ground.start(two(), "t", "u")
    ground.until(lambda: len(ground.batch.tasks) == 4)
    follow, task = following.follow_wave, ground.task("t").id
    with monkeypatch.context() as patch:
        patch.setattr(following, "follow_wave", lambda k, wave: odd() if wave.task == task else follow(k, wave))
        ground.until_state(TaskState.FINISHED, "u")
        assert (ground.task("t").state, ground.task("t").reason) == (TaskState.PAUSED, PAUSED)
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED)


def test_what_can_never_be_stored_stops_one_task_alone(ground, monkeypatch):
    ground.start(two(), "t", "u")
    tick, number = moves.tick, ground.task("t").id
    monkeypatch.setattr(
        moves, "tick", lambda k, n: k.store.tasks.change(n, priority=2**70) if n == number else tick(k, n)
    )
    ground.until_state(TaskState.FINISHED, "u")
    assert ground.task("t").state is TaskState.PAUSED
    assert ground.task("t").reason.startswith("by itself: a fault in JIM: ")


# What workers do


def test_a_fault_of_a_worker_that_looks_pauses_the_task(ground, monkeypatch):
    monkeypatch.setitem(looking.LISTED, "list", odd)
    ground.start(listed(ground, "a"))
    ground.go(3)
    assert (ground.task().state, ground.task().reason) == (TaskState.PAUSED, PAUSED)


def test_a_fault_while_a_look_is_stored_pauses_the_task(ground, monkeypatch):
    monkeypatch.setattr(pooling, "add", odd)
    ground.start(listed(ground, "a"))
    ground.go(3)
    assert (ground.task().state, ground.task().reason) == (TaskState.PAUSED, PAUSED)


def test_a_fault_in_what_is_stored_later_pauses_the_task(ground, monkeypatch):
    monkeypatch.setattr(looking, "STORED_AT_ONCE", 1)
    add = pooling.add
    monkeypatch.setattr(pooling, "add", lambda *a, **b: odd() if a[2] and a[2][0].name == "b" else add(*a, **b))
    ground.start(listed(ground, "a", "b"))
    ground.go(3)
    assert (ground.task().state, ground.task().reason) == (TaskState.PAUSED, PAUSED)


def test_a_fault_of_a_worker_that_plans_pauses_the_task(ground, monkeypatch):
    monkeypatch.setattr(planning, "cut", odd)
    ground.start(listed(ground, "a"))
    ground.go(3)
    reason = "cannot be planned: a fault in JIM: ZeroDivisionError: odd"
    assert (ground.task().state, ground.task().reason) == (TaskState.PAUSED, reason)


def test_a_fault_of_a_worker_that_tries_out_ends_the_test(ground, monkeypatch):
    monkeypatch.setattr(trial_waves, "_first", odd)
    ground.create(events(4, 2))
    ground.ask("test")
    ground.go(3)
    assert ground.task().reason == "test 1 failed: a fault in JIM: ZeroDivisionError: odd"


def brought(ground, about: bytes) -> None:
    ground.brings = lambda words: {"1.dat": b"x", "1.dat.json": about}
    ground.start(f"""
        [[task]]
        name = "t"
        {EVENTS[:-2]}, outputs = ["*.dat", "*.json"] }}
        source = [ {{ events = 2, events_per_piece = 2 }} ]
        output = [ {{ name = "o", files = "*.dat", about = ".json" }} ]
        """)


def test_a_fault_of_a_worker_that_brings_pauses_the_task(ground, monkeypatch):
    monkeypatch.setattr(storing, "read_about", odd)
    brought(ground, b"{}")
    ground.until(lambda: (ground.work(), ground.task().state is TaskState.PAUSED)[1])
    assert ground.task().reason == PAUSED
    monkeypatch.undo()
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"


# What nests too deeply


@pytest.mark.parametrize("told", [DEEP, '{"lfn": "a", "variables": ' + '{"a":' * 200_000])
def test_a_line_of_a_list_that_nests_too_deeply_is_wrong_like_any_other(ground, told):
    ground.start(listed(ground, told, "b"))
    ground.go(3)
    (source,) = ground.store.pools.sources(ground.task().id)
    assert ground.task().state is TaskState.RUNNING
    assert source.reason.endswith("names.txt, line 1: it nests too deeply")


def test_such_a_line_is_refused_when_a_task_is_checked():
    with pytest.raises(JimError, match="line 1: it nests too deeply"):
        lists.found_in([DEEP], "", "l")


@pytest.mark.parametrize(
    "told", ['{"events": ' + "[" * 200_000, "[" * 200_000, '{"runs": [' + "[" * 900 + "]" * 901 + "}"]
)
def test_a_file_about_an_output_that_nests_too_deeply_fails_the_piece(ground, told):
    brought(ground, told.encode())
    ground.until_state(TaskState.FINISHED, seconds=300.0)
    task = ground.task()
    (piece,) = [ground.store.pieces.one(task.id, p) for p in range(task.next_piece)]
    assert piece.state.value == "failed"
    assert piece.reason.startswith("1.dat.json: ")


def listed(ground, *names: str) -> str:
    file = ground.place / "names.txt"
    file.write_text("".join(f"{each}\n" for each in (*names, "closed")))
    return f"""
        [[task]]
        name = "t"
        request = {{ job_type = "executable", executable = "/bin/echo", arguments = ["$InputFiles"] }}
        source = [ {{ list = "{file}", every_seconds = 1 }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
        """
