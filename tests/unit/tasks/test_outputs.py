"""What pieces bring into output pools: exactly once is judged by the files in the store, and the diary of payloads."""

from __future__ import annotations

import errno
import json
import os
import tarfile
from pathlib import Path

import pytest

from jim.errors import BadRequest
from jim.reading.tasks import waits as task_waits
from jim.reading.view import View
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import Ground, a_list, whole

EVENTS = (
    'request = { job_type = "executable", executable = "/bin/echo", arguments = ["$FirstEvent", "$LastEvent"], '
    'outputs = ["*.dat", "*.json"] }'
)


def text(store: object, more: str = "", many: int = 12) -> str:
    return f"""
        [[task]]
        name = "t"
        {EVENTS}
        source = [ {{ events = {many}, events_per_piece = 2, campaigns = 2 }} ]
        output = [ {{ name = "gen", files = "*.dat", store = "{store}" {more} }} ]
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


FIRSTS = range(1, 13, 2)
STORED = {f"t-{p:07}-{first}.dat": f"{first} to {first + 1}\n" for p, first in enumerate(FIRSTS)}


def test_outputs_are_stored_under_their_names(ground, store):
    ground.start(text(store))
    ground.until(lambda: ground.counts("pieces").get("ready") == 6 or len(ground.batch.tasks) == 6)
    assert ground.counts("output gen") == {"promised": 6}
    ground.until_state(TaskState.FINISHED)
    assert stored(store) == STORED
    assert ground.counts("output gen") == {"stored": 6}
    (output,) = ground.store.outputs.of_piece(1, 3)
    assert (output.name, output.place, output.bytes) == ("7.dat", str(store / "t-0000003-7.dat"), 7)


def test_without_a_store_outputs_stay_in_the_work_directory(ground, store):
    ground.start(text(store).replace(f', store = "{store}"', ""))
    ground.until_state(TaskState.FINISHED)
    places = [ground.store.outputs.of_piece(1, p)[0].place for p in range(6)]
    assert [Path(each).read_text() for each in places] == list(STORED.values())
    assert ground.counts("output gen") == {"verified": 6}


@pytest.mark.parametrize(("more", "brings"), [("", False), (', tar = "full"', True)])
def test_stored_outputs_are_not_in_the_tar_once_more(ground, store, more, brings):
    ground.start(text(store, many=4).replace('outputs = ["*.dat", "*.json"]', f'outputs = ["*.dat", "*.json"]{more}'))
    ground.until_state(TaskState.FINISHED)
    with tarfile.open(ground.store.grid_job(1).result["tar"]) as tar:
        names = tar.getnames()
    assert ("1.0/1.dat" in names) is brings
    assert {"summary.json", "jim/summary.json"} <= set(names)
    assert len(stored(store)) == 2


def test_an_output_tells_the_fix_that_its_attempt_was_sent_with(ground, store):
    ground.start(text(store, many=8))  # four pieces
    ground.until(lambda: len(ground.batch.tasks) == 4)
    ground.begin()
    ground.ask("fix", changes={"memory_mb": 4000})
    ground.batch.kill("1", 4)  # it is tried again, with the fix
    ground.until(lambda: len(ground.batch.tasks) == 5)
    ground.begin()
    ground.ask("fix", changes={"memory_mb": 5000})
    ground.batch.kill("1", 3)
    ground.until(lambda: len(ground.batch.tasks) == 6)
    ground.begin()
    ground.until_state(TaskState.FINISHED)
    assert [ground.store.outputs.of_piece(1, p)[0].fix for p in range(4)] == [0, 0, 2, 1]


@pytest.mark.parametrize(("each", "brought"), [(1, 0), (1, 2), (3, 2)])
def test_too_few_or_too_many_files_fail_the_piece(ground, store, each, brought):
    ground.brings = lambda words: {f"{words[0]}.{n}.dat": b"x" for n in range(brought)}
    ground.start(text(store, f", each = {each}", many=4))
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "with failures"
    reasons = {each.reason for each in ground.store.pieces.failed(1)}
    assert reasons == {f"promised {each} *.dat, brought {brought}"}
    assert ground.counts("output gen") == {"broken": 2 * each}
    assert stored(store) == {}
    ground.brings = lambda words: {f"{words[0]}.{n}.dat": b"x" for n in range(each)}
    ground.ask("retry")
    ground.until_state(TaskState.FINISHED)
    assert ground.task().outcome == "completed"
    assert len(stored(store)) == 2 * each
    assert len(set(ground.seeds)) == 4


def test_what_lacks_outputs_is_recovered(ground, store):
    ground.brings = lambda _: {}
    ground.start(text(store, many=4))
    ground.until_state(TaskState.FINISHED)
    ground.brings = lambda words: {f"{words[0]}.dat": b"x"}
    ground.ask("recover", parameters={"events_per_piece": 1})
    ground.until(lambda: ground.task().state is TaskState.RUNNING)
    ground.until_state(TaskState.FINISHED)
    assert sorted(stored(store)) == [f"t-{p:07}-{p - 1}.dat" for p in range(2, 6)]
    assert ground.counts("output gen") == {"replaced": 2, "stored": 4}


def test_only_the_output_of_the_attempt_that_counts_is_stored(ground, store):
    ground.start(text(store, many=4))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    ground.batch.finish("1", 1, code=None, signal=9, files=[("1.dat", b"half")])
    ground.until_state(TaskState.FINISHED)
    assert stored(store) == {name: STORED[name] for name in ("t-0000000-1.dat",)} | {"t-0000001-3.dat": "3 to 4\n"}


def test_any_number_of_files(ground, store):
    ground.brings = lambda words: {f"{n}.dat": b"x" for n in range(int(words[0]) // 2)}
    ground.start(text(store, ', each = "any"', many=8))
    ground.until_state(TaskState.FINISHED)
    assert sorted(stored(store)) == [
        f"t-000000{p}-{n}.dat" for p, n in [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
    ]
    assert ground.counts("output gen") == {"withdrawn": 1, "stored": 6}
    assert ground.task().outcome == "completed"


def test_a_file_tells_about_an_output(ground, store):
    about = {"events": 2, "runs": {"7": [1, 2]}, "colour": "red"}
    ground.brings = lambda words: {"1.dat": b"x", "1.dat.json": json.dumps(about).encode()}
    ground.start(text(store, ', about = ".json"', many=4))
    ground.until_state(TaskState.FINISHED)
    assert ground.store.outputs.of_piece(1, 0)[0].record == {"events": 2, "runs": {"7": [1, 2]}}
    assert sorted(stored(store)) == ["t-0000000-1.dat", "t-0000001-1.dat"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"1.dat": b"x", "1.dat.json": b"{"}, "1.dat.json: no JSON: "),
        ({"1.dat": b"x", "1.dat.json": b"[]"}, "1.dat.json: no table of facts"),
        ({"1.dat": b"x"}, "promised 1.dat.json about 1.dat, brought none"),
    ],
)
def test_a_file_about_an_output_that_makes_no_sense_fails_the_piece(ground, store, files, why):
    ground.brings = lambda _: files
    ground.start(text(store, ', about = ".json"', many=4))
    ground.until_state(TaskState.FINISHED)
    assert all(each.reason.startswith(why) for each in ground.store.pieces.failed(1))
    assert ground.counts("output gen") == {"broken": 2}
    assert stored(store) == {}


def test_another_file_of_that_name_is_never_replaced(ground, store):
    (store / "t-0000001-3.dat").write_text("another's")
    ground.start(text(store))
    ground.until(lambda: ground.work() or ground.counts("output gen").get("stored") == 5)
    (trouble,) = ground.store.outputs.in_trouble(1, 9)
    assert trouble.reason == f"{store}/t-0000001-3.dat is there with other content"
    assert ground.task().state is TaskState.RUNNING
    assert stored(store)["t-0000001-3.dat"] == "another's"
    (store / "t-0000001-3.dat").unlink()
    ground.until(lambda: ground.task().state is TaskState.FINISHED, seconds=30.0)
    assert stored(store) == STORED


@pytest.mark.parametrize("call", ["link", "fsync"])
def test_a_kill_after_the_link_stores_a_file_once(ground, store, monkeypatch, call):
    from jim.tasks.results import storing

    class Killed(BaseException):
        pass

    real = getattr(os, call)

    def killing(*arguments, **more):
        real(*arguments, **more)
        last = arguments[-1]
        path = Path(f"/proc/self/fd/{last}").readlink() if isinstance(last, int) else Path(last)
        if path.parent == store:
            raise Killed

    ground.start(text(store, many=4))
    with monkeypatch.context() as patch:
        patch.setattr(storing.os, call, killing)
        unlink = Path.unlink  # the dead remove no hidden copy
        patch.setattr(Path, "unlink", lambda path, **how: None if path.parent == store else unlink(path, **how))
        with pytest.raises(Killed):
            ground.until_state(TaskState.FINISHED)
    ground.restart()
    ground.until_state(TaskState.FINISHED)
    assert stored(store) == dict(list(STORED.items())[:1]) | {"t-0000001-3.dat": "3 to 4\n"}
    assert ground.counts("output gen") == {"stored": 2}


def test_a_full_store_is_waited_for(ground, store, monkeypatch):
    from jim.tasks.results import storing

    real = os.link

    def full(source, target):
        if store == target.parent:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    ground.start(text(store))
    with monkeypatch.context() as patch:
        patch.setattr(storing.os, "link", full)
        ground.until(lambda: ground.work() or len(ground.store.outputs.in_trouble(1, 9)) == 6)
        reasons = {each.reason for each in ground.store.outputs.in_trouble(1, 9)}
        assert reasons == {f"{store}: No space left on device"}
        told = [each.what for each in task_waits.waits(View(ground.site, ground.store, ground.clock), ground.task())]
        assert f"output gen of piece t/0 is not stored: {store}: No space left on device" in told
        ground.go(5, 5.0)
        ground.restart()
    assert stored(store) == {}
    ground.until(lambda: ground.task().state is TaskState.FINISHED, seconds=30.0)
    assert stored(store) == STORED
    assert ground.task().outcome == "completed"


def test_one_file_of_each_piece_needs_no_name_of_its_own(ground, store):
    ground.start(text(store, ', as = "$Task-$Piece.dat"', many=4))
    ground.until_state(TaskState.FINISHED)
    assert stored(store) == {"t-0000000.dat": "1 to 2\n", "t-0000001.dat": "3 to 4\n"}


def test_a_store_that_is_away_is_named_and_so_is_a_file_that_was_changed(ground, store):
    ground.start(text(store, many=4))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    store.rename(store.with_name("elsewhere"))
    ground.until(lambda: ground.work() or len(ground.store.outputs.in_trouble(1, 9)) == 2)
    assert {each.reason for each in ground.store.outputs.in_trouble(1, 9)} == {f"{store}: No such file or directory"}
    store.with_name("elsewhere").rename(store)
    left = [Path(ground.store.outputs.of_piece(1, p)[0].place) for p in range(2)]
    left[0].write_text("changed\n")
    left[1].write_text("1 to 9\n")
    ground.until(lambda: ground.work() or _told(ground) != {f"{store}: No such file or directory"})
    assert {each.rpartition(": ")[0] for each in _told(ground)} == set(map(str, left))


def half_stored(ground, store):
    """Store the output of one of two pieces."""
    ground.start(text(store, many=4))
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    ground.end_one("1", 1)
    ground.until(lambda: ground.counts("output gen").get("stored") == 1)


@pytest.mark.parametrize("restarts", [False, True])
def test_another_directory_in_place_of_a_store_is_never_filled(ground, store, restarts):
    half_stored(ground, store)
    store.rename(store.with_name("mounted"))
    store.mkdir()
    if restarts:
        ground.restart()
    ground.until(lambda: ground.work() or ground.store.outputs.in_trouble(1, 9))
    why = f"store {store} is another directory than before: it may not be mounted"
    assert _told(ground) == {why}
    told = task_waits.waits(View(ground.site, ground.store, ground.clock), ground.task())
    (next_,) = [each.next for each in told if each.what == f"output gen of piece t/1 is not stored: {why}"]
    assert next_ == (
        "mount it or put it back; it is tried again, at the latest after ten minutes; or say `jim task resume t` if "
        "the directory that is there now is meant"
    )
    ground.go(5, 100.0)
    assert stored(store) == {}
    assert ground.task().state is TaskState.RUNNING
    store.rmdir()
    store.with_name("mounted").rename(store)
    ground.until(lambda: ground.task().state is TaskState.FINISHED, seconds=100.0)
    assert stored(store) == {"t-0000000-1.dat": "1 to 2\n", "t-0000001-3.dat": "3 to 4\n"}


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_store_that_is_mounted_again_may_have_another_device_number(ground, store, is_empty):
    half_stored(ground, store)
    ground.store.set_fact("store 1 gen", f"1:{store.stat().st_ino}")
    if is_empty:
        (store / "t-0000000-1.dat").rename(store.with_name("away"))
        ground.until(lambda: ground.work() or ground.store.outputs.in_trouble(1, 9))
        assert stored(store) == {}
        store.with_name("away").rename(store / "t-0000000-1.dat")
    ground.until_state(TaskState.FINISHED, seconds=100.0)
    assert sorted(stored(store)) == ["t-0000000-1.dat", "t-0000001-3.dat"]
    assert ground.store.fact("store 1 gen") == f"{store.stat().st_dev}:{store.stat().st_ino}"


def test_resume_lets_a_running_task_store_into_another_directory(ground, store):
    half_stored(ground, store)
    ground.ask("resume")
    assert ground.journal()[-1] == "resume changes nothing: t is running"
    store.rename(store.with_name("old"))
    store.mkdir()
    ground.until(lambda: ground.work() or ground.store.outputs.in_trouble(1, 9))
    before = ground.task().throttle
    ground.ask("resume")
    assert ground.task().throttle == before
    ground.until_state(TaskState.FINISHED)
    assert stored(store) == {"t-0000001-3.dat": "3 to 4\n"}


def test_resume_of_a_paused_task_accepts_no_other_directory(ground, store):
    half_stored(ground, store)
    store.rename(store.with_name("mounted"))
    store.mkdir()
    ground.until(lambda: ground.work() or ground.store.outputs.in_trouble(1, 9))
    ground.ask("pause")
    ground.ask("resume")  # as `jim task resume --all` does after the machine was off
    ground.go(5, 100.0)
    assert stored(store) == {}


def test_what_is_known_of_a_store_goes_with_its_task(ground, store):
    half_stored(ground, store)
    ground.until_state(TaskState.FINISHED)
    assert ground.store.fact("store 1 gen")
    ground.ask("remove")
    assert ground.store.fact("store 1 gen") == ""


def _told(ground):
    return {each.reason for each in ground.store.outputs.in_trouble(1, 9)}


def test_outputs_of_a_test_are_in_no_pool_and_in_no_store(ground, store):
    ground.create(text(store))
    ground.ask("test")
    ground.until_state(TaskState.READY)
    assert stored(store) == {}
    assert ground.counts("output gen") == {}


def test_a_test_without_its_outputs_fails(ground, store):
    ground.brings = lambda _: {}
    ground.create(text(store))
    ground.ask("test")
    ground.until(lambda: ground.work() or ground.task().state is TaskState.CONFIGURED)
    assert ground.task().reason.endswith(".0: promised 1 *.dat, brought 0")
    assert ground.counts("output gen") == {}


def bring_what_cannot_be_stored(ground, store):
    """Let a piece bring a file of whose name the store has another one already."""
    ground.start(text(store))
    ground.until(lambda: len(ground.batch.tasks) == 6)
    (store / "t-0000000-1.dat").write_text("another's")
    ground.begin()
    ground.batch.finish("1", 1, files=[("1.dat", b"x")], extra=f"file 1 {X} 1.dat\n")


def test_a_cancelled_task_keeps_what_is_stored_and_waits_for_no_store(ground, store):
    bring_what_cannot_be_stored(ground, store)
    ground.ask("cancel")
    ground.until(lambda: ground.task().state is TaskState.CANCELLED, seconds=5.0)
    assert stored(store) == {"t-0000000-1.dat": "another's"}
    assert whole([(1, 2)], 1, 2)


def test_a_cancel_waits_for_no_late_try_of_a_store(ground, store):
    bring_what_cannot_be_stored(ground, store)
    ground.until(lambda: any(each.tries > 6 for each in ground.store.outputs.in_trouble(ground.task().id, 9)), 60.0)
    ground.ask("cancel")
    began = ground.clock.steady()
    ground.until(lambda: ground.task().state is TaskState.CANCELLED, seconds=5.0)
    assert ground.clock.steady() - began < 300, "the next try was due ten minutes after the last"


X = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("name = 'X', files = '*.dat'", "output.name: 'X': a name has 1 to 48 of a-z, 0-9 and -"),
        ("name = 'x'", "output.files: missing: say which files of a piece are meant"),
        (
            "name = 'x', files = 'x.txt'",
            "output.files: 'x.txt': the job type brings only stdout, stderr, \\*.dat, \\*.json",
        ),
        ("name = 'x', files = '*', each = 0", "output.each: 0: must be 1 or more"),
        ("name = 'x', files = '*', each = 'all'", 'output.each: expected a whole number, or "any"'),
        ("name = 'x', files = '*', fles = 1", "output.fles: unknown; did you mean 'files'?"),
        ("name = 'x', files = '*', store = '/nonexistent/x'", "output.store: /nonexistent/x: no such directory"),
        ("name = 'x', files = '*', as = '$Name'", "output.as: '\\$Name': it needs \\$Piece, or two files"),
        ("name = 'x', files = '*', each = 2, as = '$Piece'", "output.as: '\\$Piece': it needs \\$Name, or two files"),
        (
            "name='x', files='*', store='/tmp', as = '$Piece' }, { name='y', files='*', store='/tmp', as = '$Piece'",
            "output.as: '\\$Piece': two outputs are stored in /tmp under this name",
        ),
        ("name = 'x', files = '*', as = '$Group.$Piece'", "output.as: '\\$Group.\\$Piece': the task has no groups, so"),
        ("name = 'x', files = '*', as = '${Group}.$Piece'", "output.as: '\\${Group}.\\$Piece': the task has no groups"),
        ("name = 'x', files = '*', as = '$Nme'", "output.as: '\\$Nme': it may have \\$Task, \\$Piece"),
        ("name = 'x', files = '*', as = 'a/$Piece-$Name'", "output.as: .*: a name in the directory that store says"),
        ("name = 'x', files = '*', expects = { size = 1 }", "output.expects: expected { events = N }"),
        ("name = 'x', files = '*' }, { name = 'x', files = 'y*'", "output.name: 'x' is the name of two outputs"),
    ],
)
def test_what_is_wrong_in_an_output_is_told(ground, words, why):
    wrong = f"""
        [[task]]
        name = "t"
        {EVENTS}
        source = [ {{ events = 10 }} ]
        output = [ {{ {words} }} ]
        """
    with pytest.raises(BadRequest, match=why.replace("(", "\\(")):
        ground.create(wrong)
    assert ground.store.tasks.all() == []


def test_no_output_is_stored_under_a_hidden_name(ground, store, tmp_path):
    """A group may be empty also where another one is not; names of other groups are as they were said."""
    ground.brings = lambda words: {"out.dat": b"x"}
    ground.start(f"""
        [[task]]
        name = "t"
        request = {{ job_type = "executable", executable = "/bin/echo", outputs = ["*.dat"] }}
        source = [ {{ list = "{a_list(tmp_path, "run7-a", "run-b")}", group = "run(\\\\d*)" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
        output = [ {{ name = "gen", files = "*.dat", store = "{store}", as = "$Group.$Piece" }} ]
        """)
    ground.until(lambda: bool(ground.work()) or bool(ground.store.outputs.in_trouble(1, -1)), 60.0)
    ground.go(3, 60.0)
    (waits,) = ground.store.outputs.in_trouble(ground.task().id, -1)
    assert waits.reason == f"its name in the store, '.{waits.p:07}', would be hidden"
    assert sorted(stored(store)) == [f"7.{1 - waits.p:07}"]


def test_other_splits_of_files_bring_outputs_too(ground, store, tmp_path):
    ground.brings = lambda words: {"out.dat": words[0].encode()}
    ground.start(
        f"""
        [[task]]
        name = "t"
        request = {{ job_type = "executable", executable = "/bin/cat", arguments = ["$InputFiles"], outputs = ["*"] }}
        source = [ {{ list = "{a_list(tmp_path, *"abcde")}" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 2 }} }}
        output = [ {{ name = "out", files = "out.dat", store = "{store}", as = "$Piece.$Name" }} ]
        """
    )
    ground.until_state(TaskState.FINISHED)
    assert stored(store) == {"0000000.out.dat": "a,b", "0000001.out.dat": "c,d", "0000002.out.dat": "e"}


ABOUT = ', about = ".json"'


@pytest.mark.parametrize(
    ("more", "left", "told"),
    [
        ("", [], "5 of 5 attempts failed: allowance 5 → 2"),
        ("", [".dat"], "0 of 5 attempts failed: allowance 5 → 20"),
        (ABOUT, [".dat"], "5 of 5 attempts failed: allowance 5 → 2"),
        (ABOUT, [".dat", ".dat.json"], "0 of 5 attempts failed: allowance 5 → 20"),
        (ABOUT, [".dat", ".dat.json", "bad"], "5 of 5 attempts failed: allowance 5 → 2"),
    ],
)
def test_an_attempt_whose_piece_lacks_outputs_counts_as_failed(ground, store, more, left, told):
    content = b"{" if "bad" in left else b"{}"
    ground.brings = lambda words: {f"{words[0]}{each}": content for each in left if each != "bad"}
    ground.start(text(store, more, many=40) + "        release = { first = 5, at_once = 20 }")
    ground.until(lambda: len(ground.batch.tasks) == 5)
    ground.work()
    ground.until(lambda: any(line.startswith("throttle: ") for line in ground.journal()))
    assert [line for line in ground.journal() if line.startswith("throttle")] == [f"throttle: {told}"]


def test_a_broken_promise_is_a_failure_though_its_item_was_given_up(ground, store, tmp_path):
    ground.brings = lambda _: {"o.dat": b"x"}
    ground.start(
        f"""
        [[task]]
        name = "t"
        request = {{ job_type = "executable", executable = "/bin/echo", arguments = ["$InputFiles"], outputs = ["*"] }}
        source = [ {{ list = "{a_list(tmp_path, "/data/a", "/data/b")}" }} ]
        split = {{ splitter = "FileBased", parameters = {{ files_per_job = 1 }} }}
        output = [ {{ name = "o", files = "*.dat", store = "{store}" }} ]
        """
    )
    ground.until(lambda: len(ground.batch.tasks) == 2)
    ground.begin()
    ground.end_one("1", 1, code=3)
    ground.until(lambda: ground.counts("pieces").get("failed"))
    ground.ask("drop", items=["/data/a"], reason="bad")
    ground.end()
    ground.until(lambda: ground.task().state is TaskState.FINISHED)
    assert ground.items() == {"/data/a": "dropped", "/data/b": "completed"}
    assert ground.counts("output o") == {"broken": 1, "stored": 1}
    assert ground.task().outcome == "with failures"


def test_who_may_read_or_execute_an_output_may_so_its_copy(ground, store):
    ground.start(text(store))
    ground.until(lambda: len(ground.batch.tasks) == 6)
    before = os.umask(0o077)  # as in the keeper
    try:
        ground.begin()
        ground.end()
        for n, path in enumerate(sorted(ground.site.work.glob("**/*.dat"))):
            path.chmod((0o4775, 0o666, 0o500)[n] if n < 3 else 0o640)
        ground.until(lambda: ground.task().state is TaskState.FINISHED)
    finally:
        os.umask(before)
    modes = sorted(oct(path.stat().st_mode & 0o7777) for path in store.iterdir())
    assert modes == ["0o640"] * 3 + ["0o644", "0o700", "0o755"], "nobody else may write it, and it gives no rights"


def test_a_full_store_is_waited_for_no_longer_after_the_clock_is_set_back(ground, store):
    ground.start(text(store))
    ground.until(lambda: len(ground.batch.tasks) == 6)
    ground.go(1, 200_000.0)  # the stand-in of a clock begins in 1970
    store.rmdir()
    ground.work()
    ground.go(20, 5.0)
    ground.clock.jumped -= 86_400.0
    ground.go(2)
    store.mkdir()
    ground.until(lambda: ground.task().state is TaskState.FINISHED, seconds=20.0, rounds=60)
    assert stored(store) == STORED
