"""A task from its file to its end, and what people do to it on the way."""

from __future__ import annotations

import math

import pytest

from jim.model import State, Step, Verb
from jim.statusdb.task_rows import TaskState
from jim.tasks.moves import Tasks
from jim.tasks.pieces import cutting, planning
from tests.unit.tasks.ground import EVENTS, SH, a_list, whole


def test_events_are_made_each_once(ground):
    ground.start(
        f"""
        [[task]]
        name = "t"
        {EVENTS}
        source = [ {{ events = 1_000, campaigns = 3, events_per_piece = 70, first_event = 501 }} ]
        """
    )
    ground.until_state(TaskState.FINISHED)
    assert whole(ground.ranges(), 501, 1500)
    assert ground.task().outcome == "completed"
    assert len(ground.diary) == 15  # five pieces of each of 333, 333 and 334 events
    assert ground.items() == {f"events {name}": "completed" for name in ("501-833", "834-1166", "1167-1500")}
    assert len(set(ground.seeds)) == 15


def test_files_are_split_each_once(ground, tmp_path):
    names = [f"/data/{n:03}" for n in range(25)]
    ground.start(
        f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "{a_list(tmp_path, *names)}" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 10 }} }}
        """
    )
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == dict.fromkeys(names, 1)
    assert sorted(len(words[0].split(",")) for words in ground.diary) == [5, 10, 10]
    assert [line for line in ground.journal() if line.startswith("finished")] == ["finished: "]


def test_variables_stand_in_all_texts(ground, tmp_path):
    a_list(tmp_path, "b/1", '{"lfn": "a/2", "variables": {"Tag": "x"}}')
    ground.start(
        """
        [[task]]
        name = "t"
        request = { job_type = "executable", executable = "/bin/echo", arguments = ["$Task $Piece $Group $Tag"] }
        source = [ { list = "names.txt", group = "^(.)" } ]
        split = { splitter = "FileBased", parameters = { files_per_job = 1 } }
        """
    )
    ground.until_state(TaskState.FINISHED)
    assert sorted(words[0] for words in ground.diary) == ["$Task $Piece $Group $Tag", "t 0000000 a x"]


def failed_once(ground, tmp_path):
    """Let two of three items be done, and one fail."""
    ground.start(
        f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "{a_list(tmp_path, *"abc")}" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
        """
    )
    ground.until(lambda: len(ground.batch.tasks) == 3)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    ground.end()
    ground.until(lambda: ground.task().state is TaskState.FINISHED)


def test_what_fails_is_told_and_tried_again(ground, tmp_path):
    failed_once(ground, tmp_path)
    assert ground.task().outcome == "with failures"
    assert ground.items() == {"a": "completed", "b": "failed", "c": "completed"}
    assert [(each.p, each.reason) for each in ground.store.pieces.failed(1)] == [(1, "exit 3")]
    ground.wish("retry", "1")
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"
    assert ground.done() == {"a": 1, "b": 1, "c": 1}
    assert len(set(ground.seeds)) == 4


def test_a_grid_job_that_fails_as_a_whole_fails_its_pieces(ground, tmp_path, monkeypatch):
    def no(*_):
        raise ValueError("no such thing")

    monkeypatch.setattr("jim.keeper.queue.dividing.pieces_in", no)
    ground.start(
        f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "{a_list(tmp_path, "a")}" }} ]
        """
    )
    ground.until(lambda: ground.task().state is TaskState.FINISHED)
    (piece,) = ground.store.pieces.failed(1)
    assert piece.reason == "cannot be split: ValueError: no such thing"


def test_at_most_so_many_are_on_the_way(ground):
    ground.start(
        f"""
        [[task]]
        name = "t"
        {EVENTS}
        source = [ {{ events = 40, events_per_piece = 1 }} ]
        release = {{ at_once = 8, queued = 5 }}
        """
    )
    most = [0, 0]

    def goes_on():
        waiting = sum(task.state is State.SUBMITTED for task in ground.batch.tasks.values())
        live = sum(not task.state.final for task in ground.batch.tasks.values())
        most[:] = max(most[0], waiting), max(most[1], live)
        ground.end()
        ground.begin()
        return ground.task().state is TaskState.FINISHED

    ground.until(goes_on)
    assert whole(ground.ranges(), 1, 40)
    assert most[0] <= 5
    assert most[1] <= 8


# Of events ten pieces are planned at a time, of files as many as there is room for.
@pytest.mark.parametrize(("source", "ready"), [("events = 200, events_per_piece = 1", 95), ('list = "names.txt"', 100)])
def test_pieces_are_planned_ahead_by_the_allowance_not_by_what_it_may_become(
    ground, tmp_path, monkeypatch, source, ready
):
    a_list(tmp_path, *map(str, range(200)))
    monkeypatch.setattr("jim.tasks.pieces.planning.AHEAD", 20)
    monkeypatch.setattr("jim.tasks.pieces.planning.STORED_AT_ONCE", 10)
    ground.start(
        f"""
        [[task]]
        name = "t"
        {EVENTS}
        source = [ {{ {source} }} ]
        split = {{ parameters = {{ files_per_job = 1 }} }}
        release = {{ at_once = 500, queued = 500, first = 5, every_seconds = 0 }}
        """
    )
    ground.go(30)
    assert ground.counts("pieces") == {"sent": 5, "ready": 15}, "of 20, and there is no room for ten more"
    ground.work()
    ground.go(30)
    assert ground.counts("pieces") == {"completed": 5, "sent": 50, "ready": ready}, "of twice the allowance of 50"


def test_grid_jobs_of_a_task_have_its_name_and_no_pieces_in_their_request_once_split(ground):
    ground.start(
        f"""
        [[task]]
        name = "t"
        {EVENTS}
        source = [ {{ events = 10, events_per_piece = 5 }} ]
        """
    )
    ground.until(lambda: ground.batch.tasks)
    job = ground.store.grid_job(1)
    assert (job.name, job.size, job.key.partition(":")[0]) == ("t:1", 2, "task")
    assert "pieces" not in job.request
    piece = ground.store.local_job(1, 1).piece
    assert (piece.first_event, piece.events, piece.arguments) == (6, 5, ("6", "10"))
    assert piece.variables == {
        "Task": "t",
        "Piece": "0000001",
        "Group": "",
        "SplitID": "0000001",
        "SplitSourceJob": "t",
    }


def test_a_refused_request_pauses_the_task_and_loses_nothing(ground, tmp_path, monkeypatch):
    from jim.tasks.pieces import handing_in

    real = handing_in.request_of
    monkeypatch.setattr(handing_in, "request_of", lambda *_: (_ for _ in ()).throw(handing_in.JimError("no queue")))
    ground.start(
        f"""
        [[task]]
        name = "t"
        {EVENTS}
        source = [ {{ events = 10, events_per_piece = 5 }} ]
        """
    )
    ground.until(lambda: ground.task().state is TaskState.PAUSED)
    assert ground.task().reason == "no queue"
    assert ground.counts("pieces") == {"ready": 2}
    monkeypatch.setattr(handing_in, "request_of", real)
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED)
    assert whole(ground.ranges(), 1, 10)


def test_a_suspended_task_has_its_jobs_suspended(ground):
    ground.start(
        f"""
        [[task]]
        name = "t"
        {EVENTS}
        source = [ {{ events = 10, events_per_piece = 5 }} ]
        """
    )
    ground.until(lambda: ground.batch.tasks)
    ground.ask("pause", suspend=True)
    ground.until(lambda: ground.store.grid_job(1).wish == Verb.SUSPEND)
    ground.ask("resume")
    ground.until(lambda: not ground.store.grid_job(1).wish)
    ground.until(lambda: ground.work() or ground.task().state is TaskState.FINISHED)
    assert whole(ground.ranges(), 1, 10)
    assert ground.store.grid_job(1).step is Step.FINISHED


def test_a_keeper_whose_tasks_have_nothing_to_do_rests_until_the_next_look(ground, tmp_path):
    ground.start(
        f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "{a_list(tmp_path, closed=False)}", every_seconds = 30 }} ]
        """
    )
    ground.go(3)
    assert ground.rounds.rest() == 2.0, "the longest rest: the call of a door may be lost"
    assert not ground.rounds.idle(), "it stays for the task"
    ground.clock.now += 29.5
    assert ground.rounds.rest() == pytest.approx(0.5)
    ground.clock.now += 1.0
    assert ground.rounds.rest() == 0.2, "what is due together is done together"
    ground.go(3)
    assert ground.rounds.rest() == 2.0
    with (tmp_path / "names.txt").open("a") as file:
        file.write("/data/1\n")
    ground.clock.now += 30.5
    ground.go()
    assert ground.rounds.rest() == 0.2, "a look has brought something, of which a piece is to be made"


@pytest.mark.parametrize("error", [None, OSError(11, "no process just now")])
def test_a_slow_plan_that_comes_to_nothing_is_made_again(ground, tmp_path, monkeypatch, error):
    cut, asked = planning.cut, list[int]()

    def does_not_work_at_first(split, items, *about):
        asked.append(len(items))
        if len(asked) > 1:
            return cut(split, items, *about)
        if error:
            raise error
        return cutting.Cut([], {})

    monkeypatch.setattr(planning, "SLICE", 2)
    monkeypatch.setattr(planning, "cut", does_not_work_at_first)
    ground.start(
        f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "{a_list(tmp_path, "/data/1", "/data/2", "/data/3")}" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 2 }} }}
        """
    )
    while not asked:
        ground.rounds.round()
        if not asked:
            ground.keeper.workers.deliver(0)
    for _ in range(3):
        ground.rounds.round()  # the splitter is still at work
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == {"/data/1": 1, "/data/2": 1, "/data/3": 1}


def test_a_splitter_that_lacks_a_file_of_its_own_pauses_its_task(ground, tmp_path, monkeypatch):
    """Nobody would learn from a task that waits for pieces, again and again, what is lacking."""
    cut, lacking = planning.cut, [FileNotFoundError(2, "No such file or directory", "/site/runs.json")]

    def cannot(*about):
        if lacking:
            raise lacking[0]
        return cut(*about)

    monkeypatch.setattr(planning, "cut", cannot)
    ground.start(f'[[task]]\nname = "t"\n{SH}\nsource = [ {{ list = "{a_list(tmp_path, "/data/1")}" }} ]\n')
    ground.until_state(TaskState.PAUSED)
    assert ground.task().reason == "cannot be planned: /site/runs.json: No such file or directory"
    lacking.clear()
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == {"/data/1": 1}


def test_turns_of_many_tasks_are_shared_out_among_rounds(ground, tmp_path, monkeypatch):
    a_list(tmp_path, closed=False)
    texts = (f'[[task]]\nname = "t{n}"\n{SH}\nsource = [ {{ list = "names.txt" }} ]\n' for n in range(4))
    ground.start("".join(texts), *(f"t{n}" for n in range(4)))
    tasks, turns = ground.move(Tasks), list[int]()

    def slow(keeper, number):
        ground.clock.now += 0.06
        turns.append(number)
        return math.inf

    monkeypatch.setattr(tasks, "_turn", slow)
    for n in range(1, 5):
        ground.store.tasks.note(n, "something")
    assert tasks.rest(ground.keeper) == 0.2
    ground.rounds.round()
    assert (turns, tasks.rest(ground.keeper)) == ([1, 2], 0.0)
    ground.store.tasks.note(1, "something")
    ground.rounds.round()
    assert turns == [1, 2, 3, 4], "those that have waited come first"
    ground.rounds.round()
    assert turns == [1, 2, 3, 4, 1]
