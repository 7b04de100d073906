"""Scenarios of a catalogue and of a program as sources, by their numbers, on a clock that is set."""

from __future__ import annotations

import json
import threading

import pytest

from jim import cli
from jim.clock import Clock
from jim.errand import Errand
from jim.errors import BadRequest, JimError
from jim.keeper.workers import Workers
from jim.site.file import General
from jim.statusdb.task_rows import TaskState
from jim.statusdb.task_spec import SourceSpec
from jim.tasks.moves import Tasks
from jim.tasks.sources import command, lists
from tests.unit.tasks.ground import SH, Ground, a_list

TEXT = """\
[[task]]
name = "t"
%s
[[task.source]]
%s
every_seconds = 10
[task.split]
splitter = "FileBased"
parameters = { files_per_job = %d }
[task.release]
every_seconds = 0
"""


@pytest.fixture
def ground(tmp_path, monkeypatch):
    """A keeper driven by hand, whose site has a catalogue."""
    (tmp_path / "catalogue/datasets").mkdir(parents=True)
    return Ground(tmp_path, monkeypatch, site=General(catalogue=str(tmp_path / "catalogue")))


def dataset(ground, *names, is_open=True):
    told = {"files": [{"lfn": name, "size": 7} for name in names], "open": is_open}
    (ground.place / "catalogue/datasets/raw.json").write_text(json.dumps(told))


def wait(ground, seconds=10):
    """Let time pass, in looks; what is sent is done meanwhile."""
    for _ in range(int(seconds // 10)):
        ground.go(3)
        ground.work()
        ground.go(1, 10.0)
    ground.go(3)
    ground.work()
    ground.go(3)


def source(ground):
    (found,) = ground.store.pools.sources(ground.task().id)
    return found


# A dataset


def test_a_catalogue_that_is_away_when_a_task_is_created_is_told(ground):
    (ground.place / "catalogue/datasets/raw.json").write_text("{")
    with pytest.raises(BadRequest, match=r"source\.dataset: the catalogue cannot be asked: JIM cannot read "):
        ground.create(TEXT % (SH, 'dataset = "raw"', 1))
    assert ground.store.tasks.all() == []
    dataset(ground, "/d/1")
    with pytest.raises(BadRequest, match=r"source\.dataset: there is no dataset 'ra' in the .*; did you mean 'raw'\?"):
        ground.create(TEXT % (SH, 'dataset = "ra"', 1))


def test_what_a_source_was_the_first_to_bring_and_what_closes_it_is_told(ground, capsys, monkeypatch):
    monkeypatch.setenv("JIM_STATE", str(ground.site.state))
    dataset(ground, "/d/1")
    lines = ground.place / "names.txt"
    lines.write_text("/d/1\n/d/2\n/d/3\n")
    more = f'dataset = "raw"\n[[task.source]]\nlist = "{lines}"\n[[task.source]]\ncommand = ["/bin/echo", "end"]'
    ground.start(TEXT % (SH, more, 1))
    ground.go(3)
    assert cli.main(["task", "status", "t"]) == 0
    told = [each for each in capsys.readouterr().out.splitlines() if each.startswith("source: ")]
    counts = ["dataset raw: 1 item", f"list {lines}: 2 items", "command /bin/echo end: 0 items"]
    assert [each.partition(", ")[0].removeprefix("source: ") for each in told] == counts, (
        "of one name, the first counts"
    )
    assert [each.partition("; ")[2] for each in told] == [
        "closed by the catalogue, or `jim task close t`",
        "closed by the line `closed`, or `jim task close t`",
        "closed by the line `closed`, or `jim task close t`",
    ]


def test_a_dataset_that_closes_while_its_task_is_paused_is_done_whole(ground):
    dataset(ground, "/d/1", "/d/2", "/d/3")
    ground.start(TEXT % (SH, 'dataset = "raw"', 2))
    ground.until(lambda: ground.counts("pieces"))
    ground.ask("pause")
    dataset(ground, "/d/1", "/d/2", "/d/3", "/d/4", "/d/5", is_open=False)
    wait(ground, 60)
    assert (len(ground.items()), source(ground).closed) == (3, "")
    ground.ask("resume")
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == {f"/d/{n}": 1 for n in range(1, 6)}
    assert sorted(len(words[0].split(",")) for words in ground.diary) == [1, 2, 2]


def test_a_catalogue_that_is_away_for_a_day_proves_nothing(ground):
    dataset(ground, "/d/1", "/d/2")
    ground.start(TEXT % (SH, 'dataset = "raw"', 1))
    wait(ground, 30)
    assert ground.counts("items") == {"completed": 2}
    (ground.place / "catalogue").rename(ground.place / "away")
    for _ in range(24):
        ground.go(2, 3600.0)
    assert source(ground).reason.startswith("JIM cannot read the catalogue: ")
    assert (source(ground).closed, source(ground).since < source(ground).looked) == ("", False)
    assert ground.items() == {"/d/1": "completed", "/d/2": "completed"}
    assert ground.task().state is TaskState.RUNNING
    (ground.place / "away").rename(ground.place / "catalogue")
    dataset(ground, "/d/1", "/d/2", "/d/3", is_open=False)
    ground.until_state(TaskState.FINISHED, seconds=600.0)
    assert source(ground).reason == ""
    assert ground.done() == {"/d/1": 1, "/d/2": 1, "/d/3": 1}


def test_a_dataset_that_grows_is_done_whole_once_it_is_closed(ground):
    names = [f"/d/{n:02}" for n in range(12)]
    dataset(ground)
    ground.start(TEXT % (SH, 'dataset = "raw"', 5))
    for many in (1, 3, 6, 7, 11):
        dataset(ground, *names[:many])
        wait(ground, 20)
        assert sum(ground.counts("items").values()) == many
    assert ground.pieces() == ["completed", "completed"]
    assert ground.counts("items")["available"] == 1
    dataset(ground, *names, is_open=False)  # the last file comes in the moment in which it closes
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert ground.done() == dict.fromkeys(names, 1)
    assert sorted(len(",".join(words).split(",")) for words in ground.diary) == [2, 5, 5]


def test_a_dataset_without_the_word_open_is_closed(ground):
    (ground.place / "catalogue/datasets/raw.toml").write_text('files = [ { lfn = "/d/1", runs = { 7 = [1, 2] } } ]\n')
    ground.start(TEXT % (SH, 'dataset = "raw"', 5))
    ground.until_state(TaskState.FINISHED)
    (item,) = ground.store.pools.find_items(1, "*", "", -1)
    assert (item.name, item.record) == ("/d/1", {"runs": {"7": [1, 2]}})
    assert ground.done() == {"/d/1": 1}


def test_a_dataset_that_is_listed_wrongly_proves_nothing(ground):
    dataset(ground, "/d/1")
    ground.start(TEXT % (SH, 'dataset = "raw"', 1))
    wait(ground, 20)
    dataset(ground, "/d/1", "/d/2", "/d/2", is_open=False)
    wait(ground, 20)
    assert ground.items() == {"/d/1": "completed"}
    assert "is listed twice" in source(ground).reason
    assert source(ground).closed == ""


# A command


def program(ground, *lines, code=0):
    """Write a program that prints lines; return it as a source."""
    file = ground.place / "says"
    text = "".join(f"echo '{line}'\n" for line in lines)
    file.write_text(f"#!/bin/sh\n{text}exit {code}\n")
    file.chmod(0o755)
    return 'command = ["./says", "--run", "7"]'


FIFTY = [f"/d/{n:02}" for n in range(50)]


def test_nothing_is_taken_from_a_program_that_fails_or_does_not_say_end(ground):
    ground.start(TEXT % (SH, program(ground, *FIFTY, code=1), 10))
    wait(ground, 20)
    assert ground.items() == {}
    assert "exit 1" in source(ground).reason
    program(ground, *FIFTY)
    wait(ground, 20)
    assert ground.items() == {}
    assert source(ground).reason == f"{ground.place}/says --run 7: its last line is not 'end', so there may be more"
    program(ground, *FIFTY, "end", code=1)
    wait(ground, 30)
    assert ground.items() == {}
    program(ground, *FIFTY, "closed", "end")
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert ground.done() == dict.fromkeys(FIFTY, 1)


def test_a_program_tells_more_each_time_and_closes_in_the_end(ground):
    ground.start(TEXT % (SH, program(ground, "/d/1", "# a comment", "", "end"), 1))
    wait(ground, 20)
    program(ground, '{"lfn": "/d/2", "events": 5, "variables": {"Run": "7"}}', "/d/1", "end")
    wait(ground, 20)
    assert ground.items() == {"/d/1": "completed", "/d/2": "completed"}
    assert not source(ground).closed
    program(ground, "closed", "end")  # what it does not tell any more is still there
    ground.until_state(TaskState.FINISHED, seconds=5.0)
    assert ground.items() == {"/d/1": "completed", "/d/2": "completed"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"printf '/d/\377\nend\n'", "line 1: no UTF-8"),
        (r"printf '/d/1\n/d/\0332\nend\n'", "line 2 holds characters that cannot be printed"),
        ("""echo '{"lfn": 3}'; echo end""", "line 1: "),
        ("", "its last line is not 'end'"),
        ("kill -9 $$", "signal 9"),
        ("echo no licence >&2; exit 4", "no licence (exit 4 "),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused_whole(tmp_path, line, words):
    file = tmp_path / "says"
    file.write_text(f"#!/bin/sh\n{line}\n")
    file.chmod(0o755)
    with pytest.raises(JimError) as error:
        command.look(SourceSpec("command", command=(str(file),)))
    assert words in str(error.value)


def test_a_program_that_does_not_end_or_says_too_much_is_ended(tmp_path, monkeypatch):
    file = tmp_path / "says"
    file.write_text("#!/bin/sh\nexec yes\n")
    file.chmod(0o755)
    monkeypatch.setattr(command, "LARGEST", 1_000_000)
    with pytest.raises(JimError, match="it printed more than 1,000,000 bytes"):
        command.look(SourceSpec("command", command=(str(file),)))
    file.write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(command, "LIMIT_SECONDS", 0.05)
    with pytest.raises(JimError, match=r"no output \(did not return after "):
        command.look(SourceSpec("command", command=(str(file),)))


def test_sources_that_hang_hold_up_no_other_source_and_nothing_else():
    workers, stop, done = Workers(Clock()), threading.Event(), []
    try:
        for number in range(20):
            workers.start(Errand(("task look", number, 0), stop.wait, done.append, source=True))
        workers.start(Errand(("task look", 20, 0), lambda: "looked", done.append, source=True))
        workers.start(Errand("else", lambda: "else", done.append))
        while len(done) < 2:
            assert workers.deliver(10)
        assert sorted(done) == ["else", "looked"]
    finally:
        stop.set()
        workers.stop()


def test_a_look_that_shows_nothing_new_gives_no_turn_and_is_told_of_later(ground, tmp_path, monkeypatch):
    """A site may have a hundred tasks that wait: what they look at in vain must cost next to nothing."""
    file = a_list(tmp_path, "/data/1", closed=False)
    ground.start(TEXT % (SH, f'list = "{file}"', 1))
    ground.until(lambda: ground.counts("pieces").get("ready") or ground.batch.tasks)
    ground.work()
    ground.go(40, 2.0)
    before, turns = ground.store.pools.sources(1)[0].looked, []
    move = ground.move(Tasks)
    turn = move._turn
    monkeypatch.setattr(move, "_turn", lambda keeper, number: (turns.append(number), turn(keeper, number))[1])
    ground.go(60, 5.0)
    assert 28 <= len(turns) <= 33, "300 s, a look each 10 s"
    assert ground.store.pools.sources(1)[0].looked > before
    with file.open("a") as lines:
        lines.write("/data/2\nclosed\n")
    ground.until_state(TaskState.FINISHED)
    assert ground.done() == {"/data/1": 1, "/data/2": 1}


def test_a_list_says_in_which_line_is_no_text(tmp_path):
    file = tmp_path / "names.txt"
    file.write_bytes(b"a\n\xff\n")
    with pytest.raises(JimError, match=r"names.txt, line 2: no UTF-8"):
        lists.look(SourceSpec("list", list=str(file)))


def test_a_list_says_where_its_json_is_wrong(tmp_path):
    file = tmp_path / "names.txt"
    file.write_text('a\n{"lfn": }\n')
    with pytest.raises(JimError, match="line 2, column 9: no JSON: Expecting value"):
        lists.look(SourceSpec("list", list=str(file)))
