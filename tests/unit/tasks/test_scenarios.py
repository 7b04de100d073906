"""Scenarios of tasks by their numbers, on a clock that is set and a batch system that stands in for one.

Exactly once is judged by the diary of the payloads; what must always hold is looked at after each round of the keeper.
"""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from itertools import cycle, pairwise
from pathlib import Path

import pytest

from jim.admin import restoring
from jim.attempts.seeds import seed_of
from jim.clock import as_utc
from jim.doors import inbox
from jim.errors import BadRequest, Outdated
from jim.model import State, Step, SubmissionState
from jim.reading.tasks import waits as task_waits
from jim.reading.tasks.effects import effect
from jim.reading.view import View
from jim.site.file import Batch, Limits
from jim.statusdb.task_rows import TaskState, WaveState
from jim.tasks.effects import TaskVerb
from tests.support.sampled import sampled
from tests.support.stand_ins import Answers, Instead
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.ground import EVENTS, SH, Ground, a_list, events, whole

TEN = [f"/data/{n}" for n in range(10)]
ROOT = Path(__file__).resolve().parents[3]


def files(place, *names: str, size: int = 1, closed: bool = True, more: str = "") -> str:
    return f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "{a_list(place, *names, closed=closed)}", every_seconds = 5 }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = {size} }} }}
        {more}
        """


def test_a_keeper_killed_at_every_round_does_each_item_once(ground, tmp_path):
    names = [f"/data/{n:03}" for n in range(60)]
    ground.start(files(tmp_path, *names, size=3, more="release = { at_once = 7 }"))
    turns = cycle((2, 3, 4, 5))

    def rounds_and_kill():
        ground.work()
        ground.go(next(turns), 5.0)
        ground.restart()
        return ground.task().state is TaskState.FINISHED

    ground.until(rounds_and_kill, seconds=10.0)
    assert ground.done() == dict.fromkeys(names, 1)
    assert ground.counts("items") == {"completed": 60}


def test_a_kill_between_storing_items_and_looking_again_takes_no_item_twice(ground, tmp_path):
    ground.start(files(tmp_path, *TEN, closed=False))
    ground.until(lambda: ground.counts("items"))
    ground.restart()
    a_list(tmp_path, *TEN, "/data/more")
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == dict.fromkeys([*TEN, "/data/more"], 1)


def test_a_kill_after_a_plan_gives_no_number_twice_and_leaves_none_out(ground, monkeypatch):
    monkeypatch.setattr("jim.tasks.pieces.planning.STORED_AT_ONCE", 7)
    ground.start(events(200, 2, "release = { at_once = 0 }"))
    while ground.task().next_piece < 100:
        ground.restart()
        ground.go(2, 1.0)
    task = ground.task()
    assert task.next_piece == 100
    parts = [ground.store.pieces.parts_of(task.id, p) for p in range(task.next_piece)]
    assert [(each.first_event, each.last_event) for (each,) in parts] == [(n, n + 1) for n in range(1, 201, 2)]


@pytest.mark.parametrize("after", ["intended", "deposited"])
def test_a_kill_around_the_deposit_makes_one_grid_job(ground, monkeypatch, after):
    from jim.tasks.pieces import handing_in

    class Killed(BaseException):
        pass

    real = inbox.deposit

    def deposit(*arguments, **more):
        if after == "deposited":
            real(*arguments, **more)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(handing_in.inbox, "deposit", deposit)
        patch.setattr(handing_in, "_refused", lambda *_: (_ for _ in ()).throw(Killed))
        ground.create(events(4, 2))
        inbox.task_wish(ground.site.state, "start", "t", untested=True)
        with pytest.raises(Killed):
            ground.go(3)
    ground.restart()
    (wave,) = ground.store.waves.all(1)
    assert wave.state is WaveState.INTENDED
    ground.until_state(TaskState.FINISHED)
    assert [job.id for job in ground.store.grid_jobs()] == [ground.store.waves.all(1)[0].grid]
    assert whole(ground.ranges(), 1, 4)


def test_what_is_followed_is_counted_once_though_the_keeper_is_killed(ground):
    ground.start(events(12, 1))
    ground.until(lambda: len(ground.batch.tasks) == 12)
    for key in ground.begin():
        ground.batch.finish(*key)
        ground.restart()
        ground.go()
    ground.until(lambda: ground.task().state is TaskState.FINISHED)
    assert ground.counts("pieces") == {"completed": 12}
    assert (ground.task().throttle["ended"], ground.task().throttle["failed"]) == (12, 0)


def test_a_kill_in_the_middle_of_following_counts_each_end_and_each_promise_once(tmp_path, monkeypatch):
    """All of it is one transaction: what was done before the kill is undone with it."""
    from jim.tasks.results import following

    class Killed(BaseException):
        pass

    def counted_and_killed(*arguments):
        counting(*arguments)
        raise Killed

    counting, ground = following.count_ends, Chain(tmp_path, monkeypatch)
    ground.chain(events=12, each=1, files=3)
    ground.until(lambda: len(ground.batch.tasks) == 12)
    for n, key in enumerate(ground.begin()):
        ground.end_one(*key, code=3 if n < 5 else 0)
        if n % 4 == 0:
            with monkeypatch.context() as patch:
                patch.setattr(following, "count_ends", counted_and_killed)
                with pytest.raises(Killed):
                    ground.go(3)
            ground.restart()
        ground.go(3)
    assert ground.counts("pieces", "gen") == {"completed": 7, "failed": 5}
    assert (ground.task("gen").throttle["ended"], ground.task("gen").throttle["failed"]) == (12, 5)
    assert ground.counts("output gen", "gen") == {"stored": 7, "broken": 5}
    ground.ask("retry", "gen")
    ground.finish()
    assert ground.merged() == list(range(1, 13))


def test_a_batch_system_that_lies_while_three_tasks_run(ground, tmp_path):
    text = "".join(
        f'[[task]]\nname = "t{n}"\n{EVENTS}\n'
        f"source = [ {{ events = 20, events_per_piece = 2, first_event = {100 * n + 1} }} ]\n"
        "release = { at_once = 4 }\n"
        for n in range(3)
    )
    ground.start(text, "t0", "t1", "t2")
    lies = [Answers.LOST_AFTER, Answers.EMPTY, Answers.LOST_BEFORE, Answers.GARBAGE, Answers.DOWN]

    def finished():
        if not ground.batch.lies:
            ground.batch.lies += [Instead("submit", lies[0]), Instead("query", lies[1])]
            lies.append(lies.pop(0))
        ground.work()
        return all(ground.task(f"t{n}").state is TaskState.FINISHED for n in range(3))

    ground.until(finished, seconds=10.0, rounds=1500)
    for n in range(3):
        assert whole(
            [each for each in ground.ranges() if 100 * n < each[0] <= 100 * n + 100], 100 * n + 1, 100 * n + 20
        )
    assert len(ground.seeds) == len(set(ground.seeds))


def test_a_disk_that_takes_no_wave_is_waited_for_and_told(ground, monkeypatch):
    def full(*_arguments, **_more):
        raise OSError(errno.ENOSPC, "No space left on device", "/state/inbox")

    ground.create(events(8, 2))
    with monkeypatch.context() as patch:
        patch.setattr("jim.tasks.pieces.handing_in.inbox.deposit", full)
        ground.ask("start", untested=True)
        ground.until(lambda: ground.store.waves.all(1))
        ground.go(20, 5.0)
        view = View(ground.site, ground.store, ground.clock)
        assert "wave 1 is to be handed in: /state/inbox: No space left on device" in waits_of(view, ground.task())
        ground.restart()
        ground.go(5, 5.0)
        assert (ground.task().state, ground.counts("pieces")) == (TaskState.RUNNING, {"sent": 4})
    ground.until_state(TaskState.FINISHED, seconds=20.0)
    assert whole(ground.ranges(), 1, 8)
    assert [job.id for job in ground.store.grid_jobs()] == [ground.store.waves.all(1)[0].grid]


def test_a_name_that_stands_twice_in_lists_is_one_item(ground, tmp_path):
    (tmp_path / "other.txt").write_text("b\nc\nclosed\n")
    a_list(tmp_path, "a", "b", "a")
    ground.start(
        f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ list = "names.txt" }}, {{ list = "other.txt" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
        """
    )
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize("how", ["waits"])
def test_twelve_files_wait_to_be_ten_or_no_longer_than_said(ground, tmp_path, how):
    names = [f"/data/{n:02}" for n in range(12)]
    limit = "max_wait_seconds = 3_600, " * (how == "waits")
    text = files(tmp_path, *names, size=10, closed=False).replace("split = { ", "split = { " + limit)
    ground.start(text)
    ground.until(lambda: ground.counts("pieces"))
    ground.work()
    ground.go(5, 5.0)
    assert ground.counts("items") == {"acquired": 10, "available": 2}
    assert ground.pieces() == ["sent"]
    if how == "waits":
        ground.go(5, 800.0)
    else:
        ground.ask("flush")
    ground.go(3)
    assert len(ground.pieces()) == 2
    assert [each.closed for each in ground.store.pools.groups(1)] == [""]
    a_list(tmp_path, *names)
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == dict.fromkeys(names, 1)


def at_place(name: str, place: str) -> str:
    return f'{{"lfn": "{name}", "locations": ["{place}"]}}'


@pytest.mark.parametrize("when", ["full", "closed"])
def test_only_what_waits_at_the_same_place_is_planned_with_what_has_waited_too_long(ground, tmp_path, when):
    old = [at_place("/data/a1", "a"), at_place("/data/b1", "b")]
    text = files(tmp_path, *old, size=10, closed=False)
    ground.start(text.replace("split = { ", f'split = {{ when = "{when}", max_wait_seconds = 3_600, '))
    ground.until(lambda: ground.counts("items"))
    ground.go(1, 1800.0)
    new = [at_place("/data/b2", "b"), at_place("/data/c1", "c")]
    a_list(tmp_path, *old, *new, closed=False)
    ground.until(lambda: len(ground.items()) == 4)
    ground.go(3, 700.0)
    ground.go(3)
    assert ground.items() == {"/data/a1": "acquired", "/data/b1": "acquired", "/data/b2": "acquired"} | {
        "/data/c1": "available"
    }
    assert len(ground.pieces()) == 2, "a place has its own piece"
    ground.go(3, 1000.0)
    assert ground.items()["/data/c1"] == "acquired"


def test_a_file_that_has_changed_makes_no_older_one_wait_longer(ground, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("a")
    (tmp_path / "in" / "b").write_text("b")
    ground.start(
        f"""
        [[task]]
        name = "t"
        {SH}
        source = [ {{ directory = "in", stable_seconds = 0, every_seconds = 5 }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 10 }}, max_wait_seconds = 3_600 }}
        """
    )
    ground.until(lambda: len(ground.items()) == 2)
    ground.go(1, 1800.0)
    (tmp_path / "in" / "a").write_text("longer")
    ground.go(5, 300.0)
    assert ground.counts("items") == {"available": 2}
    ground.go(4, 100.0)
    assert ground.counts("items") == {"acquired": 2}


def test_a_last_line_without_newline_is_taken_only_with_it(ground, tmp_path):
    ground.start(files(tmp_path, "a", closed=False))
    list_ = tmp_path / "names.txt"
    list_.write_text("a\nb")
    ground.go(5, 5.0)
    assert ground.items().keys() == {"a"}
    list_.write_text("a\nb/c\nclosed\n")
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == {"a": 1, "b/c": 1}


@pytest.mark.torture
def test_the_allowance_grows_by_ten_while_all_goes_well(ground):
    ground.start(events(180, 1, "release = { first = 5, at_once = 60, every_seconds = 0 }"))
    most = [0]

    def goes_on():
        ground.work()
        sent = ground.counts("pieces").get("sent", 0)
        if sent != most[-1]:
            most.append(sent)
        return ground.task().state is TaskState.FINISHED

    ground.until(goes_on, rounds=600)
    assert whole(ground.ranges(), 1, 180)
    assert most[1] == 5
    assert 50 in most
    assert max(most) == 60


@pytest.mark.torture
def test_a_task_of_which_all_fails_pauses_by_itself_and_goes_on_when_told(ground, tmp_path):
    names = [f"/data/{n:03}" for n in range(100)]
    ground.start(files(tmp_path, *names, more="release = { first = 5, probe_seconds = 600 }"))
    began = ground.clock.now

    def fails():
        ground.work(code=3)
        return ground.task().state is TaskState.PAUSED

    ground.until(fails, seconds=60.0, rounds=1000)
    assert ground.task().reason == "by itself: 20 in a row: exit 3"
    assert ground.counts("pieces")["failed"] <= 40
    assert ground.clock.now - began >= 3 * 3600
    assert ground.task().throttle["a"] == 1
    ground.ask("resume")
    assert ground.task().throttle["a"] in (0, 5), "it begins at first again"


def test_what_failed_in_a_bad_time_is_tried_again_once_by_itself(ground, tmp_path):
    names = [f"/data/{n:03}" for n in range(60)]
    ground.start(files(tmp_path, *names, more="release = { first = 10, probe_seconds = 60, every_seconds = 0 }"))

    def until_bad():
        ground.work(code=3)
        return ground.task().throttle["excess"]

    ground.until(until_bad, seconds=10.0)
    assert ground.counts("pieces")["failed"] >= 10
    ground.until_state(TaskState.FINISHED, seconds=20.0)
    assert ground.done() == dict.fromkeys(names, 1)
    (told,) = (line for line in ground.journal() if line.startswith("tried again: "))
    assert told.endswith(" failed pieces (exit 3): the bad time is over"), "once, with what they have in common"
    assert ground.task().outcome == "completed"


def test_pieces_that_die_at_once_slow_nothing_down_while_others_run_longer(ground, tmp_path, monkeypatch):
    monkeypatch.setattr(ground.clock, "utc", lambda: as_utc(1_790_000_000 + ground.clock.now))
    names = [f"/data/{n:03}" for n in range(60)]
    ground.start(files(tmp_path, *names, more="release = { first = 40, at_once = 40, every_seconds = 0 }"))
    ground.until(lambda: len(ground.batch.tasks) == 40)
    keys = ground.begin()
    ground.go(3, 100.0)
    for key in keys[::3]:
        ground.end_one(*key, code=3)
    ground.go(20, 100.0)
    assert (ground.task().throttle["a"], ground.task().throttle["excess"]) == (40, 0)
    assert not any(line.startswith("throttle: ") for line in ground.journal())
    ground.until_state(TaskState.FINISHED, seconds=20.0)
    assert len(ground.done()) == 46


def five_fail(ground, tmp_path):
    """Let the first five of eight pieces fail, which is a bad time."""
    names = [f"/data/{n:03}" for n in range(8)]
    ground.start(files(tmp_path, *names, more="release = { first = 5, probe_seconds = 600, every_seconds = 0 }"))
    ground.until(lambda: ground.work(code=3) or ground.task().throttle["excess"])
    assert ground.counts("pieces")["failed"] == 5
    return names


def test_a_bad_time_ends_also_if_its_last_pieces_do(ground, tmp_path):
    names = five_fail(ground, tmp_path)
    ground.until(lambda: ground.work() or ground.counts("pieces") == {"completed": 3, "failed": 5})
    ground.go(3, 1.0)
    assert ground.task().state is TaskState.RUNNING
    view = View(ground.site, ground.store, ground.clock)
    assert "most attempts have failed, and 3 of the last 3 ended well" in waits_of(view, ground.task())
    ground.until_state(TaskState.FINISHED, seconds=60.0)
    assert ground.done() == dict.fromkeys(names, 1)
    assert ground.task().outcome == "completed"


def test_the_end_of_a_bad_time_tries_nothing_again_of_what_a_person_has_dropped(ground, tmp_path):
    names = five_fail(ground, tmp_path)
    ground.ask("drop", items=names[:1], reason="it is broken")
    ground.until_state(TaskState.FINISHED, seconds=60.0)
    assert ground.done() == dict.fromkeys(names[1:], 1)
    assert ground.items()[names[0]] == "dropped"


def test_a_bad_time_goes_on_over_a_pause(ground, tmp_path):
    names = five_fail(ground, tmp_path)
    ground.ask("pause", kill=True)
    ground.until(lambda: not ground.counts("pieces").get("sent"))
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED, seconds=60.0)
    assert ground.done() == dict.fromkeys(names, 1)


AGAIN = 'retry = [ { when = "exit 3", times = 50, delay = "PT10S" } ]'


def in_a_bad_time(tmp_path, monkeypatch, first):
    """Let all attempts fail of pieces that are tried again, until the allowance is one and nothing is on the nodes."""
    ground = Ground(tmp_path, monkeypatch, limits=Limits(attempts=50, most_attempts=100))
    tried = SH.replace(" }", f", {AGAIN} }}")
    release = f"release = {{ first = {first}, at_once = {first}, probe_seconds = 600, every_seconds = 0 }}"
    names = (f"/data/{n:03}" for n in range(100))
    ground.start(files(tmp_path, *names, more=release).replace(SH, tried))

    def until_one():
        ground.work(code=3)
        return ground.task().throttle["a"] == 1

    ground.until(until_one, seconds=20.0, rounds=600)
    fails(ground, 60.0)
    return ground


def waits_of(view, task):
    return [each.what for each in task_waits.waits(view, task)]


def test_it_is_told_why_pieces_on_the_way_wait_while_most_attempts_fail(tmp_path, monkeypatch):
    ground = in_a_bad_time(tmp_path, monkeypatch, 100)
    view = View(ground.site, ground.store, ground.clock)
    assert "100 pieces on the way; most attempts fail: 1 of 100, failing" in waits_of(view, ground.task())


def fails(ground, seconds):
    """Let attempts fail at once for so long; return how many there were."""
    before = len(ground.batch.tasks)
    for _ in range(int(seconds / 10.0)):
        ground.go(1, 10.0)
        ground.work(code=3)
    return len(ground.batch.tasks) - before


@pytest.mark.torture
def test_in_a_bad_time_pieces_on_the_way_are_tried_again_at_the_pace_of_probes(tmp_path, monkeypatch):
    ground = in_a_bad_time(tmp_path, monkeypatch, 30)
    sent = ground.counts("pieces")["sent"]
    assert 30 < sent <= 34
    assert 5 <= fails(ground, 3600.0) <= 8, "one in ten minutes, a quarter earlier or later"
    assert 2 <= ground.counts("pieces")["sent"] - sent <= 4, "new pieces and old ones take turns"
    view = View(ground.site, ground.store, ground.clock)
    ready = ground.counts("pieces")["ready"]
    assert f"{ready} pieces are ready; most attempts fail: 1 of 30, failing" in waits_of(view, ground.task())
    ground.restart()
    assert fails(ground, 300.0) <= 1, "a keeper that starts again is no reason for a probe"
    ground.until_state(TaskState.FINISHED, seconds=20.0)
    assert ground.done() == {f"/data/{n:03}": 1 for n in range(100)}


@pytest.mark.torture
def test_probes_that_try_pieces_again_pause_a_task_by_themselves_too(tmp_path, monkeypatch):
    ground = in_a_bad_time(tmp_path, monkeypatch, 30)
    began = ground.clock.now
    for _ in range(26):
        if ground.task().state is TaskState.RUNNING:
            assert fails(ground, 600.0) <= 2
    assert ground.task().reason == "by itself: 20 in a row: exit 3"
    assert 3.3 * 3600 * 0.9 <= ground.clock.now - began <= 4 * 3600


@pytest.mark.torture
def test_a_piece_that_hangs_keeps_no_probe_from_the_nodes(ground, tmp_path):
    ground.start(files(tmp_path, *map(str, range(60)), more="release = { first = 10, every_seconds = 0 }"))
    ground.until(lambda: len(ground.batch.tasks) == 10)
    ((hangs, index), *_) = ground.begin()

    def others_fail():
        ground.begin()
        for each, task in list(ground.batch.tasks.items()):
            if task.state is State.RUNNING and each != (hangs, index):
                ground.end_one(*each, code=3)

    def is_one():
        others_fail()
        return ground.task().throttle["a"] == 1

    ground.until(is_one, seconds=5.0)
    before = len(ground.batch.tasks)
    for _ in range(360):
        ground.go(1, 10.0)
        others_fail()
    assert 5 <= len(ground.batch.tasks) - before <= 9


def test_at_once_0_releases_nothing_and_tries_nothing_again(ground, tmp_path):
    ground.start(files(tmp_path, *TEN, more="release = { at_once = 4, every_seconds = 0 }"))
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.ask("throttle", at_once=0)
    ground.batch.kill("1", 1)  # an attempt is lost: it would be tried again
    for index in (2, 3, 4):
        ground.batch.finish("1", index)
    ground.diary += [(name,) for name in TEN[1:4]]
    ground.go(100, 20.0)
    assert ground.counts("pieces") == {"ready": 6, "sent": 1, "completed": 3}
    assert len(ground.batch.tasks) == 4
    ground.ask("throttle", at_once=10)
    ground.until_state(TaskState.FINISHED, seconds=20.0)
    assert ground.done() == dict.fromkeys(TEN, 1)


def two_tasks(priority: int) -> str:
    return "".join(
        f'[[task]]\nname = "t{n}"\n{EVENTS}\npriority = {priority * n}\n'
        f"source = [ {{ events = 30, events_per_piece = 1, first_event = {100 * n + 1} }} ]\n"
        "release = { every_seconds = 0 }\n"
        for n in range(2)
    )


@pytest.mark.parametrize("priority", sampled([10, 0]))
def test_tasks_share_the_places_and_the_higher_priority_is_first(tmp_path, monkeypatch, priority):
    ground = Ground(tmp_path, monkeypatch, limits=Limits(queued=10, per_submission=2))
    ground.start(two_tasks(priority), "t0", "t1")
    shares = []

    def goes_on():
        sent = {n: ground.counts("pieces", f"t{n}").get("sent", 0) for n in range(2)}
        if all(ground.counts("pieces", f"t{n}").get("ready") for n in range(2)):
            shares.append((sent[0], sent[1]))
        assert sum(sent.values()) <= 8, "four fifths of the queue"
        ground.work()
        return all(ground.task(f"t{n}").state is TaskState.FINISHED for n in range(2))

    ground.until(goes_on, rounds=600)
    assert whole(ground.ranges()[:30], 1, 30)
    assert whole(ground.ranges()[30:], 101, 130)
    if priority:
        low = [first for first, _ in shares]
        assert low == sorted(low, reverse=True), "nothing of the lower priority is released beside"
    else:
        assert {abs(first - second) for first, second in shares if first + second == 8} <= {0, 2, 4}


def test_a_grid_job_by_hand_is_sent_though_tasks_have_filled_their_part(tmp_path, monkeypatch):
    ground = Ground(tmp_path, monkeypatch, limits=Limits(queued=10))
    ground.start(events(60, 1))
    ground.until(lambda: len(ground.batch.tasks) == 8)
    ground.go(5, 1.0)
    assert len(ground.batch.tasks) == 8
    ground.submit(2, key="by hand")
    ground.until(lambda: len(ground.batch.tasks) == 10)


def test_a_file_that_is_edited_while_its_task_runs_has_no_effect(ground):
    ground.start(events(4, 2))
    ground.until(lambda: ground.counts("pieces"))
    from jim.reading.tasks.task import file_differs

    assert not file_differs(ground.task())
    ground.write(events(40, 2))
    assert file_differs(ground.task())
    with pytest.raises(BadRequest, match=r"task 't' runs since .* with other content; choose another name, or "):
        ground.create(events(40, 2))
    ground.until_state(TaskState.FINISHED)
    assert whole(ground.ranges(), 1, 4)
    with pytest.raises(BadRequest, match=r"is finished with other content; .* or 'jim task remove t'"):
        ground.create(events(40, 2))


def test_a_start_is_refused_if_the_request_has_changed_since_the_test(ground):
    ground.create(events(4, 2))
    ground.ask("test")
    ground.until_state(TaskState.READY)
    ground.create(events(4, 2).replace("/bin/echo", "/bin/printf"))
    assert ground.task().state is TaskState.CONFIGURED
    ground.ask("start")
    assert ground.task().state is TaskState.CONFIGURED
    assert "start changes nothing: t has not been tested as it is now; 'jim task test t', or start --untested" in (
        ground.journal()
    )
    ground.create(events(4, 2).replace('name = "t"', 'name = "t"\nsummary = "same work"'))


def test_what_a_test_does_not_depend_on_may_change(ground):
    ground.create(events(4, 2))
    ground.ask("test")
    ground.until_state(TaskState.READY)
    ground.create(events(4, 2).replace('name = "t"', 'name = "t"\nsummary = "in other words"'))
    assert ground.task().state is TaskState.READY
    ground.ask("start")
    ground.until_state(TaskState.FINISHED)
    assert whole([each for each in ground.ranges() if each != (1, 2)], 3, 4)


def test_memory_grows_as_the_rule_says_up_to_what_the_site_allows(tmp_path, monkeypatch):
    limits = Limits(attempts=5)
    ground = Ground(tmp_path, monkeypatch, limits=limits, batch=Batch(most_memory_mb=5000))
    rule = 'memory_mb = 2000, retry = [ { when = "memory", change = { memory_mb = "*1.5" } } ] }'
    ground.start(events(2, 2).replace('"$LastEvent"] }', f'"$LastEvent"], {rule}'))
    asked = []
    for _ in range(4):
        ground.until(ground.begin, seconds=60.0, rounds=600)
        asked += [ground.store.submission(1, ground.store.attempts(1)[-1].k).asked["memory_mb"]]
        ground.go(2)
        ground.end(code=None, signal=9, extra="kills 1\n")
    assert asked == [2000, 3000, 4500, 5000]
    ground.until(lambda: ground.task().state is TaskState.FINISHED, seconds=5.0)
    assert ground.task().outcome == "with failures"


def test_a_fix_reaches_what_is_not_sent_and_not_what_runs(ground, tmp_path):
    names = [f"/data/{n}" for n in range(6)]
    ground.start(files(tmp_path, *names, more="release = { at_once = 4, every_seconds = 0 }"))
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.ask("fix", changes={"memory_mb": 4000})
    ground.go(3)
    assert ground.store.submission(1, 1).asked.get("memory_mb") is None
    ground.batch.kill("1", 1)  # it is tried again
    for index in (2, 3, 4):
        ground.batch.finish("1", index)
    ground.diary += [(name,) for name in names[1:4]]
    ground.until_state(TaskState.FINISHED, seconds=20.0)
    assert ground.done() == dict.fromkeys(names, 1)
    asked = {(each.grid, each.k): each.asked.get("memory_mb") for each in ground.store.submissions(*SubmissionState)}
    assert asked.pop((1, 1)) is None
    assert set(asked.values()) == {4000}
    assert {each.fix for each in ground.store.waves.all(1)} == {1}


def test_a_fix_before_the_start_is_to_be_tested(ground):
    ground.create(events(4, 2))
    ground.ask("test")
    ground.until_state(TaskState.READY)
    ground.ask("fix", changes={"memory_mb": 4000})
    assert (ground.task().state, ground.task().reason) == (TaskState.CONFIGURED, "fix 1 is not tested yet")
    ground.ask("start")
    assert "start changes nothing: t has not been tested as it is now; 'jim task test t', or start --untested" in (
        ground.journal()
    )
    ground.ask("test")
    ground.until_state(TaskState.READY)
    asked = [each.asked.get("memory_mb") for each in ground.store.submissions(*SubmissionState)]
    assert asked == [None, 4000], "the second test has the fix"
    ground.ask("start")
    ground.until_state(TaskState.FINISHED)
    assert ground.store.submission(3, 1).asked["memory_mb"] == 4000


def test_what_was_tested_with_a_fix_is_to_be_tested_without_it(ground):
    ground.create(events(4, 2))
    ground.ask("fix", changes={"memory_mb": 4000})
    ground.ask("test")
    ground.until_state(TaskState.READY)
    ground.create(events(4, 2).replace('name = "t"', 'name = "t"\nsummary = "in other words"'))
    assert (ground.task().state, ground.store.tasks.fixes(ground.task().id)) == (TaskState.CONFIGURED, {})


def test_a_fix_during_a_test_is_to_be_tested(ground):
    ground.create(events(4, 2))
    ground.ask("test")
    ground.until(ground.begin)
    ground.ask("fix", changes={"memory_mb": 4000})
    assert ground.task().state is TaskState.TESTING
    ground.until_state(TaskState.CONFIGURED)
    assert ground.task().reason == "fix 1 is not tested yet"


def test_a_test_of_a_task_that_runs_pauses_it_by_no_refusal(ground, monkeypatch):
    ground.start(events(40, 1, "release = { at_once = 2 }"))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    with monkeypatch.context() as patch:
        refused = (BadRequest("no such queue") for _ in range(99))
        patch.setattr("jim.tasks.pieces.handing_in.request_of", lambda *_: (_ for _ in ()).throw(next(refused)))
        ground.ask("test")
        ground.go(6, 1.0)
    assert ground.task().state is TaskState.RUNNING
    assert "test 1 failed: the request is refused: no such queue" in ground.journal()


def seven_of_files_failed(ground, tmp_path):
    """Let two of five pieces of ten files each fail."""
    names = [f"/data/{n:02}" for n in range(50)]
    ground.start(files(tmp_path, *names, size=10))
    ground.until(lambda: len(ground.batch.tasks) == 5)
    ground.begin()
    for index in (2, 5):
        ground.batch.finish("1", index, code=137)
    ground.end()
    ground.until(lambda: ground.task().state is TaskState.FINISHED)
    return names


def test_what_failed_is_recovered_exactly_cut_smaller_and_sent_first(ground, tmp_path):
    names = seven_of_files_failed(ground, tmp_path)
    assert ground.counts("items") == {"completed": 30, "failed": 20}
    ground.ask("recover", parameters={"files_per_job": 1}, attributes={"memory_mb": 4000})
    ground.until(lambda: ground.counts("pieces").get("replaced"))
    assert ground.counts("pieces")["replaced"] == 2
    assert ground.store.counts(1) == {State.COMPLETED: 3, State.FAILED_FROZEN: 2}
    ground.until(lambda: len(ground.batch.tasks) == 25)
    ground.begin()
    ground.batch.finish("2", 3, code=137)
    ground.end()
    ground.until(lambda: ground.task().state is TaskState.FINISHED)
    assert ground.store.local_job(2, 0).piece.attributes["memory_mb"] == 4000
    assert ground.counts("items") == {"completed": 49, "failed": 1}
    ground.ask("recover")
    ground.until_state(TaskState.FINISHED)
    ground.go(3)
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == dict.fromkeys(names, 1)
    assert ground.task().outcome == "completed"
    assert len(ground.seeds) == len(set(ground.seeds)) == 26, "what is recovered has other seeds"


def test_events_of_failed_pieces_are_recovered_once(ground):
    ground.start(events(100, 25))
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    ground.end()
    ground.until(lambda: ground.task().state is TaskState.FINISHED)
    ground.ask("recover", parameters={"events_per_piece": 10})
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert whole(ground.ranges(), 1, 100)
    assert ground.ranges()[1:4] == [(26, 35), (36, 45), (46, 50)]


def test_a_retry_and_a_recover_at_one_moment_do_the_work_once(ground, tmp_path):
    names = seven_of_files_failed(ground, tmp_path)
    inbox.wish(ground.site.state, "retry", "1.1", by="alice, by hand")
    ground.ask("recover", parameters={"files_per_job": 1})
    ground.go(3)
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == dict.fromkeys(names, 1)


def test_a_retry_of_pieces_whose_grid_job_is_no_longer_kept_makes_new_ones(ground, monkeypatch):
    ground.start(events(100, 25))
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    ground.batch.finish("1", 3, code=4)
    ground.end()
    ground.until(lambda: ground.task().state is TaskState.FINISHED)
    with monkeypatch.context() as patched:
        patched.setattr(type(ground.site.keep), "seconds", lambda *_, **__: 0.0)
        ground.until(lambda: not ground.store.grid_jobs(), seconds=4000.0)
    told = effect(View(ground.site, ground.store), TaskVerb.RETRY, ground.task(), {"reason": "exit 3"}).words
    new = "new pieces do the work of 1 whose grid jobs are no longer kept"
    assert told == f"1 of 2 failed pieces is tried again: t/1; {new}"
    piece = ground.store.pieces.one(1, 1)
    (wait,) = task_waits.of_piece(View(ground.site, ground.store), ground.task(), piece)
    assert wait.next == "`jim task recover t` makes new pieces of all that has failed"
    ground.ask("retry", reason="exit 3", most=1)
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert ground.counts("pieces") == {"completed": 3, "failed": 1, "replaced": 1}
    ground.ask("retry")
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"
    assert whole(ground.ranges(), 1, 100)
    assert len(ground.seeds) == len(set(ground.seeds)) == 6


def test_a_wave_with_failed_pieces_is_kept_while_its_task_has_not_ended(ground, tmp_path, monkeypatch):
    ground.start(files(tmp_path, "/data/a", "/data/b", closed=False))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    ground.batch.finish("1", 1, code=3)
    ground.end()
    ground.until(lambda: ground.store.grid_job(1).step is Step.FINISHED)
    monkeypatch.setattr(type(ground.site.keep), "seconds", lambda *_, **__: 0.0)
    ground.go(4, 2000.0)
    assert [each.id for each in ground.store.grid_jobs()] == [1]
    ground.ask("retry")
    ground.until(lambda: len(ground.batch.tasks) == 3)
    ground.begin()
    ground.end()
    ground.until(lambda: ground.counts("pieces") == {"completed": 2})
    ground.until(lambda: not ground.store.grid_jobs(), seconds=4000.0)


def test_failed_pieces_are_tried_again_as_people_say(ground, tmp_path):
    names = seven_of_files_failed(ground, tmp_path)
    ground.ask("retry", reason="exit 13")
    ground.go(3)
    assert ground.counts("pieces")["failed"] == 2, "that is another reason"
    ground.ask("retry", reason="exit 137", most=1)
    ground.go(3)
    ground.until_state(TaskState.FINISHED)
    assert ground.counts("pieces") == {"completed": 4, "failed": 1}
    ground.ask("retry")
    ground.go(3)
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == dict.fromkeys(names, 1)


def test_a_priority_reaches_the_waves_of_a_task(ground):
    ground.start(events(4, 2))
    ground.until(lambda: ground.batch.tasks)
    ground.ask("priority", priority=7)
    ground.go(2)
    assert ground.store.grid_job(1).priority == 7


@pytest.mark.parametrize("code", [0, 3])
def test_a_test_that_fails_leaves_everything_as_it_was(ground, code):
    ground.create(events(4, 2, 'test = { check = ["/bin/false"], pieces = 2 }'))
    ground.ask("test")
    ground.until_state(TaskState.CONFIGURED, code=code)
    why = "check /bin/false: no output (exit 1 after" if not code else "1.0 failed: exit 3"
    assert why in ground.task().reason
    assert ground.counts("items") == {"available": 1}
    assert ground.counts("pieces") == {}
    assert [each.t for each in ground.store.waves.all(1)] == [1, 1]


@pytest.mark.parametrize("verb", ["recover", "retry"])
def test_a_failed_part_of_a_file_leaves_its_other_parts_alone(ground, tmp_path, verb):
    a_list(tmp_path, '{"lfn": "/data/big", "events": 100, "size": 7}')
    ground.start(
        """
        [[task]]
        name = "t"
        request = { job_type = "executable", executable = "/bin/echo", arguments = ["$FirstEvent", "$LastEvent"] }
        source = [ { list = "names.txt" } ]
        split = { splitter = "EventBased", parameters = { events_per_job = 25 } }
        """
    )
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.batch.finish("1", 4, code=3)
    ground.end()
    ground.until(lambda: ground.task().state is TaskState.FINISHED)
    assert ground.items() == {"/data/big": "failed"}
    assert ground.pieces() == ["completed", "completed", "completed", "failed"]
    assert ground.ranges() == [(0, 24), (25, 49), (50, 74)]
    ground.ask(verb)
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert ground.ranges() == [(0, 24), (25, 49), (50, 74), (75, 99)], "of the same ranges, and only the fourth again"
    assert whole(ground.ranges(), 0, 99)
    assert ground.pieces()[:3] == ["completed"] * 3
    assert ground.items() == {"/data/big": "completed"}


def test_a_pause_that_kills_loses_nothing_and_counts_no_attempt(ground, tmp_path):
    names = [f"/data/{n:02}" for n in range(50)]
    ground.start(files(tmp_path, *names, more="release = { at_once = 20 }"))
    ground.until(lambda: len(ground.batch.tasks) == 20)
    begun = ground.begin()
    ground.batch.finish(*begun[0])
    ground.diary.append((names[0],))
    ground.ask("pause", kill=True)
    ground.until(lambda: not ground.counts("pieces").get("sent"))
    assert ground.counts("pieces") == {"completed": 1, "ready": 49}
    assert ground.counts("items") == {"completed": 1, "acquired": 49}
    assert (ground.task().throttle["ended"], ground.task().throttle["failed"]) == (1, 0), "what it ends is no failure"
    (wave,) = ground.store.waves.all(1)
    assert ground.store.counts(wave.grid) == {State.COMPLETED: 1, State.FAILED_FROZEN: 19}
    ground.wish("retry", str(wave.grid))
    ground.go(5, 5.0)
    assert ground.store.grid_job(wave.grid).step is Step.FINISHED
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED, seconds=20.0)
    assert ground.done() == dict.fromkeys(names, 1)
    assert len(ground.seeds) == len(set(ground.seeds)) == 69


def test_a_suspended_task_goes_on_with_the_same_batch_jobs(ground):
    ground.start(events(8, 2))
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin_one("1", 1)
    ground.go(2, 2.0)
    before = set(ground.batch.tasks)
    ground.ask("pause", suspend=True)
    ground.until(lambda: ground.store.counts(1) == {State.SUSPENDED: 1, State.HELD: 3})
    ground.restart()
    ground.go(10, 20.0)
    assert ground.store.counts(1) == {State.SUSPENDED: 1, State.HELD: 3}
    ground.ask("resume")
    ground.until(lambda: ground.store.counts(1) == {State.RUNNING: 1, State.SUBMITTED: 3})
    ground.until_state(TaskState.FINISHED)
    assert set(ground.batch.tasks) == before
    assert ground.store.local_jobs(1)
    assert {each.attempt for each in ground.store.local_jobs(1)} == {1}
    assert whole(ground.ranges(), 1, 8)


def test_a_cancel_ends_all_and_remove_is_possible_only_then(ground, tmp_path):
    ground.start(files(tmp_path, *TEN, more="release = { at_once = 4 }"))
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.batch.finish("1", 1)
    ground.until(lambda: ground.counts("pieces").get("completed"))
    sent = ground.counts("pieces")["sent"]
    ground.ask("remove")
    assert f"remove changes nothing: t has {sent} pieces on the way; cancel it first" in ground.journal()
    ground.ask("cancel")
    ground.until(lambda: ground.task().state is TaskState.CANCELLED, seconds=10.0)
    assert not any(task.state in (State.RUNNING, State.SUBMITTED) for task in ground.batch.tasks.values())
    assert "completed" in ground.counts("pieces")
    assert {each.reason for each in ground.store.pieces.failed(1)} == {"cancelled by somebody"}
    ground.ask("remove")
    assert ground.store.tasks.all() == []


def test_a_pool_that_closes_while_jobs_run_makes_a_last_short_piece(ground, tmp_path):
    names = [f"/data/{n:02}" for n in range(12)]
    ground.start(files(tmp_path, *names, size=10, closed=False, more="release = { every_seconds = 0 }"))
    ground.until(lambda: ground.batch.tasks)
    ground.begin()
    a_list(tmp_path, *names)
    ground.go(5, 5.0)
    assert ground.task().state is TaskState.RUNNING
    assert ground.pieces() == ["sent", "sent"]
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == dict.fromkeys(names, 1)


def test_waves_with_one_straggler_each_do_not_stop_the_release(ground, monkeypatch):
    monkeypatch.setattr("jim.tasks.unsettled_waves.MOST_WAVES", 3)
    ground.start(events(150, 1, "release = { at_once = 24, every_seconds = 0 }"))

    def all_but_stragglers():
        for (id_, index), task in list(ground.batch.tasks.items()):
            if task.state is State.SUBMITTED and index != 1:
                ground.batch.start(id_, index)
        ground.end()
        return False

    with pytest.raises(AssertionError, match="not within 15 rounds"):
        ground.until(all_but_stragglers, rounds=15)
    waves = ground.store.waves.live(1)
    assert len(waves) <= 3 + sum(each.size >= 20 for each in waves)
    ground.until_state(TaskState.FINISHED)
    assert whole(ground.ranges(), 1, 150)


def test_waves_with_more_left_are_waited_for_until_one_of_them_has_ended(ground, monkeypatch):
    monkeypatch.setattr("jim.tasks.unsettled_waves.MOST_WAVES", 3)
    monkeypatch.setattr("jim.reading.tasks.releases.MOST_WAVES", 3)
    ground.start(events(30, 1, "release = { at_once = 30, first = 2, every_seconds = 0 }"))
    ground.store.tasks.change(1, throttle={**ground.task().throttle, "at_once": 2})

    def more():
        ground.store.tasks.change(
            1, throttle={**ground.task().throttle, "at_once": 2 + ground.counts("pieces")["sent"], "a": 30}
        )
        return len(ground.store.waves.live(1)) == 3

    ground.until(lambda: ground.batch.tasks)
    ground.until(more)
    ground.go(20, 5.0)
    more()
    ground.go(5, 5.0)
    assert len(ground.store.waves.live(1)) == 3
    view = View(ground.site, ground.store, ground.clock)
    told = [each.what for each in task_waits.waits(view, ground.task())]
    assert "3 of its waves have not ended" in " ".join(told)
    ground.batch.start("1", 1)
    ground.batch.finish("1", 1)
    ground.batch.start("1", 2)
    ground.batch.finish("1", 2)
    ground.until(lambda: len(ground.store.waves.all(1)) == 4, seconds=5.0)


def test_a_keeper_stays_for_what_runs_and_not_for_what_is_paused(ground, tmp_path):
    ground.start(files(tmp_path, "a", closed=False))
    ground.until(lambda: ground.counts("pieces"))
    ground.until(lambda: ground.work() or ground.counts("pieces").get("completed"))
    ground.go(20, 5.0)
    assert not ground.store.unfinished()
    assert not ground.rounds.idle(), "it watches the list"
    ground.ask("pause")
    ground.go(3)
    assert ground.rounds.idle()


def test_a_store_that_is_older_than_its_requests_sends_nothing(ground, tmp_path):
    """What was handed in after the copy has its keys still; the same pieces again would be sent twice."""
    import shutil

    ground.start(events(12, 1, "release = { at_once = 3, every_seconds = 0 }"))
    ground.until(lambda: ground.batch.tasks)
    ground.store.copy_to(tmp_path / "copy.db")
    ground.until(lambda: ground.work() or len(ground.diary) == 12)
    ground.keeper.store.close()
    for each in (ground.site.state).glob("status.db*"):
        each.unlink()
    shutil.copy(tmp_path / "copy.db", ground.site.state / "status.db")
    diary, sent = list(ground.diary), len(ground.batch.tasks)
    with pytest.raises(Outdated):
        ground.restart()
    assert list(restoring.restored(ground.site))
    ground.restart()
    ground.until(lambda: ground.task().state is TaskState.PAUSED, seconds=20.0)
    assert ground.task().reason == "the status DB is older than its requests"
    assert ground.counts("items") == {"acquired": 1}
    assert ground.counts("pieces")["sent"] == 3, "they stay in their wave"
    ground.ask("resume")
    assert "only 'jim task cancel t' is possible" in ground.journal()[-1]
    ground.go(20, 20.0)
    assert (ground.diary, len(ground.batch.tasks)) == (diary, sent)
    ground.ask("cancel")
    ground.until(lambda: ground.task().state is TaskState.CANCELLED, seconds=20.0)


def test_a_state_directory_that_is_older_than_its_waves_sends_nothing(ground, tmp_path):
    """A backup of all of it has forgotten the keys, too, of what was handed in since."""
    import shutil

    ground.start(events(12, 1, "release = { at_once = 3, every_seconds = 0 }"))
    ground.until(lambda: ground.batch.tasks)
    ground.store.copy_to(tmp_path / "copy.db")
    shutil.copytree(ground.site.state / "keys", tmp_path / "keys")
    shutil.copytree(ground.site.state / "inbox", tmp_path / "inbox")
    ground.until(lambda: ground.work() or len(ground.diary) == 12)
    ground.keeper.store.close()
    for each in (ground.site.state).glob("status.db*"):
        each.unlink()
    shutil.copy(tmp_path / "copy.db", ground.site.state / "status.db")
    for each in ("keys", "inbox"):
        shutil.rmtree(ground.site.state / each)
        shutil.copytree(tmp_path / each, ground.site.state / each)
    diary, sent = list(ground.diary), len(ground.batch.tasks)
    said = list(restoring.restored(ground.site))
    assert "task t is paused: the status DB is older than its requests; only `jim task cancel t` is possible" in said
    ground.restart()
    ground.go(20, 20.0)
    assert (ground.diary, len(ground.batch.tasks), ground.task().state) == (diary, sent, TaskState.PAUSED)
    view = View(ground.site, ground.store, ground.clock)
    (first, *_) = task_waits.waits(view, ground.task())
    assert first.next == "nothing more is sent; only `jim task cancel t` is possible"
    ground.ask("retry")
    assert "only 'jim task cancel t' is possible" in ground.journal()[-1]
    ground.ask("cancel")
    ground.until(lambda: ground.task().state is TaskState.CANCELLED, seconds=20.0)


@pytest.mark.parametrize("step", [Step.ACCEPTED, Step.RESOLVED])
def test_a_wave_that_the_copy_knows_unsplit_and_that_was_sent_since_is_not_done_again(
    ground, tmp_path, monkeypatch, step
):
    import shutil

    of_store = type(ground.store).set_grid_job

    def copied(store, number, **columns):
        if store.grid_job(number).step is step and "step" in columns:
            with closing(sqlite3.connect(ground.site.state / "status.db")) as db:
                db.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
        of_store(store, number, **columns)

    with monkeypatch.context() as patched:
        patched.setattr(type(ground.store), "set_grid_job", copied)
        ground.start(events(2, 1))
        ground.until(lambda: ground.batch.tasks)
    ground.until(lambda: ground.work() or len(ground.diary) == 2)
    ground.keeper.store.close()
    for each in (ground.site.state).glob("status.db*"):
        each.unlink()
    shutil.copy(tmp_path / "copy.db", ground.site.state / "status.db")
    said = list(restoring.restored(ground.site))
    assert "task t is paused: the status DB is older than its requests; only `jim task cancel t` is possible" in said
    ground.restart()
    ground.go(20, 20.0)
    for verb in ("resume", "retry", "recover"):
        ground.ask(verb)
        assert "only 'jim task cancel t' is possible" in ground.journal()[-1]
    ground.go(20, 20.0)
    assert (len(ground.diary), len(ground.batch.tasks), ground.task().state) == (2, 2, TaskState.PAUSED)
    ground.ask("cancel")
    ground.until(lambda: ground.task().state is TaskState.CANCELLED, seconds=20.0)


def test_variables_stand_in_every_text_of_a_request(ground):
    ground.start("""
        [[task]]
        name = "t"
        source = [ { events = 4, events_per_piece = 2 } ]
        [task.request]
        job_type = "executable"
        executable = "/bin/true"
        arguments = ["$FirstEvent"]
        environment = { PIECE = "$Piece", RANGE = "$FirstEvent-$LastEvent" }
        outputs = ["events-$FirstEvent.dat"]
        """)
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    lines = [sorted(each for each in ground.batch._job_lines(task)) for task in ground.batch.tasks.values()]
    found = [[f"{word} {value}" for _, word, value in each if word in ("env", "out")] for each in lines]
    assert found == [
        ["env PIECE=0000000", "env RANGE=1-2", "out events-1.dat"],
        ["env PIECE=0000001", "env RANGE=3-4", "out events-3.dat"],
    ]


def test_no_two_seeds_of_a_task_are_equal():
    seeds = {seed_of("f00d", piece, attempt) for piece in range(30_000) for attempt in (1, 2, 3)}
    assert len(seeds) == 90_000
    assert min(seeds) >= 1
    assert max(seeds) <= 899_999_999
    assert seed_of("f00d", 0, 1) != seed_of("beef", 0, 1)
    assert len({b - a for a, b in pairwise(seed_of("f00d", piece, 1) for piece in range(100))}) == 99, "in no order"


def test_tests_have_other_seeds_than_the_work_itself(ground):
    ground.create(events(20, 5, "test = { pieces = 3 }"))
    for _ in range(2):
        ground.ask("test")
        ground.until_state(TaskState.READY)
    ground.ask("start")
    ground.until_state(TaskState.FINISHED)
    assert len(ground.seeds) == len(set(ground.seeds)) == 10


def on_wave(ground, tmp_path):
    """Let the wave of a task have a running, a completed and a failed local job."""
    ground.start(files(tmp_path, "a", "b", "c"))
    ground.until(lambda: len(ground.batch.tasks) == 3)
    ground.begin()
    ground.batch.finish("1", 1)
    ground.diary.append(("a",))
    ground.batch.finish("1", 2, code=3)
    ground.until(lambda: ground.counts("pieces") == {"completed": 1, "failed": 1, "sent": 1})


@pytest.mark.parametrize(
    ("verb", "target", "more", "words"),
    [
        ("resplit", "1.0", {"parameters": {}}, "1.0 is piece t/0: use 'jim task recover t'"),
        (
            "recover",
            "1",
            {},
            "1 is wave 1 of task t: use 'jim task recover t'; 'jim retry 1' tries again what has failed",
        ),
        ("edit", "1", {"changes": {}}, "1 is wave 1 of task t: use 'jim task fix t'"),
        ("remove", "1", {}, "1 is wave 1 of task t: use 'jim task remove t' once the task has ended"),
        ("force", "1.1", {"to": "completed", "reason": "x"}, "1.1 is piece t/1: force is not possible"),
        ("force", "1.0", {"to": "failed", "reason": "x"}, "1.0 is piece t/0: force is not possible: it has completed"),
    ],
)
def test_what_would_take_work_from_a_task_is_refused_by_command_and_keeper(ground, tmp_path, verb, target, more, words):
    from jim.reading.job.effects import refuse_on_wave
    from jim.reading.view import View

    on_wave(ground, tmp_path)
    slices = inbox.slices_of(target)[1]
    view, job = View(ground.site, ground.store), ground.store.grid_job(1)
    with pytest.raises(BadRequest) as error:
        refuse_on_wave(view, job, {"verb": verb, "target": target, **more}, slices)
    assert str(error.value).startswith(words)
    inbox.wish(ground.site.state, verb, target, **more)
    ground.go(3)
    (line,) = [line.reason for line in ground.store.journals.of(1) if line.now == f"{verb} changes nothing"]
    assert line.startswith(words)
    assert list((ground.site.state / "inbox").iterdir()) == []
    assert ground.pieces() == ["completed", "failed", "sent"]


def test_cancel_retry_and_force_failed_are_followed(ground, tmp_path):
    on_wave(ground, tmp_path)
    inbox.wish(ground.site.state, "cancel", "1.2", by="alice, by the command line")
    ground.until(lambda: ground.counts("pieces").get("failed") == 2, seconds=10.0)
    assert [each.reason for each in ground.store.pieces.failed(1)] == ["exit 3", "cancelled by alice"]
    ground.go(30, 20.0)
    assert ground.task().state is TaskState.FINISHED
    inbox.wish(ground.site.state, "retry", "1.1-2", by="alice, by the command line")
    ground.go(3)
    assert ground.counts("pieces") == {"completed": 1, "sent": 2}
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == {"a": 1, "b": 1, "c": 1}


def test_a_priority_of_a_wave_is_followed_until_the_task_gets_another_one(ground):
    ground.start(events(8, 2, "priority = 3\nrelease = { at_once = 2, every_seconds = 0 }"))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    assert ground.store.grid_job(1).priority == 3
    inbox.wish(ground.site.state, "priority", "1", priority=7, by="alice, by the command line")
    ground.go(2)
    assert ground.store.grid_job(1).priority == 7
    ground.batch.start("1", 1)
    ground.go(10, 20.0)
    ground.restart()
    ground.end()
    ground.until(lambda: len(ground.batch.tasks) == 3)
    ground.go(3)
    assert [job.priority for job in ground.store.grid_jobs()] == [7, 3], "the task leaves alone what a person has said"
    ground.ask("priority", priority=5)
    ground.go(3)
    assert [job.priority for job in ground.store.grid_jobs()] == [5, 5]
    ground.until_state(TaskState.FINISHED)
    assert whole(ground.ranges(), 1, 8)


def test_suspend_and_resume_of_a_wave_are_followed(ground):
    ground.start(events(8, 2))
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.wish("suspend", "1")
    ground.until(lambda: ground.store.counts(1) == {State.HELD: 4})
    ground.go(20, 20.0)
    assert ground.store.counts(1) == {State.HELD: 4}, "the task leaves alone what a person has suspended"
    ground.wish("resume", "1")
    ground.until(lambda: ground.store.counts(1) == {State.SUBMITTED: 4})
    ground.until_state(TaskState.FINISHED)
    assert whole(ground.ranges(), 1, 8)


def test_what_a_person_cancels_counts_in_no_throttle_and_is_not_tried_again(ground):
    ground.start(events(40, 1, "release = { first = 5, at_once = 20, probe_seconds = 10 }"))
    ground.until(lambda: len(ground.batch.tasks) == 5)
    before = ground.task().throttle
    inbox.wish(ground.site.state, "cancel", "1", by="alice, by the command line")
    ground.until(lambda: ground.counts("pieces").get("failed") == 5, seconds=2.0)
    assert {each.reason for each in ground.store.pieces.failed(1)} == {"cancelled by alice"}
    assert ground.task().throttle == before
    ground.until_state(TaskState.FINISHED)
    assert ground.counts("pieces") == {"completed": 35, "failed": 5}


def test_each_test_has_new_grid_jobs_and_is_judged_alone(ground):
    ground.create(events(4, 2))
    ground.ask("test")
    ground.restart()
    ground.until_state(TaskState.CONFIGURED, code=3)
    ground.ask("test")
    ground.until_state(TaskState.READY)
    ground.create(events(6, 3))
    ground.ask("test")
    ground.until_state(TaskState.READY)
    assert [job.request["name"] for job in ground.store.grid_jobs()] == ["t:test 1.1", "t:test 2.1", "t:test 1.1"]
    assert len({job.key for job in ground.store.grid_jobs()}) == 3


@pytest.mark.parametrize("kill_after", sampled([2, 5, 0, 1, 3, 4, 6, 7, 8, 9], 2))
def test_a_keeper_that_is_killed_after_any_round_of_a_test_hands_in_no_second_one(ground, kill_after):
    def one_more(verb, end, code=0):
        inbox.task_wish(ground.site.state, verb, "t", by="somebody")
        for n in range(10):
            if n == kill_after:
                ground.restart()
            ground.go()
            ground.work(code)
        ground.until_state(end, code=code)

    ground.create(events(4, 2))
    one_more("test", TaskState.CONFIGURED, code=3)
    one_more("test", TaskState.READY)
    ground.create(events(6, 3))
    one_more("test", TaskState.READY)
    assert [job.request["name"] for job in ground.store.grid_jobs()] == ["t:test 1.1", "t:test 2.1", "t:test 1.1"]
    assert [job.outcome for job in ground.store.grid_jobs()] == ["failed", "completed", "completed"]
    assert (ground.counts("pieces"), ground.counts("items")) == ({}, {"available": 1})


def test_a_test_of_a_task_that_runs_ends_with_the_task_if_that_is_cancelled(ground):
    ground.start(events(40, 10, "release = { first = 2, at_once = 2, every_seconds = 0 }"))
    ground.ask("test", pieces=2)
    ground.ask("cancel")
    ground.until_state(TaskState.CANCELLED)
    assert not ground.store.waves.live(1)
    assert ground.ranges() == [], "and nothing of it goes on"


@pytest.mark.parametrize(("code", "verdict"), [(0, "passed"), (3, "failed")])
def test_a_task_that_runs_may_be_tested_and_nothing_of_it_changes(ground, code, verdict):
    release = "release = { first = 2, at_once = 2, every_seconds = 0 }"
    ground.start(events(40, 10, release))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    before = ground.task()
    ground.ask("test", pieces=2)
    ground.restart()
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    for key in [key for key in ground.batch.tasks if key not in (("1", 1), ("1", 2))]:
        ground.batch.finish(*key, code=code)
    ground.until(lambda: not ground.task().throttle["trying"])
    assert any(line.startswith(f"test 1 {verdict}") for line in ground.journal())
    now = ground.task()
    assert (now.state, now.reason, now.tested, ground.counts("pieces")) == (
        *(before.state, "", before.tested),
        {"sent": 2, "ready": 2},
    )
    assert now.throttle == {**before.throttle, "trying": 0}, "a test counts for no throttle"
    ground.end()
    ground.until_state(TaskState.FINISHED)
    assert whole(ground.ranges(), 1, 40)


def test_what_is_sent_along_is_kept_as_it_was(ground, tmp_path):
    program, check = tmp_path / "p.sh", tmp_path / "sane.sh"
    for file in (program, check):
        file.write_text("#!/bin/sh\nexit 0\n")
        file.chmod(0o755)
    ground.create(
        """
        [[task]]
        name = "t"
        [task.request]
        job_type = "executable"
        executable = "p.sh"
        inputs = ["p.sh"]
        arguments = ["$FirstEvent", "$LastEvent"]
        [task.test]
        check = ["./sane.sh"]
        [[task.source]]
        events = 4
        events_per_piece = 2
        """
    )
    check.write_text("#!/bin/sh\nexit 1\n")
    program.unlink()
    ground.ask("test")
    ground.until_state(TaskState.READY)
    ground.ask("start")
    ground.until_state(TaskState.FINISHED)
    (kept,) = (ground.site.state / "tasks").iterdir()
    assert (kept / "inputs/0/p.sh").read_text() == "#!/bin/sh\nexit 0\n"
    sent = {tuple(job.request["inputs"]) for job in ground.store.grid_jobs()}
    assert sent == {(str(kept / "inputs/0/p.sh"),)}


@pytest.mark.parametrize(("pool", "shown"), [("d*", {"d.dat", "d.dat.json"}), ("", {"d.dat", "d.dat.json", "stdout"})])
def test_a_check_is_shown_the_files_of_the_output_pools_or_all_if_there_are_none(ground, tmp_path, pool, shown):
    check = tmp_path / "sane.sh"
    check.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/shown\n')
    check.chmod(0o755)
    ground.brings = lambda _: {"d.dat": b"1", "d.dat.json": b"{}", "stdout": b""}
    output = f'output = [ {{ name = "d", files = "{pool}", about = ".json" }} ]' if pool else ""
    text = events(4, 2, f'test = {{ check = ["./sane.sh"], pieces = 1 }}\n{output}')
    ground.create(text.replace('"$LastEvent"]', '"$LastEvent"], outputs = ["d.*"]'))
    ground.ask("test")
    ground.until_state(TaskState.READY)
    assert {Path(each).name for each in (tmp_path / "shown").read_text().split()} == shown


def test_a_second_pause_lets_nothing_stay_suspended_for_ever(ground):
    ground.start(events(4, 1))
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.ask("pause", suspend=True)
    ground.go(3)
    assert {each.state for each in ground.batch.tasks.values()} == {State.HELD}
    ground.ask("pause")
    ground.go(3)
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED)
    assert whole(ground.ranges(), 1, 4)
    assert len(ground.batch.tasks) == 4


@pytest.mark.parametrize("verb", ["recover", "retry"])
def test_what_a_person_has_given_up_is_not_recovered(ground, tmp_path, verb):
    ground.start(files(tmp_path, *TEN[:6], size=2))
    ground.until_state(TaskState.FINISHED, code=3)
    ground.ask("drop", items=[*TEN[:3]], reason="broken")
    ground.ask(verb)
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    given_up = TEN[:3] if verb == "recover" else TEN[:2]  # a piece is tried again as it is
    assert ground.done() == dict.fromkeys(set(TEN[:6]) - set(given_up), 1)
    assert {name for name, state in ground.items().items() if state == "dropped"} == set(TEN[:3])


def test_a_file_of_a_recovered_piece_can_be_given_up_before_that_is_sent(ground, tmp_path):
    ground.start(files(tmp_path, *TEN[:4], size=2))
    ground.until_state(TaskState.FINISHED, code=3)
    ground.ask("throttle", at_once=0)
    ground.ask("recover")
    ground.until(lambda: ground.counts("pieces") == {"replaced": 2, "ready": 2})
    ground.ask("drop", items=[TEN[0]], reason="broken")
    assert ground.journal()[-1] == "drop: 1 of 1 dropped"
    ground.ask("throttle", at_once=9)
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == dict.fromkeys(TEN[1:4], 1)


@pytest.mark.parametrize("restarted", [True, False])
@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_jump_of_the_clock_is_no_waiting(ground, tmp_path, jump, restarted):
    names = [f"/data/{n:02}" for n in range(12)]
    text = files(tmp_path, *names, size=10, closed=False)
    ground.start(text.replace("split = { ", "split = { max_wait_seconds = 3_600, "))
    ground.until(lambda: ground.counts("pieces"))
    ground.go(1, 1800.0)
    ground.clock.jumped += jump
    if restarted:
        ground.restart()
    ground.go(3, 400.0)
    assert ground.counts("items") == {"acquired": 10, "available": 2}, "they have waited for at most 3,000 s"
    ground.go(2, 400.0)
    ground.go(2)
    assert len(ground.pieces()) == 2


def test_a_clock_that_is_set_back_lets_nothing_wait_longer(ground, tmp_path):
    day = 86_400.0
    names = [f"/data/{n:02}" for n in range(12)]
    text = files(tmp_path, *names, size=10, closed=False, more="release = { first = 5, probe_seconds = 600 }")
    ground.start(text.replace("split = { ", "split = { max_wait_seconds = 3_600, "))
    ground.until(lambda: ground.counts("pieces"))
    ground.clock.jumped -= day
    ground.go(3, 20.0)
    ground.work()
    assert ground.counts("items") == {"acquired": 10, "available": 2}
    ground.go(5, 800.0)
    ground.go(2)
    assert len(ground.pieces()) == 2


@pytest.mark.torture
def test_a_clock_that_is_set_back_in_a_bad_time_holds_back_no_probe(tmp_path, monkeypatch):
    later = {"now": 200_000.0, "id": "boot-1", "jumped": 0.0}  # else it would be set back to before 1970
    monkeypatch.setattr("tests.support.stand_ins.StandInClock.__init__", lambda clock: vars(clock).update(later))
    ground = in_a_bad_time(tmp_path, monkeypatch, 30)
    ground.clock.jumped -= 86_400.0
    assert 5 <= fails(ground, 3600.0) <= 9
    ground.until_state(TaskState.FINISHED, seconds=20.0)
    assert ground.done() == {f"/data/{n:03}": 1 for n in range(100)}


def above_and_below(release: str) -> str:
    """Return two tasks, of which the first has the higher priority."""
    return "".join(
        f'[[task]]\nname = "{name}"\n{EVENTS}\npriority = {priority}\n'
        f"source = [ {{ events = 30, events_per_piece = 1, first_event = {first} }} ]\n"
        f"release = {{ every_seconds = 0{more} }}\n"
        for name, priority, first, more in (("above", 10, 1, release), ("below", 0, 101, ""))
    )


def test_a_task_of_which_most_fails_holds_up_none_of_a_lower_priority(ground):
    ground.start(above_and_below(", first = 5, probe_seconds = 600"), "above")

    def fails():
        ground.work(code=3)
        return ground.task("above").throttle["a"] == 1 and not ground.counts("pieces", "above").get("sent")

    ground.until(fails, seconds=5.0)
    assert ground.counts("pieces", "above")["ready"]
    ground.ask("start", "below", untested=True)
    ground.go(5, 1.0)
    assert ground.counts("pieces", "below") == {"sent": 30}


def test_a_task_that_may_not_release_what_is_ready_holds_up_none_of_a_lower_priority(ground):
    ground.start(above_and_below(", queued = 4"), "above", "below")
    ground.go(5, 1.0)
    assert ground.counts("pieces", "above") == {"sent": 4, "ready": 26}
    assert ground.counts("pieces", "below") == {"sent": 30}


def test_it_is_told_which_task_of_a_higher_priority_goes_first(tmp_path, monkeypatch):
    ground = Ground(tmp_path, monkeypatch, limits=Limits(queued=10, per_submission=2))
    ground.start(above_and_below(""), "above", "below")
    ground.until(lambda: ground.counts("pieces", "above").get("sent") == 8)
    view = View(ground.site, ground.store, ground.clock)
    ready = "30 pieces are ready; "
    assert f"{ready}all tasks together may have no more on the way (limits)" in waits_of(view, ground.task("below"))
    more = View(ground.site._replace(limits=Limits(queued=100)), ground.store, ground.clock)
    assert f"{ready}above has a higher priority, and pieces to release" in waits_of(more, ground.task("below"))


def test_it_is_told_that_the_first_pieces_of_a_task_go_alone(tmp_path, monkeypatch):
    ground = Chain(tmp_path, monkeypatch)
    ground.create(ground.text())
    for name in ("gen", "reco"):
        ground.ask("start", name, untested=name == "gen")
    ground.until(lambda: ground.work() or ground.counts("pieces", "reco").get("sent"))
    ground.begin()
    ground.go(3)
    view = View(ground.site, ground.store, ground.clock)
    assert ground.counts("pieces", "reco")["sent"] == 1
    ready = ground.counts("pieces", "reco")["ready"]
    told = f"{ready} piece{'s are' if ready > 1 else ' is'} ready; its first pieces go alone"
    assert told in waits_of(view, ground.task("reco"))
