"""The local batch system's command line: what it takes in, what it tells, what it refuses."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from jim.localbatch import __main__ as command_line
from jim.localbatch import area
from tests.unit.localbatch.place import CHECKOUT, PYTHON, WAIT_FOR_GO, main_without_daemon, until


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

    def full(directory, **how):
        db = connect(directory, **how)
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
