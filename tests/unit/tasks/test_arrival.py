"""Scenarios of files that arrive in a directory, by their numbers, on a clock that is set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jim.reading.tasks import effects as task_effects
from jim.reading.tasks import waits as task_waits
from jim.reading.tasks.facts import sums
from jim.reading.tasks.words import inputs_in_words
from jim.reading.view import View
from jim.statusdb.task_rows import TaskState
from jim.tasks.effects import TaskVerb
from tests.support.sampled import sampled
from tests.unit.tasks.ground import SH

TEXT = """\
[[task]]
name = "t"
%s
[[task.source]]
directory = "in"
files = "*.raw"
every_seconds = 10
stable_seconds = %d
group = 'run(\\d+)_'
closed_by = "END.*"
[task.split]
splitter = "FileBased"
parameters = { files_per_job = %d }
[task.release]
every_seconds = 0
%s
"""


class Arrival:
    """A directory into which somebody drops files, and the task that watches it."""

    def __init__(self, ground, stable=60, size=1, more=""):
        self.ground, self.place = ground, ground.place / "in"
        self.place.mkdir()
        ground.start(TEXT % (SH, stable, size, more))

    def drop(self, name, content="x"):
        path = self.place / name
        path.write_text(content)
        return str(path)

    def wait(self, seconds):
        """Let time pass, in looks."""
        for _ in range(int(seconds // 10)):
            self.ground.go(2)
            self.ground.go(1, 10.0)
        self.ground.go(2)

    def states(self):
        return {os.path.basename(name): state for name, state in self.ground.items().items()}  # noqa: PTH119

    def note(self, name):
        return self.ground.store.pools.item_named(self.ground.task().id, str(self.place / name)).note

    def waits(self):
        (source,) = self.ground.store.pools.sources(self.ground.task().id)
        return source.waits

    def end(self, seconds=10.0):
        """Close everything, and let all that is left be done."""
        self.drop("END.all")
        self.ground.until_state(TaskState.FINISHED, seconds=seconds)


def test_a_file_that_is_renamed_away_and_back_is_one_item(ground):
    there = Arrival(ground, stable=0)
    path = there.drop("run1_a.raw")
    there.wait(10)
    Path(path).rename(f"{path}.away")
    there.wait(30)
    Path(f"{path}.away").rename(path)
    there.end()
    assert ground.done() == {path: 1}


def test_a_file_that_grows_is_taken_once_with_its_last_size(ground):
    there = Arrival(ground)
    for n in range(60):
        path = there.drop("run1_a.raw", "x" * (n + 1))
        os.utime(path, (n, n))
        there.wait(10)
    assert there.states() == {}
    assert "run1_a.raw" in there.waits()
    there.wait(70)
    assert there.states() == {"run1_a.raw": "acquired"}
    assert ground.store.pools.item_named(1, path).size == 60
    there.end()
    assert ground.done() == {path: 1}


def test_a_file_comes_to_rest_though_its_keeper_is_killed_all_the_time(ground):
    there = Arrival(ground)
    path = there.drop("run1_a.raw")
    for _ in range(4):
        there.wait(20)
        ground.restart()
    assert there.states() == {"run1_a.raw": "acquired"}
    Path(path).unlink()
    ground.ask("throttle", at_once=0)
    there.drop("run1_b.raw")
    for _ in range(8):
        there.wait(20)
        ground.restart()
    assert there.states()["run1_b.raw"] == "acquired"
    Path(there.place / "run1_b.raw").unlink()
    for _ in range(6):
        there.wait(20)
        ground.restart()
    assert there.states()["run1_b.raw"] == "gone"


def test_a_file_comes_to_rest_anew_after_a_reboot(ground):
    there = Arrival(ground)
    there.drop("run1_a.raw")
    there.wait(50)
    ground.clock.id = "boot-2"
    ground.restart()
    there.wait(40)
    assert there.states() == {}
    there.wait(30)
    assert there.states() == {"run1_a.raw": "acquired"}


@pytest.mark.parametrize(
    "spoilt", ["", "half", "[]", '"missing": []', '"missing": {"x": 1}', '"ended": null', "[" * 99_999]
)
def test_what_looks_have_noted_may_be_spoilt(ground, spoilt):
    there = Arrival(ground)
    there.drop("run1_a.raw")
    there.wait(50)
    (file,) = (ground.site.state / "tasks").glob("*/seen.0")
    boot = f'"boot": "{ground.clock.boot_id()}", "missing": {{}}, "ended": []'
    file.write_text(f"{{{boot}, {spoilt}}}\n" if spoilt.startswith('"') else spoilt)
    ground.restart()
    there.wait(40)
    assert there.states() == {}, "it has to come to rest anew"
    there.wait(30)
    assert there.states() == {"run1_a.raw": "acquired"}


def test_an_end_that_is_seen_once_by_each_keeper_closes_its_run(ground):
    there = Arrival(ground, stable=0)
    there.drop("run1_a.raw")
    there.wait(10)
    there.drop("END.1")
    for _ in range(2):
        ground.restart()
        ground.go(3)
    group = ground.store.pools.group(ground.task().id, "1")
    assert group.closed


def test_a_file_that_is_renamed_into_place_is_taken_at_once(ground):
    there = Arrival(ground, stable=0)
    for name in ("run1_a.tmp", "run1_b.raw.part", ".run1_c.raw", "other.dat"):
        there.drop(name)
    there.wait(20)
    assert there.states() == {}
    Path(there.place / "run1_a.tmp").rename(there.place / "run1_a.raw")
    there.wait(10)
    assert there.states() == {"run1_a.raw": "acquired"}


def test_an_empty_file_waits_until_it_is_filled(ground):
    there = Arrival(ground)
    there.drop("run1_a.raw", "")
    there.drop("run1_b.raw", "")
    there.wait(100)
    assert there.states() == {}
    path = there.drop("run1_a.raw", "full")
    there.wait(80)
    assert there.states() == {"run1_a.raw": "acquired"}
    there.end()
    assert ground.done() == {path: 1}
    assert there.states() == {"run1_a.raw": "completed", "run1_b.raw": "left out"}
    assert (there.note("run1_b.raw"), ground.task().outcome) == ("it is empty", "completed")


@pytest.mark.parametrize("what", [{"group": "1"}, {}])
def test_a_file_that_is_empty_when_a_person_closes_its_group_is_left_out(ground, what):
    there = Arrival(ground, stable=0, size=10)
    path = there.drop("run1_a.raw")
    for name in ("run1_b.raw", "run2_c.raw"):
        there.drop(name, "")
    there.wait(20)
    ground.ask("close", **what)
    there.wait(20)
    others = {} if what else {"run2_c.raw": "left out"}
    assert there.states() == {"run1_a.raw": "acquired", "run1_b.raw": "left out", **others}
    there.end()
    assert ground.done() == {path: 1}


def test_a_file_that_is_empty_when_its_group_closes_is_taken_if_that_is_opened_again(ground):
    there = Arrival(ground, stable=0)
    path = there.drop("run1_a.raw", "")
    end = Path(there.drop("END.1"))
    there.wait(40)
    assert there.states() == {"run1_a.raw": "left out"}
    there.drop("run1_a.raw", "full")
    there.wait(40)
    assert there.states() == {"run1_a.raw": "left out"}, "that is final"
    end.unlink()
    ground.ask("reopen", group="1")
    there.wait(40)
    assert there.states() == {"run1_a.raw": "acquired"}
    there.end()
    assert ground.done() == {path: 1}


@pytest.mark.parametrize("how", sampled(["another", "away"]))
def test_a_directory_that_cannot_be_listed_proves_nothing(ground, how):
    there = Arrival(ground, stable=0, more="at_once = 0")
    path = there.drop("run1_a.raw")
    there.wait(10)
    Path(there.place).rename(f"{there.place}.mounted")
    if how == "another":
        there.place.mkdir()
    there.wait(3600)
    assert there.states() == {"run1_a.raw": "acquired"}
    (source,) = ground.store.pools.sources(1)
    assert source.since
    told = task_waits.waits(View(ground.site, ground.store, ground.clock), ground.task())
    (away,) = [each for each in told if "cannot be looked at" in each.what]
    assert (away.next.startswith("it is looked at again; no item changes meanwhile"), away.seen) == (True, source.since)
    assert ("reopen" in away.next) is (how == "another")
    assert ("No such file" in source.reason) if how == "away" else ("another directory" in source.reason)
    if how == "another":
        there.place.rmdir()
    Path(f"{there.place}.mounted").rename(there.place)
    ground.ask("throttle", at_once=5)
    there.wait(1000)
    there.end()
    assert ground.done() == {path: 1}
    assert not ground.store.pools.sources(1)[0].reason


def mounted_again(ground, there):
    """Let a keeper begin that knows the directory under another device number."""
    ground.go(2)
    ground.store.pools.set_source(1, 0, device=f"1:{there.place.stat().st_ino}")


def device_of(there):
    told = there.place.stat()
    return f"{told.st_dev}:{told.st_ino}"


def test_a_file_system_that_is_mounted_again_may_have_another_device_number(ground):
    there = Arrival(ground, stable=0)
    first = there.drop("run1_a.raw")
    there.wait(10)
    mounted_again(ground, there)
    second = there.drop("run1_b.raw")
    there.wait(20)
    (source,) = ground.store.pools.sources(1)
    assert (source.reason, source.device) == ("", device_of(there))
    there.end()
    assert ground.done() == {first: 1, second: 1}


@pytest.mark.torture
def test_an_empty_directory_on_another_device_may_be_a_mount_point(ground):
    there = Arrival(ground, stable=0, more="at_once = 0")
    path = there.drop("run1_a.raw")
    there.wait(10)
    mounted_again(ground, there)
    Path(path).rename(there.place.with_name("away"))
    there.wait(3600)
    assert there.states() == {"run1_a.raw": "acquired"}
    assert ground.store.pools.sources(1)[0].reason == "it is another directory than before: it may not be mounted"
    there.place.with_name("away").rename(path)
    ground.ask("throttle", at_once=5)
    there.wait(1000)
    there.end()
    assert ground.done() == {path: 1}


def another(there):
    """Put another directory in the place of one."""
    there.place.rename(f"{there.place}.before")
    there.place.mkdir()


def test_reopen_accepts_another_directory_once_that_was_told(ground):
    there = Arrival(ground, stable=0)
    first = there.drop("run1_a.raw")
    there.wait(10)
    another(there)
    second = there.drop("run1_b.raw")
    ground.ask("reopen")  # nobody has told of that directory yet
    there.wait(600)
    told = task_waits.waits(View(ground.site, ground.store, ground.clock), ground.task())
    (away,) = [each for each in told if "cannot be looked at" in each.what]
    assert away.next == (
        "it is looked at again; no item changes meanwhile; mount it, or say `jim task reopen t` if the directory that "
        "is there now is meant"
    )
    ground.ask("reopen")
    ground.go(2)
    (source,) = ground.store.pools.sources(1)
    assert (source.reason, source.device) == ("", device_of(there))
    there.end()
    assert ground.done() == {first: 1, second: 1}


def test_twelve_files_wait_to_be_ten_until_somebody_says_flush(ground):
    there = Arrival(ground, stable=0, size=10)
    names = [there.drop(f"run1_{n:02}.raw") for n in range(12)]
    there.wait(20)
    assert ground.counts("items") == {"acquired": 10, "available": 2}
    ground.ask("flush")
    there.wait(10)
    assert "1 group" in [each.reason for each in ground.store.tasks.journal(1, last=-1) if each.what == "flush"]
    assert ground.counts("items") == {"acquired": 12}
    assert [each.closed for each in ground.store.pools.groups(1)] == [""]
    there.end()
    assert ground.done() == dict.fromkeys(names, 1)


def test_an_end_closes_its_run_and_what_comes_after_is_late(ground):
    there = Arrival(ground, stable=0, size=10)
    one = [there.drop(f"run1_{n}.raw") for n in range(3)]
    two = [there.drop(f"run2_{n}.raw") for n in range(3)]
    there.wait(20)
    assert ground.pieces() == []
    there.drop("END.1")
    there.wait(40)
    assert ground.pieces() == ["sent"], "the rest of run 1"
    late = there.drop("run1_late.raw")
    there.wait(30)
    assert there.states()["run1_late.raw"] == "late"
    assert ground.counts("items") == {"acquired": 3, "available": 3, "late": 1}
    there.end()
    assert ground.done() == dict.fromkeys([*one, *two], 1)
    assert ground.task().outcome == "completed", "what is late delays nothing"
    ground.ask("reopen", group="1")
    ground.until_state(TaskState.FINISHED, seconds=10.0)
    assert ground.done() == dict.fromkeys([*one, *two, late], 1)


@pytest.mark.parametrize("how", ["paused", "without a keeper"])
def test_a_file_that_changes_while_nobody_looks_is_never_sent_with_its_old_size(ground, how):
    there = Arrival(ground, stable=30, more="at_once = 1")
    names = [there.drop(f"run1_{n}.raw") for n in range(2)]
    there.wait(60)
    assert ground.pieces() == ["sent", "ready"]
    if how == "paused":
        ground.ask("pause")
    ground.work()
    if how == "paused":
        there.wait(60)
        assert ground.pieces() == ["completed", "ready"]
    there.drop("run1_1.raw", "longer")
    if how == "paused":
        ground.ask("resume")
    else:
        ground.clock.now += 600.0
        ground.restart()
    ground.go(3)
    assert ground.pieces() == ["completed", "taken back"]
    there.wait(60)
    assert ground.pieces() == ["completed", "taken back", "sent"]
    assert ground.store.pools.item_named(ground.task().id, names[1]).size == 6
    there.end()
    assert ground.done() == dict.fromkeys(names, 1)
    assert there.note("run1_1.raw") == ""


def test_a_late_file_that_has_changed_is_never_sent_with_its_old_size(ground):
    there = Arrival(ground, stable=30)
    one, end = there.drop("run1_a.raw"), there.drop("END.1")
    there.wait(60)
    late = [there.drop(f"run1_late{n}.raw") for n in range(2)]
    there.wait(60)
    assert there.states() == {"run1_a.raw": "acquired", "run1_late0.raw": "late", "run1_late1.raw": "late"}
    there.drop("run1_late0.raw", "longer")
    Path(end).unlink()
    there.wait(60)
    ground.ask("reopen", group="1")
    there.wait(20)
    assert ground.counts("pieces") == {"sent": 1}, "they have to come to rest"
    there.wait(40)
    assert ground.counts("pieces") == {"sent": 3}
    task = ground.task()
    assert [ground.store.pools.item_named(task.id, each).size for each in late] == [6, 1]
    there.end()
    assert ground.done() == dict.fromkeys([one, *late], 1)
    assert {there.note(Path(each).name) for each in late} == {""}


def test_a_late_file_that_was_removed_is_gone(ground):
    there = Arrival(ground, stable=0)
    one = there.drop("run1_a.raw")
    there.drop("END.1")
    there.wait(30)
    late = Path(there.drop("run1_late.raw"))
    there.wait(20)
    assert there.states()["run1_late.raw"] == "late"
    late.unlink()
    there.wait(30)
    ground.ask("reopen", group="1")
    there.wait(60)
    assert there.states() == {"run1_a.raw": "acquired", "run1_late.raw": "gone"}
    there.end()
    assert ground.done() == {one: 1}


def test_a_file_that_is_removed(ground):
    there = Arrival(ground, stable=0, size=2, more="at_once = 1")
    names = {n: there.drop(f"run1_{n}.raw") for n in "abcdefg"}
    ground.until(lambda: ground.batch.tasks)
    ground.begin()
    assert ground.pieces() == ["sent", "ready", "ready"]
    for n in "acg":  # in a piece that runs, in one that is not sent, and in none
        Path(names[n]).unlink()
    there.wait(100)
    assert there.states() == {
        **dict.fromkeys(("run1_a.raw", "run1_b.raw", "run1_e.raw", "run1_f.raw"), "acquired"),
        "run1_d.raw": "available",
        **dict.fromkeys(("run1_c.raw", "run1_g.raw"), "gone"),
    }
    assert there.note("run1_a.raw") == "removed since"
    assert ground.pieces()[:2] == ["sent", "taken back"]
    ground.end()
    there.end()
    assert ground.done() == dict.fromkeys((names[n] for n in "abdef"), 1)
    Path(names["b"]).unlink()
    assert ground.counts("items") == {"completed": 5, "gone": 2}


def test_what_happens_to_files_after_their_source_was_closed(ground):
    there = Arrival(ground, stable=0, more="at_once = 1")
    names = {n: there.drop(f"run1_{n}.raw") for n in "abcd"}
    there.drop("END.all")
    there.wait(40)
    ground.begin()
    assert ground.pieces() == ["sent", "ready", "ready", "ready"]
    assert all(each.closed for each in ground.store.pools.sources(1))
    Path(names["b"]).unlink()
    there.drop("run1_c.raw", "longer than before")
    names["late"] = there.drop("run1_late.raw")
    there.wait(100)
    assert there.states() == {
        **dict.fromkeys(("run1_a.raw", "run1_d.raw"), "acquired"),
        "run1_b.raw": "gone",
        **dict.fromkeys(("run1_c.raw", "run1_late.raw"), "late"),
    }
    assert ground.pieces() == ["sent", "taken back", "taken back", "ready"]
    assert ground.journal().count("source closed: its end was seen") == 1
    ground.end()
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == {names["a"]: 1, names["d"]: 1}
    ground.ask("reopen")
    ground.until_state(TaskState.FINISHED, seconds=10.0)
    assert ground.done() == dict.fromkeys((names[n] for n in ("a", "c", "d", "late")), 1)
    assert ground.store.pools.item_named(1, names["c"]).size == len("longer than before")


def test_a_file_that_comes_while_a_person_opens_its_source_again_is_in_time(ground):
    there = Arrival(ground, stable=0, more="at_once = 1")
    names = [there.drop("run1_a.raw"), there.drop("run1_b.raw")]
    there.drop("END.all")
    there.wait(40)
    there.place.joinpath("END.all").unlink()
    names.append(there.drop("run1_c.raw"))
    ground.ask("reopen")
    there.wait(40)
    assert there.states() == dict.fromkeys(("run1_a.raw", "run1_b.raw", "run1_c.raw"), "acquired")
    there.end()
    assert ground.done() == dict.fromkeys(names, 1)


def test_a_run_stays_open_while_a_file_of_it_grows(ground):
    there = Arrival(ground, size=10)
    path = there.drop("run1_a.raw", "1")
    there.drop("END.1")
    for n in range(20):
        os.utime(path, (n, n))
        there.wait(10)
    assert [(each.grp, each.closed) for each in ground.store.pools.groups(1)] == []
    assert "run1_a.raw" in there.waits()
    there.wait(100)
    (group,) = ground.store.pools.groups(1)
    assert group.closed
    assert there.states() == {"run1_a.raw": "acquired"}
    there.end()
    assert ground.done() == {path: 1}


def test_it_is_told_which_file_holds_a_group_open_whose_end_was_seen(ground):
    there = Arrival(ground, size=100)
    paths = [there.drop(f"run{run}_{n}.raw") for run in (0, 1, 2) for n in range(3)]
    there.drop("END.1")
    there.drop("END.3")  # nothing of it waits
    for n in range(5):
        for each in paths:
            os.utime(each, (n, n))
        there.wait(10)

    def told():
        seen = View(ground.site, ground.store, ground.clock)
        return [each.what for each in task_waits.waits(seen, ground.task()) if "not taken" in each.what]

    assert [each[: each.index(" it has to rest")] for each in told()] == [
        f"the end of group 1 was seen, but file {there.place}/run1_0.raw is not taken yet:",
        f"file {there.place}/run0_0.raw is not taken yet:",
    ]
    assert told()[1].endswith(" s, and 7 other files")
    there.wait(100)
    assert ground.store.pools.group(1, "1").closed
    there.drop("run1_late.raw")
    there.drop("run0_late.raw")
    there.wait(10)
    assert [each[: each.index(" it has to rest")] for each in told()] == [
        f"file {there.place}/run0_late.raw is not taken yet:"
    ], "group 1 is closed"
    there.drop("END.all")
    there.wait(10)
    assert told()[0].startswith(f"the end of the source was seen, but file {there.place}/run0_late.raw is not taken")


def test_a_file_that_has_changed_before_it_is_sent_has_its_new_size(ground):
    there = Arrival(ground, more="at_once = 0")
    path = there.drop("run1_a.raw", "old")
    there.wait(80)
    assert ground.pieces() == ["ready"]
    there.drop("run1_a.raw", "longer than before")
    there.wait(20)
    assert (there.states(), ground.pieces()) == ({"run1_a.raw": "gone"}, ["taken back"])
    there.wait(80)
    assert there.states() == {"run1_a.raw": "acquired"}
    assert ground.store.pools.item_named(1, path).size == len("longer than before")
    ground.ask("throttle", at_once=3)
    there.end()
    assert ground.done() == {path: 1}


def mended(ground, content):
    """Let one of two files fail in a task that ends, write it anew, and recover the task."""
    there = Arrival(ground, stable=30, more="at_once = 5")
    good, bad = there.drop("run1_a.raw"), there.drop("run1_b.raw", "bad")
    there.drop("END.all")
    ground.until(lambda: len(ground.batch.tasks) == 2, seconds=10.0)
    ground.begin()
    ground.batch.finish("1", 2, code=3)
    ground.until_state(TaskState.FINISHED, seconds=10.0)
    assert (there.states(), ground.task().outcome) == (
        {"run1_a.raw": "completed", "run1_b.raw": "failed"},
        "with failures",
    )
    there.drop("run1_b.raw", content)
    ground.ask("recover")
    there.wait(20)
    return there, good, bad


@pytest.mark.parametrize("killed", [False, True])
def test_a_mended_file_that_is_recovered_is_worked_on_once_it_is_at_rest(ground, killed):
    there, good, bad = mended(ground, "longer than before")
    assert there.states()["run1_b.raw"] == "gone", "it has to rest first"
    assert ground.task().state is TaskState.RUNNING
    told = [each.what for each in task_waits.waits(View(ground.site, ground.store, ground.clock), ground.task())]
    assert f"1 item waits for its file to come to rest again: {bad} has changed" in told
    if killed:
        ground.restart()
    there.wait(60)
    assert there.states()["run1_b.raw"] == "acquired"
    assert ground.store.pools.item_named(ground.task().id, bad).size == len("longer than before")
    ground.until_state(TaskState.FINISHED, seconds=10.0)
    assert (ground.task().outcome, ground.done()) == ("completed", {good: 1, bad: 1})


def test_a_recovered_file_that_goes_away_is_waited_for_no_more(ground):
    there, _, bad = mended(ground, "longer than before")
    Path(bad).unlink()
    there.wait(120)
    assert (there.states()["run1_b.raw"], ground.task().state) == ("gone", TaskState.FINISHED)


def test_a_recovered_file_that_is_empty_is_left_out(ground):
    there, *_ = mended(ground, "")
    there.wait(60)
    assert (there.states()["run1_b.raw"], ground.task().state) == ("left out", TaskState.FINISHED)


def test_a_file_of_a_closed_group_that_has_changed_before_it_was_sent_is_late_once_it_is_at_rest(ground):
    there = Arrival(ground, stable=30, more="at_once = 0")
    there.drop("run1_a.raw")
    there.drop("END.all")
    there.wait(60)
    assert ground.pieces() == ["ready"]
    there.drop("run1_a.raw", "longer")
    there.wait(20)
    assert (there.states(), ground.task().state) == ({"run1_a.raw": "gone"}, TaskState.RUNNING)
    there.wait(60)
    assert (there.states(), ground.task().state) == ({"run1_a.raw": "late"}, TaskState.FINISHED)


@pytest.mark.parametrize("content", ["old", "longer than before"])
def test_a_file_that_is_removed_and_back_before_it_is_sent_waits_to_be_stable(ground, content):
    there = Arrival(ground, more="at_once = 0")
    path = there.drop("run1_a.raw", "old")
    there.wait(80)
    Path(path).unlink()
    there.wait(100)
    assert (there.states(), ground.pieces()) == ({"run1_a.raw": "gone"}, ["taken back"])
    there.drop("run1_a.raw", content)
    there.wait(40)
    assert there.states() == {"run1_a.raw": "gone"}, "it has to rest first"
    there.wait(60)
    assert there.states() == {"run1_a.raw": "acquired"}
    assert ground.store.pools.item_named(1, path).size == len(content)
    ground.ask("throttle", at_once=3)
    there.end()
    assert (ground.done(), there.note("run1_a.raw")) == ({path: 1}, "")
    sent = [ground.store.local_job(wave.grid, 0).piece.files for wave in ground.store.waves.all(1)]
    assert sent == [(path,)], "never the piece with the old size"


def test_a_file_that_has_changed_after_it_was_done_is_stale(ground):
    there = Arrival(ground, stable=0)
    path = there.drop("run1_a.raw", "old")
    ground.until(lambda: ground.batch.tasks)
    ground.work()
    there.wait(20)
    assert there.states() == {"run1_a.raw": "completed"}
    Path(there.drop("new.tmp", "another one")).rename(path)
    there.wait(30)
    assert there.note("run1_a.raw") == "stale: it has changed since"
    there.end()
    assert ground.done() == {path: 1}


def test_what_is_recovered_of_a_file_that_has_changed_is_no_longer_stale(ground):
    there = Arrival(ground, stable=0)
    path = there.drop("run1_a.raw", "old")
    ground.until(lambda: ground.batch.tasks)
    ground.work(code=3)
    there.wait(20)
    Path(there.drop("new.tmp", "another one")).rename(path)
    there.wait(30)
    assert (there.states(), there.note("run1_a.raw")) == ({"run1_a.raw": "failed"}, "stale: it has changed since")
    ground.ask("recover")
    ground.until(lambda: there.states() == {"run1_a.raw": "acquired"})
    assert there.note("run1_a.raw") == ""
    there.end()
    assert (ground.done(), there.note("run1_a.raw")) == ({path: 1}, "")


def test_items_are_added_and_dropped_by_people(ground):
    there = Arrival(ground, stable=0, more="at_once = 0")
    ground.ask("add", items=["/x/run1_a", "/x/run1_b", "/x/no-run"])
    there.wait(10)
    ground.ask("drop", items=["/x/run1_b"], reason="it is broken")
    assert ground.items() == {"/x/run1_a": "acquired", "/x/run1_b": "dropped"}
    ground.ask("close")
    ground.ask("throttle", at_once=2)
    ground.until_state(TaskState.FINISHED)
    ground.ask("add", items=["/x/run1_c"])
    assert "'jim task add --reopen' opens it again" in ground.journal()[-1]
    ground.ask("add", items=["/x/run1_c"], reopen=True)
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == {"/x/run1_a": 1, "/x/run1_c": 1}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("*.raw", ["a.raw"]),
        ("*/*.raw", ["d/a.raw"]),
        ("**/*.raw", ["a.raw", "d/a.raw", "d/e/a.raw"]),
        ("d/**/a.*", ["d/a.raw", "d/a.dat", "d/e/a.raw"]),
        ("[ab].raw", ["a.raw"]),
    ],
)
def test_a_pattern_means_names_below_the_directory(text, names):
    from jim.tasks.sources.directory import pattern

    every = ["a.raw", "c.raw", "d/a.raw", "d/a.dat", "d/e/a.raw"]
    found = [name for name in every if pattern(text)(name)]
    assert found == sorted({*names, *(["c.raw"] if text in ("*.raw", "**/*.raw") else [])}, key=every.index)


def test_a_test_waits_for_files_that_come_to_rest(ground):
    place = ground.place / "in"
    place.mkdir()
    (place / "run1_a.raw").write_text("x")
    ground.create(TEXT % (SH, 60, 1, ""))
    ground.ask("test")
    ground.go(2)
    told = [each.what for each in task_waits.waits(View(ground.site, ground.store, ground.clock), ground.task())]
    assert any("run1_a.raw is not taken yet: it has to rest" in each for each in told)
    for _ in range(9):
        ground.go(2)
        ground.go(1, 10.0)
    ground.until_state(TaskState.READY, seconds=10.0)


@pytest.mark.parametrize(("name", "which"), [("run1_b.raw", {}), ("run2_b.raw", {}), ("run2_b.raw", {"group": "2"})])
def test_a_file_that_has_not_come_to_rest_when_a_person_closes_the_pool_is_told_and_may_still_be_taken(
    ground, name, which
):
    there = Arrival(ground, stable=60)
    first, path = there.drop("run1_a.raw"), str(there.place / name)
    ground.until(lambda: ground.done() == {first: 1} or ground.work(), seconds=10.0)
    there.drop(name, "half")
    ground.ask("close")
    ground.until_state(TaskState.FINISHED, seconds=10.0)
    assert there.states() == {"run1_a.raw": "completed", name: "left out"}
    assert there.note(name) == "it had not come to rest when its group was closed"
    there.drop(name, "all of it")
    ground.ask("reopen", **which)
    there.wait(30)
    assert there.states()[name] == "gone"  # until it has come to rest
    there.wait(120)
    ground.until(lambda: ground.done() == {first: 1, path: 1} or ground.work(), seconds=10.0)


def test_a_file_that_is_empty_again_at_the_next_closing_is_left_out_again(ground):
    there = Arrival(ground, stable=0)
    one = there.drop("run1_a.raw")
    there.drop("run1_empty.raw", "")
    end = Path(there.drop("END.1"))
    there.wait(30)
    assert (there.states()["run1_empty.raw"], there.note("run1_empty.raw")) == ("left out", "it is empty")
    end.unlink()
    ground.ask("reopen", group="1")
    there.wait(30)
    end.touch()
    there.wait(30)
    assert (there.states()["run1_empty.raw"], there.note("run1_empty.raw")) == ("left out", "it is empty")
    there.end()
    assert ground.done() == {one: 1}


def test_a_file_that_has_not_come_to_rest_at_the_second_closing_either_is_left_out_again(ground):
    there = Arrival(ground, stable=60)
    there.drop("run1_a.raw")
    there.wait(100)
    there.drop("run1_b.raw", "half")
    for _ in range(2):
        ground.ask("close")
        ground.until_state(TaskState.FINISHED, seconds=10.0)
        assert there.states() == {"run1_a.raw": "completed", "run1_b.raw": "left out"}
        assert there.note("run1_b.raw") == "it had not come to rest when its group was closed"
        told = {
            each.what: each.next
            for each in task_waits.waits(View(ground.site, ground.store, ground.clock), ground.task())
        }
        assert "`jim task reopen t` takes files that have content and are at rest by then" in told["1 item is left out"]
        ground.ask("reopen")
        ground.go(2)


def test_closing_tells_of_files_that_have_not_come_to_rest(ground):
    there = Arrival(ground, stable=60)
    there.drop("run1_a.raw")
    there.wait(20)
    view = View(ground.site, ground.store, ground.clock)
    words = task_effects.effect(view, TaskVerb.CLOSE, ground.task(), {}).words
    assert "1 file has not come to rest, and is left out; `jim task reopen t` takes it" in words


def test_a_test_of_an_empty_directory_has_nothing_to_test(ground):
    (ground.place / "in").mkdir()
    ground.create(TEXT % (SH, 60, 1, ""))
    ground.ask("test")
    ground.until_state(TaskState.CONFIGURED)
    assert any("no source has an item" in line for line in ground.journal())


def test_what_another_source_brings_is_not_missing_in_a_directory(ground, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}1.raw").write_text("x")
    (tmp_path / "a" / "a1.dat").write_text("x")
    (tmp_path / "names.txt").write_text(f"/elsewhere/x\n{tmp_path}/a/to-come.raw\n")
    ground.start(
        f"""
        [[task]]
        name = "t"
        {SH}
        source = [
            {{ directory = "a", files = "*.raw", stable_seconds = 0, every_seconds = 5 }},
            {{ directory = "a", files = "*.dat", stable_seconds = 0, every_seconds = 5 }},
            {{ directory = "b", stable_seconds = 0, every_seconds = 5 }},
            {{ list = "names.txt", every_seconds = 5 }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 10 }} }}
        """
    )
    ground.until(lambda: len(ground.items()) == 5)
    ground.ask("add", items=["/more/y"])
    ground.go(30, 30.0)
    assert ground.counts("items") == {"available": 6}
    (tmp_path / "b" / "b1.raw").unlink()
    ground.go(30, 30.0)
    assert ground.counts("items") == {"available": 5, "gone": 1}


def test_a_file_that_is_back_as_it_was_is_no_longer_noted_as_removed(ground):
    there = Arrival(ground, stable=0)
    path = there.drop("run1_a.raw")
    ground.until(lambda: ground.batch.tasks)
    ground.work()
    Path(path).rename(f"{path}.away")
    there.wait(100)
    assert (there.states(), there.note("run1_a.raw")) == ({"run1_a.raw": "completed"}, "removed since")
    view = View(ground.site, ground.store, ground.clock)
    assert inputs_in_words(sums(view, ground.task())) == "1 removed since", "counted, and not stale"
    Path(f"{path}.away").rename(path)
    there.wait(30)
    assert there.note("run1_a.raw") == ""
    assert inputs_in_words(sums(view, ground.task())) == ""
    there.end()
    assert ground.done() == {path: 1}


def test_a_file_that_was_named_before_it_came_to_rest_is_not_stale(ground):
    there = Arrival(ground, stable=60)
    path = str(there.place / "run1_a.raw")
    ground.ask("add", items=[path])
    ground.until(lambda: ground.counts("items") == {"completed": 1} or ground.work())
    there.drop("run1_a.raw", "xyz")
    there.wait(200)
    assert there.note("run1_a.raw") == ""
    there.drop("run1_a.raw", "longer")
    there.wait(700)  # the directory itself does not change
    assert there.note("run1_a.raw").startswith("stale")
    there.end()
    assert ground.done() == {path: 1}


def test_what_is_noted_of_a_file_that_is_cleaned_up_lets_the_directory_rest(ground, monkeypatch):
    from jim.tasks.sources import directory

    there = Arrival(ground, stable=0)
    path = Path(there.drop("run1_a.raw"))
    ground.until(lambda: ground.counts("items") == {"completed": 1} or ground.work(), seconds=10.0)
    path.unlink()
    there.wait(200)
    assert there.note("run1_a.raw") == "removed since"
    listed = []
    real = directory._files
    monkeypatch.setattr(directory, "_files", lambda *told: [listed.append(1), *real(*told)][1:])
    there.wait(200)
    assert listed == []


def test_a_file_whose_name_cannot_be_printed_is_told(ground):
    there = Arrival(ground, stable=0)
    there.drop("run1_a\n.raw")
    there.wait(20)
    assert there.states() == {}
    view = View(ground.site, ground.store, ground.clock)
    told = [each for each in task_waits.waits(view, ground.task()) if "not taken yet" in each.what]
    assert [each.what.partition("/in/")[2] for each in told] == [
        r"run1_a\n.raw is not taken yet: its name has characters that cannot be printed"
    ]
    assert told[0].next.startswith("it is never taken; rename it")
    there.end()
    assert ground.done() == {}


def test_links_that_lead_nowhere_keep_no_other_file_from_being_taken(ground):
    there = Arrival(ground, stable=0)
    path = there.drop("run1_a.raw")
    for name, target in (("b", "/nowhere"), ("c", "run1_c.raw"), ("d", f"{path}/x")):
        (there.place / f"run1_{name}.raw").symlink_to(target)
    there.end()
    assert ground.done() == {path: 1}


def test_all_that_is_dropped_of_one_piece_that_was_not_sent_is_given_up(ground):
    there = Arrival(ground, stable=0, size=3, more="at_once = 0")
    paths = [there.drop(f"run1_{n}.raw") for n in range(6)]
    there.drop("END.all")
    there.wait(40)
    assert ground.pieces() == ["ready", "ready"]
    ground.ask("drop", items=[paths[0], paths[1], paths[3], paths[4]], reason="broken")
    assert sorted(there.states().values()) == ["acquired", "acquired", *["dropped"] * 4]
    assert "drop: 4 of 4 dropped" in ground.journal()
    ground.ask("throttle", at_once=5)
    ground.until_state(TaskState.FINISHED, seconds=10.0)
    assert ground.done() == {paths[2]: 1, paths[5]: 1}
