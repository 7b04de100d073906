"""jim task watch and graph, and a test that is watched."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from jim import cli
from jim.cli.tasks import watching
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import EVENTS

TEXT = f"""\
[[task]]
name = "mc"
{EVENTS}
source = [ {{ events = 10, events_per_piece = 5 }} ]
[task.test]
pieces = 2
most_seconds = 100
"""


@pytest.fixture
def passing(ground, monkeypatch):
    """Let the keeper and the batch system go on while somebody watches."""
    code = {"of attempts": 0}

    def pause(_seconds):
        ground.work(code["of attempts"])
        ground.go(2, 1.0)

    monkeypatch.setattr(watching, "sleep", pause)
    return code


def test_a_task_is_followed_to_its_end(ground, jim, passing):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    code, told = jim("watch", "mc")
    assert code == 0
    lines = told.splitlines()
    assert (lines[0], lines[-1]) == ("mc running: waits for its first piece", "mc finished, completed: 2 completed")
    assert "mc running: 2 on the way" in lines
    assert len(lines) == len(set(lines))
    assert jim("watch", "mc") == (0, "mc finished, completed: 2 completed\n")
    assert json.loads(jim("watch", "mc", "--json")[1])["outcome"] == "completed"


def test_a_watch_of_what_has_not_begun_says_how_it_begins(ground, jim, monkeypatch):
    steps = iter([("start", "mc", "--untested"), ("pause", "mc"), ("cancel", "mc")])

    def pause(_seconds):
        if "mc" not in watching.inbox.wished(ground.site.state):
            cli.main(["task", *next(steps, ("status",))])
        ground.go(2, 1.0)

    jim("create", ground.write(TEXT))
    monkeypatch.setattr(watching, "sleep", pause)
    lines = jim("watch", "mc")[1].splitlines()
    begins = "`jim task test mc` tries it out; `jim task start --untested mc` begins without"
    assert lines[0] == f"mc configured: {begins}"
    assert [line for line in lines if line.startswith("mc paused") and line.endswith("`jim task resume mc` goes on")]
    assert lines[-1] == "mc cancelled"


def test_what_was_asked_for_just_before_is_waited_for(ground, jim, passing, capsys):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    passing["of attempts"] = 3
    assert jim("watch", "mc")[0] == 1
    passing["of attempts"] = 0
    assert cli.main(["task", "retry", "mc"]) == 0  # the keeper has not taken it yet: the task is still finished
    assert ground.task("mc").state is TaskState.FINISHED
    capsys.readouterr()
    assert cli.main(["task", "watch", "mc"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "mc finished, completed: 2 completed"


def test_a_task_with_failures_and_a_cancelled_one_exit_1(ground, jim, passing):
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    passing["of attempts"] = 3
    code, told = jim("watch", "mc")
    assert (code, told.splitlines()[-1]) == (1, "mc finished, with failures: 2 failed")
    jim("cancel", "mc")
    ground.until(lambda: ground.task("mc").state is TaskState.CANCELLED)
    assert jim("watch", "mc") == (1, "mc cancelled: 2 failed\n")
    assert jim("watch", "no")[0] == 4


def test_a_test_is_watched_and_its_result_told(ground, jim, passing):
    jim("create", ground.write(TEXT))
    code, told = jim("test", "mc", "--watch")
    assert code == 0
    assert told.splitlines()[0] == "mc: test 1 begins; `jim task explain mc` shows the progress"
    tried, second, *rest = told.splitlines()[-7:]
    assert tried.startswith("1.0  completed  ")
    assert second.startswith("2.0  completed  ")
    assert tried.endswith(" s  5 events  0 files")
    assert rest[:2] == ["all pieces complete: yes", "each within 100 s: yes"]
    assert rest[2].endswith(" s per event")
    assert rest[3].startswith("a piece of 5 events would take about ")
    assert rest[4] == "the longest piece took 1 s"
    told = jim("status", "mc")[1]
    assert (
        "tested       yes; 0.2 s per event; a piece of 5 events would take about 1 s; the longest piece took 1 s\n"
        in told
    )
    assert "test 1: 1.0  completed  1 s  5 events  0 files\n" in told
    test = json.loads(jim("status", "mc", "--json")[1])["test"]
    assert (test["number"], test["seconds_per_event"], [each["files"] for each in test["pieces"]]) == (1, 0.2, [0, 0])


def test_a_kept_check_is_told_by_its_name(ground, jim, passing):
    check = ground.place / "sane.sh"
    check.write_text("#!/bin/sh\nexit 0\n")
    check.chmod(0o755)
    jim("create", ground.write(TEXT.replace("[task.test]", '[task.test]\ncheck = ["./sane.sh", "-v"]')))
    assert "check sane.sh -v exits 0: yes" in jim("test", "mc", "--watch")[1].splitlines()
    jim("fix", "mc", "wall_seconds=100")
    ground.until(lambda: ground.task("mc").state is TaskState.CONFIGURED)
    told = jim("status", "mc")[1]
    assert "state        configured: fix 1 is not tested yet\n" in told
    assert "exits 0" not in told, "what was met is not told again"


def test_a_test_that_fails_exits_1(ground, jim, passing):
    jim("create", ground.write(TEXT))
    assert "tested       not yet\n" in jim("status", "mc")[1]
    passing["of attempts"] = 3
    code, told = jim("test", "mc", "--watch")
    assert code == 1
    assert "1.0  failed  exit 3  5 events" in told.splitlines()
    assert "all pieces complete: no" in told.splitlines()
    told = jim("status", "mc")[1]
    assert "tested       not passed as it is now\n" in told
    assert "test 1: 1.0  failed  exit 3  5 events\n" in told
    assert "test 1: all pieces complete: no\n" in told


def test_of_a_check_it_is_told_that_it_did_not_run(ground, jim, passing):
    jim("create", ground.write(TEXT.replace("[task.test]", '[task.test]\ncheck = ["/bin/true"]')))
    passing["of attempts"] = 3
    assert "check /bin/true exits 0: not run" in jim("test", "mc", "--watch")[1].splitlines()
    jim("test", "mc")
    ground.until(lambda: ground.store.waves.live(ground.task("mc").id))
    jim("cancel", "mc")
    ground.until(lambda: ground.task("mc").state is TaskState.CANCELLED)
    assert "test 2: check /bin/true exits 0: not run\n" in jim("status", "mc")[1]


def test_the_graph_has_a_box_for_each_task(ground, jim):
    assert jim("graph") == (0, f"no tasks yet in {ground.site.state}; `jim task create FILE` makes one\n")
    jim("create", ground.write(TEXT + TEXT.replace('"mc"', '"other"')))
    assert jim("graph") == (0, "mc  0/?\nother  0/?\n")
    assert jim("graph", "mc") == (0, "mc  0/?\n")
    assert jim("graph", "no")[0] == 4
    assert ET.fromstring(jim("graph", "--svg")[1]).tag.endswith("svg")
    assert [each["name"] for each in json.loads(jim("graph", "--json")[1])["tasks"]] == ["mc", "other"]


def test_a_failure_of_an_earlier_test_is_not_told_while_the_next_one_begins(ground, jim, passing):
    jim("create", ground.write(TEXT))
    assert "tested       not yet\n" in jim("status", "mc")[1]
    passing["of attempts"] = 3
    assert jim("test", "mc", "--watch")[0] == 1
    passing["of attempts"] = 0
    code, told = jim("test", "mc", "--watch")
    assert code == 0
    assert "failed" not in told
    assert "mc testing: test 2 runs: grid jobs 3, 4" in told.splitlines()


def test_a_test_is_watched_no_longer_than_somebody_says(ground, jim, monkeypatch, tmp_path):
    monkeypatch.setattr(watching, "sleep", lambda _: ground.go(2, 1.0))
    monkeypatch.setattr(watching, "monotonic", lambda: ground.clock.now)
    source = f'directory = "{tmp_path / "in"}"'
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.raw").touch()
    jim("create", ground.write(TEXT.replace("events = 10, events_per_piece = 5", source)))
    code, told = jim("test", "mc", "--watch", "--seconds", "30")
    _, *lines, last = told.splitlines()
    assert (code, last) == (1, "the test goes on after 30 s; `jim task explain mc` tells what it waits for")
    assert lines[-1].startswith(f"mc testing: file {tmp_path}/in/a.raw is not taken yet: ")
    assert ground.task("mc").state is TaskState.TESTING


def test_a_log_is_a_table_of_what_matters_so_much(ground, jim):
    ground.create(TEXT)
    name = ground.store.tasks.all()[0].name
    assert jim("log", name, "--level", "error") == (0, "nothing of the level error has happened\n")
    code, told = jim("log", name)
    assert (code, told.splitlines()[0].split()) == (0, ["at", "level", "of", "what", "reason"])
    assert jim("log", "no")[0] == 4
