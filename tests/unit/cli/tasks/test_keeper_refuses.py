"""What people see of tasks whose keeper has refused to go on, and of tasks without a keeper."""

from __future__ import annotations

import json

import pytest

from jim import cli
from jim.cli.tasks import watching
from jim.keeper.serial import CHOICE
from jim.statusdb.task_rows import TaskState
from tests.unit.tasks.ground import SH

TEXT = f'[[task]]\nname = "mc"\n{SH}\nsource = [ {{ list = "names.txt" }} ]\n'
FOUND = (
    f"/x/state was at work as /state on machine 1, and is now /x/state on machine 1: it was moved or copied. {CHOICE}"
)
LINE = (
    f"no keeper is running, and none has been here before; its last words: {FOUND}; "
    "decide, and run `jim site moved` or `jim site restored`: either starts a keeper"
)
NO_KEEPER = "no keeper is running, and none has been here before; a poll, a wish or `jim keeper` starts one"


@pytest.fixture
def task(ground, jim):
    """Let a task run that waits for its piece to be full: no grid job is there."""
    (ground.place / "names.txt").write_text("/data/1\n")
    jim("create", ground.write(TEXT))
    jim("start", "mc", "--untested")
    ground.go(5, 1.0)
    assert not ground.store.grid_jobs()


def refuse(ground):
    """Write what a keeper leaves that refuses to go on."""
    log = ground.site.state / "keeper.log"
    log.write_text(f"2026-11-26 21:51:00,000 CRITICAL jim.keeper.opening the keeper ends: {FOUND}\n")


def flat(told: str) -> str:
    return " ".join(told.split())


@pytest.mark.parametrize("words", [["status"], ["task", "status"], ["task", "status", "mc"]])
def test_a_refusal_is_told_below_what_is_there_of_tasks(ground, task, capsys, words):
    refuse(ground)
    assert cli.main(words) == 0
    assert flat(capsys.readouterr().out).endswith(f" {LINE}")


def test_a_refusal_is_told_of_a_task_that_needs_no_keeper_until_a_person_goes_on(ground, task, jim, capsys):
    jim("pause", "mc")
    assert "no keeper" not in jim("status")[1]
    refuse(ground)
    assert flat(jim("status")[1]).endswith(f" {LINE}")
    assert cli.main(["status"]) == 0
    assert flat(capsys.readouterr().out).endswith(f" {LINE}")
    assert "* no keeper is running, " in jim("explain", "mc")[1]


def test_programs_get_the_same_list_as_ever(ground, task, jim):
    refuse(ground)
    (told,) = json.loads(jim("status", "--json")[1])
    assert told["name"] == "mc"


def test_the_next_step_of_a_refusal_is_what_it_names(ground, task, jim):
    refuse(ground)
    first = json.loads(jim("explain", "mc", "--json")[1])[0]
    assert first["what"].endswith(FOUND)
    assert first["next"] == "decide, and run `jim site moved` or `jim site restored`: either starts a keeper"


def test_a_task_that_goes_on_tells_that_no_keeper_runs(ground, task, jim, capsys):
    assert flat(jim("status")[1]).endswith(f" {NO_KEEPER}")
    assert cli.main(["status"]) == 0
    assert flat(capsys.readouterr().out).endswith(f" {NO_KEEPER}")
    (ground.site.state / "heartbeat").write_text(f"{ground.clock.boot_id()} {int(ground.clock.boot())}\n")
    assert "no keeper" not in jim("status")[1]


def test_who_watches_is_told_of_a_refusal_once(ground, task, jim, monkeypatch):
    pauses = iter(range(6))

    def pause(_seconds):
        number = next(pauses)
        if number in (1, 3):
            refuse(ground)
        if number == 2:  # the next one has just begun
            (ground.site.state / "keeper.log").write_text("")
        if number == 4:
            ground.store.tasks.change(ground.task("mc").id, state=TaskState.CANCELLED)

    monkeypatch.setattr(watching, "sleep", pause)
    code, told = jim("watch", "mc")
    assert code == 1
    assert flat(told) == f"mc running: waits for its first piece {LINE} mc cancelled"


def test_a_keeper_that_will_refuse_is_not_told_as_one_that_goes_on(ground, task, capsys, monkeypatch):
    """Its refusal has to stand in its log: there everybody finds it."""
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    monkeypatch.setattr("jim.cli.keeper.account", lambda: "alice")
    ground.store.set_fact("path", "/before")
    assert cli.main(["keeper", "--all"]) == 0
    told = flat(capsys.readouterr().out)
    assert told.startswith(f"alice: keeper started, which ends at once: {ground.site.state} was at work as /before on")
    assert told.endswith(f": it was moved or copied. {CHOICE}")
    assert started == [ground.site.state]
