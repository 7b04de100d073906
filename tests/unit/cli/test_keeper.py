"""jim keeper."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jim.jobs import PLACED
from jim.model import Answer
from jim.site.acts import recorded
from jim.site.lock import Lock


def test_keeper_all_starts_what_is_needed(home, monkeypatch):
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    monkeypatch.setattr("jim.cli.keeper.account", lambda: "alice")
    assert home.out("keeper", "--all") == "alice: nothing to do\n"
    assert started == []
    home.add()
    assert home.out("keeper", "--all") == "alice: keeper started, 1 grid job is unfinished\n"
    assert started == [home.site.state]


def test_keeper_all_starts_one_that_places_outputs(home, monkeypatch):
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    home.add()
    home.finish()
    for kept, times in (({"places": {"directory": "/w"}}, 1), ({"placed": PLACED}, 1)):
        home.store.at_doors.change(1, **kept)
        home.out("keeper", "--all")
        assert started == [home.site.state] * times


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


def managed(home, monkeypatch, *names):
    """Let this be root of a managed site of these accounts."""
    monkeypatch.setattr("jim.cli.keeper.site_file.load", lambda: home.site._replace(managed=True))
    monkeypatch.setattr("jim.cli.keeper.os.getuid", lambda: 0)
    monkeypatch.setattr("jim.site.accounts.accounts", lambda complain: iter(names))


def test_accounts_are_looked_after_at_the_same_time(home, monkeypatch):
    """One that takes its minute holds up no other."""
    meet = threading.Barrier(3)
    managed(home, monkeypatch, "a", "b", "c")
    monkeypatch.setattr("jim.cli.keeper._as", lambda name, does, option: int(meet.wait(10) < 0 or name == "b"))
    assert home.run("keeper", "--all")[0] == 1


def test_root_s_end_of_all_keepers_is_recorded_for_the_whole_site(home, monkeypatch):
    managed(home, monkeypatch)
    assert home.run("keeper", "--end", "--all") == (0, "", "")
    assert [each.verb for each in recorded(home.site.state.parent / ".acts.jsonl")] == ["keeper --end --all"]


@pytest.mark.parametrize("option", ["--all", "--list"])
def test_a_child_runs_as_the_account(home, monkeypatch, option):
    asked = []

    def run(command, *, limit, account):
        asked.append((command[-2:], account))
        return Answer(command, 0 if account == "bob" else 3, f"{account}: nothing\n", "", 0.1)

    managed(home, monkeypatch, "bob", "eve")
    monkeypatch.setattr("jim.site.accounts.run", run)
    code, out, error = home.run("keeper", option)
    assert (code, out) == (1, "bob: nothing\n")
    assert error.startswith("eve: ")
    assert "exit 3" in error
    assert sorted(asked) == [(("keeper", option), "bob"), (("keeper", option), "eve")]  # at the same time


def test_keeper_list_tells_who_keeps_and_what_is_left(home, monkeypatch):
    monkeypatch.setattr("jim.cli.keeper.account", lambda: "alice")
    home.add()
    assert home.out("keeper", "--list") == f"alice: no keeper runs; 1 grid job is unfinished; {home.site.state}\n"
    lock = Lock(home.site.state)
    assert lock.take()
    home.beat(ago=3)
    assert home.out("keeper", "--list") == (
        f"alice: keeper {os.getpid()}, last heartbeat 3 s ago; 1 grid job is unfinished; {home.site.state}\n"
    )
    lock.release()


def test_keeper_end_ends_the_keeper_and_no_process_that_has_its_pid_by_now(home, monkeypatch):
    monkeypatch.setattr("jim.cli.keeper.account", lambda: "alice")
    assert home.out("keeper", "--end") == "alice: no keeper runs\n"
    keeper_of = f"from jim.site.lock import Lock; from pathlib import Path; lock = Lock(Path({str(home.site.state)!r}))"
    code = f"{keeper_of}; lock.take(); print('taken', flush=True); import time; time.sleep(60)"
    there = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env={"PYTHONPATH": str(Path(__file__).parents[3])}
    )
    other = subprocess.Popen(["sleep", "60"])
    try:
        assert there.stdout.readline() == b"taken\n"
        assert home.out("keeper", "--end") == (
            f"alice: keeper {there.pid} has ended; a poll, a wish or `jim keeper --all` starts the next one\n"
        )
        assert there.wait(10) == -signal.SIGTERM
        assert [(each.verb, each.of) for each in recorded(home.site.acts)] == [("keeper --end", f"keeper {there.pid}")]
        (home.site.state / "keeper.lock").write_text(f"{other.pid}\n")
        assert home.out("keeper", "--end") == "alice: no keeper runs\n"
        assert other.poll() is None
    finally:
        for each in (there, other):
            each.kill()
            each.wait()
            if each.stdout:
                each.stdout.close()


def test_keeper_end_says_so_where_the_keeper_does_not_end(home, monkeypatch):
    monkeypatch.setattr("jim.cli.keeper.END_SECONDS", 0.1)
    monkeypatch.setattr("jim.cli.keeper.signal.pidfd_send_signal", lambda process, number: None)
    lock = Lock(home.site.state)
    assert lock.take()
    code, out, error = home.run("keeper", "--end")
    assert (code, out) == (1, "")
    assert (
        error
        == f"jim: keeper {os.getpid()} has not ended in 0.1 s: `kill -9 {os.getpid()}` ends it, and loses nothing\n"
    )
    lock.release()


@pytest.mark.parametrize("option", ["--list", "--end"])
def test_keepers_are_listed_and_ended_beside_a_wrong_site_file(home, monkeypatch, option):
    """Whoever corrects it wants to know them, and to end the one that obeys the old file."""
    monkeypatch.setattr("jim.cli.keeper.account", lambda: "alice")
    (home.site.state / "site.toml").write_text("[disk]\n[disk]\n")
    code, out, err = home.run("keeper", option)
    assert (code, out.partition(";")[0].rstrip()) == (0, "alice: no keeper runs")
    assert err == (
        f"jim: warning: {home.site.state}/site.toml:2: section [disk] begins at line 1: put its settings there, and "
        "remove this line. Until this is corrected, doors refuse requests, and no keeper starts\n"
    )
    assert home.run("keeper", "--all")[0] == 3
