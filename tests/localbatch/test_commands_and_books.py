"""The local batch system's commands and its books: what it takes in, what it tells, what it forgets."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from jim.clock import Clock
from jim.localbatch import __main__ as command_line
from jim.localbatch import area, daemon, processes
from jim.localbatch.books import Books
from jim.localbatch.queue import Queue
from tests.localbatch.place import CHECKOUT, PYTHON, WAIT_FOR_GO, in_process, until

# The command line


def test_the_verbs_from_end_to_end(place):
    script = place.script(WAIT_FOR_GO + "exit $LOCALBATCH_INDEX")
    submitted = place.command("submit", "--name", "jim-1-2", "--wall", 60, "--array", 2, "--queue", "q", script)
    assert (submitted.returncode, submitted.stdout, submitted.stderr) == (0, "1\n", "")
    until(lambda: set(place.states().values()) == {"running"})  # a daemon came by itself
    assert place.command("list").stdout == "jobs 2\n1|1|running|jim-1-2\n1|2|running|jim-1-2\nend\n"
    found = "jobs 2\n1|1|running|-|-|-|jim-1-2\n1|2|running|-|-|-|jim-1-2\nend\n"
    assert place.command("find", "jim-1-2").stdout == found
    assert place.command("history", 1).stdout == "jobs 0\nend\n"
    assert place.command("ping").stdout == "slots 2 running 2\n"
    place.go()
    place.ended(1, 2)
    ended = "jobs 2\n1|1|ended|1|-|-|jim-1-2\n1|2|ended|2|-|-|jim-1-2\nend\n"
    assert place.command("history", 1, 99).stdout == ended
    assert place.command("find", "jim-1-2").stdout == ended
    assert place.command("list").stdout == "jobs 0\nend\n"
    ledger = place.command("ledger").stdout.splitlines()
    assert (ledger[0], ledger[-1]) == ("events 8", "end")
    assert ledger[1].split("|")[2:] == ["accepted", "1", "1", "jim-1-2", "-"]


@pytest.mark.parametrize("name", ["", "a b", "a|b", "a\nb", "a/b", "é", "a" * 201, "$(id)", "\udcff"])
def test_a_hostile_name_is_refused_in_one_line(tmp_path, capsys, name):
    with pytest.raises(SystemExit) as end:
        command_line.main(["--area", str(tmp_path / "area"), "submit", f"--name={name}", "/bin/true"])
    said = capsys.readouterr()
    assert (end.value.code, said.out) == (2, "")
    assert said.err.startswith("localbatch: argument --name: expected ")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "area").exists()


@pytest.mark.parametrize("words", [["--wall=0"], ["--wall=x"], ["--wall=٣"], ["--array=10001"], ["--array=-1"]])
def test_a_hostile_number_is_refused(tmp_path, capsys, words):
    with pytest.raises(SystemExit):
        command_line.main(["--area", str(tmp_path / "area"), "submit", "--name=a", *words, "/bin/true"])
    assert "expected a number from 1 to" in capsys.readouterr().err


def main_without_daemon(place, monkeypatch, *words):
    monkeypatch.setattr(command_line, "wake", lambda _: None)
    return command_line.main(["--area", str(place.directory), *words])


def test_an_unknown_job_is_said_and_the_known_ones_are_done(place, monkeypatch, capsys):
    job = place.submit("", size=2)
    assert main_without_daemon(place, monkeypatch, "cancel", "99", f"{job}.1", f"{job}.3", "x;y") == 1
    assert capsys.readouterr().err == f"unknown job 99\nunknown job {job}.3\nunknown job x;y\n"
    assert place.history(job) == {1: ("cancelled", None, None, "cancelled")}
    assert main_without_daemon(place, monkeypatch, "cancel", f"{job}.1") == 0  # repeated


def test_a_locked_or_full_queue_is_said_as_such(place, monkeypatch, capsys):
    monkeypatch.setattr(area, "BUSY_SECONDS", 0.01)
    submit = ("submit", "--name=a", "--array=5000", "/bin/true")
    with place.queue.transaction():
        assert main_without_daemon(place, monkeypatch, *submit) == 75
    assert capsys.readouterr().err == "localbatch: cannot record: database is locked\n"
    connect = area.connect

    def full(directory):
        db = connect(directory)
        db.execute("PRAGMA max_page_count = 12")
        return db

    monkeypatch.setattr(command_line, "connect", full)
    assert main_without_daemon(place, monkeypatch, *submit) == 75
    assert capsys.readouterr() == ("", "localbatch: cannot record: database or disk is full\n")
    assert place.queue.live() == []


def test_an_answer_that_cannot_be_written_is_no_failure_to_record(place):
    script = place.script("")
    command = [*PYTHON, "-m", "jim.localbatch", "--area", str(place.directory), "submit", "--name=a", script]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": CHECKOUT}, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 74
    assert done.stderr.startswith(b"localbatch: done, but cannot answer:")
    place.ended(1)


def test_a_lost_queue_does_not_look_empty(tmp_path, capsys):
    (tmp_path / area.LOCK_FILE).touch()
    assert command_line.main(["--area", str(tmp_path), "list"]) == 1
    assert "has no queue.db, but is not empty" in capsys.readouterr().err


def test_a_queue_of_another_format_is_left_alone(place, capsys):
    place.queue.db.execute("PRAGMA user_version = 1")
    assert command_line.main(["--area", str(place.directory), "list"]) == 1
    assert "has format 1, this program knows 2: let the JIM that made it end its jobs" in capsys.readouterr().err


def test_of_two_that_make_an_area_the_first_counts(place):
    before = place.queue.settings()
    area._make(place.directory)
    with closing(area.connect(place.directory)) as db:
        assert Queue(db, Clock()).settings() == before


def test_what_has_ended_leaves_the_queue_in_one_file(tmp_path):
    directory = tmp_path / "area"
    command = [*PYTHON, "-m", "jim.localbatch", "--area", str(directory), "init", "--idle", "0.1"]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": CHECKOUT}, check=True)
    ended = {area.LOCK_FILE, area.QUEUE_FILE, area.LOG_FILE}  # else a copy of that file alone would lack something
    until((directory / area.LOG_FILE).exists)
    until(lambda: {file.name for file in directory.iterdir()} == ended)


@pytest.mark.parametrize("words", [["--area", "x", "no-verb"], ["--area=x", "no-verb"], ["--area", "x"], ["list"]])
def test_a_call_that_names_no_verb_is_refused_as_such(capsys, words):
    with pytest.raises(SystemExit) as end:
        command_line.main(words)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("localbatch: ")


def test_the_command_line_starts_light(place):
    code = "import sys; from jim.localbatch.__main__ import main; main(sys.argv[1:]); print(*sys.modules)"
    place.serve()
    place.until_served()
    words = [*PYTHON, "-c", code, "--area", str(place.directory), "list"]
    loaded = subprocess.check_output(words, env={**os.environ, "PYTHONPATH": CHECKOUT}, text=True).split()
    assert not {"psutil", "subprocess", "logging", "dataclasses"} & set(loaded)


# The queue file


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE ledger SET event = 'x'",
        "DELETE FROM ledger",
        "INSERT OR REPLACE INTO ledger (seq, time, event, job, idx, name) VALUES (1, '', 'x', 1, 1, '')",
    ],
)
def test_the_ledger_is_append_only(place, forgery):
    place.submit("")
    before = place.queue.ledger()
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        place.queue.db.execute(forgery)
    assert place.queue.ledger() == before


# What is too old


def cancelled(place, size=1):
    """Submit a job and end it at once, without a daemon."""
    job = place.submit("", size)
    place.queue.change("cancel", [(job, 0)])
    return job


def later(place, days):
    """Let so many days of use go by."""
    place.queue.db.execute("UPDATE area SET day = day + ?", (days,))


def known(place):
    """Give the jobs that each table knows: with their tasks, with their lines in the ledger."""
    tables = [("jobs", "id"), ("tasks", "job"), ("ledger", "job")]
    return [{row[0] for row in place.queue.db.execute(f"SELECT {column} FROM {table}")} for table, column in tables]


def forget_all(place):
    books = Books(place.queue.db, Clock())
    while True:
        with books.transaction():
            if not books.forget():
                return


def test_an_ended_job_is_known_for_its_days_and_then_forgotten_as_a_whole(place):
    old = cancelled(place, size=3)
    later(place, 1)
    younger = cancelled(place)
    later(place, 29)
    forget_all(place)
    assert known(place) == [{old, younger}] * 3
    later(place, 1)
    forget_all(place)
    assert known(place) == [{younger}] * 3
    assert place.history(old) == {}
    assert place.queue.change("cancel", [(old, 0)]) == [(old, 0)]


def test_days_without_use_do_not_count(place):
    """Neither a machine that stood still for a year, nor a clock set forward, takes the history away."""
    job = cancelled(place)
    for date in ("2027-01-31", "2027-01-31", "2031-12-24"):
        place.queue.clock = type("SetClock", (Clock,), {"utc": lambda _, date=date: f"{date}T12:00:00.000Z"})()
        place.submit("")
    assert place.queue.db.execute("SELECT day, date FROM area").fetchone() == (3, "2031-12-24")
    forget_all(place)
    assert job in known(place)[0]


def test_what_has_not_ended_as_a_whole_is_never_too_old(place):
    job = place.submit("", size=2)
    place.queue.change("cancel", [(job, 1)])
    place.queue.change("hold", [(job, 2)])
    later(place, 10_000)
    forget_all(place)
    assert known(place) == [{job}] * 3
    assert (len(place.history(job)), place.states()) == (1, {(job, 2): "held"})


def test_ids_are_never_used_again(place):
    first = cancelled(place)
    later(place, 31)
    forget_all(place)
    assert known(place) == [set()] * 3
    assert place.submit("") > first


def test_the_queue_itself_keeps_what_is_not_too_old(place):
    cancelled(place)
    later(place, 30)
    with pytest.raises(sqlite3.IntegrityError, match="a job is kept until"):
        place.queue.db.execute("DELETE FROM jobs")


def test_the_days_are_set_at_init(place, monkeypatch):
    job = cancelled(place)
    assert main_without_daemon(place, monkeypatch, "init", "--history-days", "2") == 0
    later(place, 2)
    forget_all(place)
    assert known(place)[0] == {job}
    later(place, 1)
    forget_all(place)
    assert known(place)[0] == set()


def test_the_daemon_forgets_in_parts(place, monkeypatch):
    monkeypatch.setattr(processes, "strangers", lambda _: [])
    jobs = [cancelled(place, size=400) for _ in range(4)]
    later(place, 31)
    working = in_process(place)
    working.turn()
    assert known(place)[0] == set(jobs[3:])
    assert working.due <= Clock().boot() + daemon.LOOK_SECONDS
    working.turn()
    assert known(place) == [set()] * 3


@pytest.mark.parametrize(
    "at",
    [
        pytest.param("DELETE FROM jobs", marks=pytest.mark.torture),
        pytest.param("DELETE FROM ledger", marks=pytest.mark.torture),
        "DELETE FROM tasks",
        "COMMIT",
    ],
)
def test_a_daemon_killed_while_it_forgets_leaves_whole_jobs(place, at):
    old = cancelled(place, size=3)
    later(place, 31)
    place.submit("echo ran >>ran")
    code = f"""
import os
from jim.localbatch.books import Books
def forget(books, forget=Books.forget):
    books.db.set_trace_callback(lambda text: text.startswith({at!r}) and os.kill(os.getpid(), 9))
    return forget(books)
Books.forget = forget
"""
    assert place.serve(before=code).wait(10) == -9
    assert known(place)[0] == known(place)[1] == known(place)[2] >= {old}
    place.serve()
    until(lambda: known(place) == [{old + 1}] * 3)
    place.ended(old + 1)
    assert place.events("starting") == [("starting", old + 1, 1)]


def test_the_opposite_verb_takes_a_wish_back_but_not_a_cancel(place):
    job = place.submit("")
    place.queue.db.execute("UPDATE tasks SET state = 'running'")
    wishes = []
    for verb in ("suspend", "resume", "suspend", "cancel", "resume"):
        place.queue.change(verb, [(job, 0)])
        wishes.append(place.queue.db.execute("SELECT wish FROM tasks").fetchone()[0])
    assert wishes == ["suspend", None, "suspend", "cancel", "cancel"]


def test_what_a_verb_costs_for_a_task_does_not_depend_on_its_array(place):
    """A cancel of a large array read all of it for each task, and kept other verbs waiting longer than they do."""
    steps = []

    def cost(size):
        job = place.submit("", size=size)
        place.queue.db.set_progress_handler(lambda: steps.append(0), 10)
        steps.clear()
        place.queue.change("cancel", [(job, size)])
        assert len(place.queue.history([(job, size)])) == 1
        place.queue.db.set_progress_handler(None, 0)
        return len(steps)

    assert cost(4000) < 3 * cost(4)
