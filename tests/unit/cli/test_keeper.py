"""jim keeper."""

import argparse
import os
import pwd
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jim.cli import keeper
from jim.model import Answer
from jim.site.lock import Lock

# keeper


def test_keeper_all_starts_what_is_needed(home, monkeypatch):
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    monkeypatch.setattr("jim.cli.keeper.account", lambda: "alice")
    assert home.out("keeper", "--all") == "alice: nothing to do\n"
    assert started == []
    home.add()
    assert home.out("keeper", "--all") == "alice: keeper started, 1 grid job is unfinished\n"
    assert started == [home.site.state]


@pytest.mark.parametrize(
    ("test", "old", "not_yet"), [("no", "2026-03-02", "2026-03-01"), ("yes", "2026-02-01", "2026-01-31")]
)
def test_keeper_all_starts_one_that_removes_what_is_old(home, monkeypatch, test, old, not_yet):
    """Kept for 30 days, or 1."""
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    home.add(test=test)
    home.finish()
    for day, times in ((not_yet, 0), (old, 1)):
        home.later(f"{day}T12:00:01.000Z")
        home.out("keeper", "--all")
        assert started == [home.site.state] * times


def test_keeper_all_leaves_a_running_keeper_alone(home, monkeypatch):
    monkeypatch.setattr("jim.cli.keeper.account", lambda: "alice")
    home.add()
    lock = Lock(home.site.state)
    assert lock.take()
    assert home.out("keeper", "--all") == "alice: a keeper runs, 1 grid job is unfinished\n"
    lock.release()


def test_root_lets_each_account_look_after_itself(home, tmp_path, monkeypatch):
    mine = pwd.getpwuid(os.getuid()).pw_name
    for name in (mine, "no such account", ".published"):
        (tmp_path / "managed" / name).mkdir(parents=True)
    (tmp_path / "managed" / "link").symlink_to(tmp_path)
    assert list(keeper._accounts(tmp_path / "managed")) == [mine]
    assert home.capsys.readouterr().out == "no such account: there is no such account; skipped\n"


@pytest.mark.parametrize("name", ["status.db", "status.db-wal", "status.db-journal", "keeper.lock"])
def test_a_pipe_in_place_of_a_file_holds_nobody(home, name):
    """Of root's `keeper --all` one account would take a minute with it, and every account after it."""
    home.add()
    home.store.close()
    (home.site.state / name).unlink(missing_ok=True)
    os.mkfifo(home.site.state / name)
    code = (
        "from jim.cli import keeper, main; keeper.start_keeper = lambda state: None; raise SystemExit(main(['keeper', "
        "'--all']))"
    )
    command = [sys.executable, "-P", "-s", "-c", code]
    environment = {**os.environ, "JIM_STATE": str(home.site.state), "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    if name == "keeper.lock":
        assert "keeper started" in done.stdout
    else:
        assert (done.returncode, f"{name} is not a regular file: move it away" in done.stderr) == (1, True)


def test_accounts_are_looked_after_at_the_same_time(home, monkeypatch):
    """One that takes its minute holds up no other."""
    meet = threading.Barrier(3)
    monkeypatch.setattr("jim.cli.keeper.site_file.load", lambda: home.site._replace(managed=True))
    monkeypatch.setattr("jim.cli.keeper.os.getuid", lambda: 0)
    monkeypatch.setattr("jim.cli.keeper._accounts", lambda place: iter(["a", "b", "c"]))
    monkeypatch.setattr("jim.cli.keeper._start_as", lambda name: int(meet.wait(10) < 0 or name == "b"))
    assert keeper.run(argparse.Namespace(all=True)) == 1


def test_a_child_runs_as_the_account(home, monkeypatch):
    asked = []

    def run(command, *, limit, account):
        asked.append((command[-2:], account))
        return Answer(command, 0, "bob: nothing to do\n", "", 0.1)

    monkeypatch.setattr("jim.cli.keeper.run_command", run)
    assert keeper._start_as("bob") == 0
    assert asked == [(("keeper", "--all"), "bob")]
    assert home.capsys.readouterr().out == "bob: nothing to do\n"
