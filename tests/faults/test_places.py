"""State and work directories that are full, closed, shared, gone; two keepers; clocks that jump; reboots; upgrades."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.real import DONE, LIMIT, PLAIN, ROOT, until

WAITS = 'until [ -e "$0.go" ]; do sleep 0.05; done'


def go(place) -> None:
    (place.place / "payload.sh.go").touch()


# Directories that go away


def test_a_state_directory_removed_under_a_living_keeper_ends_it(place):
    hurt = place("p")
    hurt.submit(1, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: hurt.events("start"), "the payload runs")
    until(lambda: shutil.rmtree(hurt.state, ignore_errors=True) or not hurt.state.exists(), "all of it is removed")
    assert keeper.wait(LIMIT) == 0
    assert not hurt.state.exists(), "it was made again"


def test_a_work_directory_that_is_not_mounted_is_waited_for(place):
    """Before the keeper starts, and under a living one; a fresh one is not made in its place."""
    hurt = place("p", settings='[site]\nwork = "WORK"\n')
    hurt.submit(2, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: len(hurt.events("start")) == 2, "the payloads run")
    away = hurt.site.work.rename(hurt.place / "away")
    until(lambda: "a round failed" in hurt.log(), "the keeper notices")
    keeper.kill()
    keeper.wait()
    for _ in range(2):  # nothing is there, then an empty directory
        assert hurt.keep() != 0
        said = f"grid jobs work in {hurt.site.work}, but it is empty (has no file instance): is it mounted?"
        assert said in hurt.log()
        assert not (hurt.site.work / "instance").exists()
    shutil.rmtree(hurt.site.work)
    away.rename(hurt.site.work)
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of() == "running", "the keeper is back")
    go(hurt)
    assert keeper.wait(LIMIT) == 0
    hurt.check(2)


@pytest.mark.torture
def test_a_work_directory_that_is_gone_is_not_made_anew_when_nothing_is_in_work(place):
    hurt = place("p", settings='[site]\nwork = "WORK"\n')
    hurt.submit(1)
    hurt.finish()
    shutil.rmtree(hurt.site.work)
    assert hurt.keep() != 0
    assert f"{hurt.site.work}, but it is empty (has no file instance): is it mounted?" in hurt.log()
    hurt.site.work.parent.rename(hurt.place / "away")
    file = hurt.place / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    refused = hurt.door("submit", str(file))
    assert (refused.returncode, refused.stdout) == (3, "")
    assert f"work: the directory {hurt.site.work.parent} does not exist: mount it" in refused.stderr
    assert not hurt.site.work.parent.exists()


@pytest.mark.torture
def test_a_grid_job_whose_directory_was_removed_fails_and_harms_no_other(place):
    hurt = place("p", slots=4, settings="[limits]\nper_submission = 2\nqueued_per_grid_job = 2\n")
    hurt.front(
        "sleep", 'case $1 in 1|2|4|8|15|30) exec "$real" 0.1 ;; *) exec "$real" "$@" ;; esac'
    )  # for the disk to come back
    hurt.submit(3, body=WAITS)
    hurt.submit(1, key="other", body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: len(hurt.events("start")) == 2 and hurt.events("start", 2), "the payloads run")
    shutil.rmtree(hurt.site.work / "1")
    go(hurt)
    assert keeper.wait(LIMIT) == 0
    hurt.check(1, grid=2)
    with hurt.store() as store:
        assert {local.state.value for local in store.local_jobs(1)} <= {"failed", "new"}
        why = f"never sent: {hurt.site.work / '1'} was removed, and nothing of 1 can run without it"
        assert why in {local.reason for local in store.local_jobs(1)}
        assert store.grid_job(1).outcome == "failed"


# Directories that cannot be written


def closable(place) -> list[Path]:
    """Name the directories that keeper and wrappers write into, the deepest first."""
    state, work = place.state, place.site.work
    return [work / "1", work / "spool", work, state / "answers", state / "inbox", state / "keys", state]


def test_directories_closed_under_a_living_keeper_are_waited_for(place):
    hurt = place("p")
    hurt.submit(3, body=WAITS)
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of(1) == "running", "two payloads run, one waits")
    for directory in closable(hurt):
        directory.chmod(0o500)
    go(hurt)
    until(lambda: "Permission denied" in hurt.log(), "the keeper notices")
    for directory in reversed(closable(hurt)):
        directory.chmod(0o700)
    assert keeper.wait(LIMIT) == 0
    hurt.check(3)
    assert set(hurt.events("start")) == {(0, 1), (1, 1), (2, 1)}


def doors(place, more: dict[str, str] | None = None) -> list[subprocess.CompletedProcess[str]]:
    """Hand in a request at the people's door, and at the gatekeeper's."""
    file = place.place / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\nkey = "k"\n')
    command = [*PLAIN, sys.executable, "-P", "-s", str(ROOT / "jim/run_grid_job.py"), "submit", str(file)]
    gatekeepers = subprocess.run(
        command, env=place.environment(more), capture_output=True, text=True, timeout=LIMIT, check=False
    )
    return [place.door("submit", str(file), more=more), gatekeepers]


def test_doors_say_that_the_state_directory_is_closed(place):
    hurt = place("p")
    (hurt.state / "keeper.lock").touch()  # which this test holds while it calls a door
    for directory in [hurt.state / "inbox", hurt.state / "answers", hurt.state]:
        directory.chmod(0o500)
    people, gatekeeper = doors(hurt)
    assert (people.returncode, gatekeeper.returncode) == (1, 1)
    assert "Permission denied" in people.stderr
    assert str(hurt.state) in people.stderr
    assert gatekeeper.stdout.startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:")
    assert "Permission denied" in gatekeeper.stdout
    assert gatekeeper.stdout.endswith("\nGRAM_SCRIPT_ERROR:3\n\n")
    for directory in [hurt.state, hurt.state / "answers", hurt.state / "inbox"]:
        directory.chmod(0o700)
    assert doors(hurt)[0].stdout == "1\n"
    until(lambda: hurt.keep() == 0, "the keeper that the doors may have started has ended, too")
    assert hurt.answer() == DONE


def test_a_state_directory_on_a_network_file_system_is_refused(place, shim):
    hurt = place("p")
    mounts = hurt.place / "root/proc/self/mounts"
    mounts.parent.mkdir(parents=True)
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/home {hurt.place} nfs4 rw 0 0\n")
    more = {"LD_PRELOAD": str(shim), "SHIM_ROOT": str(hurt.place / "root")}
    said = f"{hurt.state} lies on a network file system (nfs4), but locks and the database need a local disk."
    people, gatekeeper = doors(hurt, more)
    assert (people.returncode, gatekeeper.returncode) == (3, 3)
    assert said in people.stderr
    assert gatekeeper.stdout.startswith(f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{said}")
    assert hurt.keep(more) != 0
    assert said in hurt.log()
    assert list(hurt.state.glob("inbox/*")) == []


# Two keepers


def test_of_many_keepers_one_keeps(place):
    hurt = place("p")
    hurt.submit(2, body=WAITS)
    keepers = [hurt.start_keeper() for _ in range(4)]
    until(lambda: [keeper.poll() for keeper in keepers].count(1) == 3, "three give way")
    until(lambda: len(hurt.events("start")) == 2, "the payloads run")
    go(hurt)
    assert sorted(keeper.wait(LIMIT) for keeper in keepers) == [0, 1, 1, 1]
    hurt.check(2)


@pytest.mark.torture
def test_a_lock_that_was_removed_makes_the_old_keeper_leave(place):
    """For a moment there are two: the store and the claims keep the promise, and the batch system may be told twice."""
    hurt = place("p")
    hurt.submit(4)
    first = hurt.start_keeper()
    until(lambda: hurt.state_of(), "the first keeper is at work")
    (hurt.state / "keeper.lock").unlink()
    assert hurt.keep() == 0
    assert first.wait(LIMIT) == 0
    hurt.finish()
    hurt.check(4, accepted=2)


def test_a_store_that_is_locked_is_waited_for(place):
    hurt = place("p")
    hurt.submit(2)
    keeper = hurt.start_keeper()
    until(lambda: hurt.state_of(), "the keeper is at work")
    with sqlite3.connect(hurt.state / "status.db", isolation_level=None) as db:
        db.execute("BEGIN EXCLUSIVE")
        until(lambda: "database is locked" in hurt.log(), "the keeper notices")
        db.execute("ROLLBACK")
    assert keeper.wait(LIMIT) == 0
    hurt.check(2)
