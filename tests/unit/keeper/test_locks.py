"""Nothing that a payload or a request names makes the keeper lose the locks on its status DB."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from jim.doors.placing import Watched
from jim.errors import JimError, LogLost
from jim.files import beside
from jim.keeper.inbox.accepting import TakingInbox
from jim.keeper.results import packing
from jim.model import State
from jim.tasks.file import sent_along
from jim.workdir import copying

LOOK = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA integrity_check').fetchall()"


def others_look(database: Path) -> None:
    """Let another process open the status DB to read and write, as `sqlite3` does, look into it and close it."""
    subprocess.run([sys.executable, "-S", "-c", LOOK, str(database)], check=True, timeout=60)


@pytest.fixture
def database(world) -> Path:
    return world.site.state / "status.db"


def log_is_kept(database: Path) -> bool:
    """Tell whether the log is the same after another process has looked: the last to leave removes it."""
    log = beside(database)[1]
    before = log.stat().st_ino
    others_look(database)
    return log.exists() and log.stat().st_ino == before


@pytest.mark.parametrize("end", ["", "-shm"])
def test_an_output_that_is_a_link_to_the_database_costs_no_lock(world, database, end):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2)
    file = Path(f"{database}{end}")
    content = file.read_bytes() if end else b"x"  # to read the database here would cost the locks itself
    told = f"file {file.stat().st_size} {hashlib.sha256(content).hexdigest()} a\n"
    world.batch.finish(1, 1, 0, extra=told, files=[("a", b"")])
    (output,) = world.site.work.glob("*/s1/run.1/a")
    output.unlink()
    output.hardlink_to(file)
    world.until(lambda: world.store.attempts(grid)[0].verdict, seconds=5.0)
    assert "a file of a database that JIM has open" in world.store.attempts(grid)[0].reason
    assert log_is_kept(database)


def test_a_request_that_sends_the_database_along_fails_and_costs_no_lock(world, database):
    grid = world.submit(1, inputs=[str(database)])
    world.until(lambda: world.finished(grid), seconds=5.0)
    job = world.store.grid_job(grid)
    assert (job.outcome, "a database that JIM has open" in job.reason) == (State.FAILED.value, True)
    assert log_is_kept(database)


def test_a_directory_with_a_link_to_the_database_cannot_be_sent_along(world, database, tmp_path):
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent/dat").hardlink_to(database)
    grid = world.submit(1, inputs=[str(tmp_path / "sent")])
    world.until(lambda: world.finished(grid), seconds=5.0)
    assert log_is_kept(database)


def test_no_copy_and_no_tar_reads_the_database(world, database, tmp_path):
    """Whoever may write where they lie may put links there."""
    (tmp_path / "run").mkdir()
    for name in ("a", "1.tar"):
        (tmp_path / "run" / name).hardlink_to(database)
    world.submit(1)
    world.go(2)
    for read in (
        lambda: packing.is_anothers(tmp_path / "run/1.tar", world.store.grid_job(1), world.store),
        lambda: Watched(tmp_path / "run/1.tar", lambda: None),
        lambda: sent_along._copy(tmp_path / "run", tmp_path / "kept"),
        lambda: sent_along._content(tmp_path / "run/a"),
    ):
        with pytest.raises(JimError, match="that JIM has open"):
            read()
    assert sorted(each.split(":")[0] for each in copying._copy_left(tmp_path / "run", tmp_path / "left")) == [
        str(tmp_path / "run/1.tar"),
        str(tmp_path / "run/a"),
    ]
    assert log_is_kept(database)


# A log that was lost all the same


def lose_log(database: Path) -> None:
    """Let go of the locks, as any code in this process might, and let another process be the last to leave."""
    for file in beside(database)[:3]:
        file.open("rb").close()
    others_look(database)


def test_a_keeper_without_its_log_stores_nothing_more(world, database):
    """What it would store, nobody would find again."""
    world.submit(1)
    world.go(2)
    lose_log(database)
    with pytest.raises(LogLost, match=r"removed or replaced .*status\.db-wal.* run `jim site check`"):
        world.rounds.round()
    with pytest.raises(LogLost), world.store.transaction():
        world.store.set_fact("any", "thing")


def test_what_a_door_left_is_not_removed_if_the_log_was_lost_in_the_same_round(world, database):
    world.go()
    world.store.require_log()
    world.submit(1)
    lose_log(database)
    with pytest.raises(LogLost):
        world.move(TakingInbox)(world.keeper)
    assert [each.name[:4] for each in world.site.state.glob("inbox/[!.]*")] == ["requ"]


@pytest.mark.parametrize("gone", ["status.db", "state"])
def test_a_database_that_is_away_as_a_whole_proves_nothing(world, database, gone):
    place = database if gone == "status.db" else world.site.state
    away = place.rename(place.with_name("away"))
    world.store.require_log()
    away.rename(place)
    world.store.require_log()


ENDS = """
import sys
from pathlib import Path
from jim.clock import Clock
from jim.errors import LogLost
from jim.keeper.loop import keep

class Work:
    def round(self): raise LogLost("its log is gone")
    def close(self): print("closed")
    def wake(self): pass

def opened():
    if sys.argv[2] == "opening":
        raise LogLost("its log is gone")
    return Work()

keep(Path(sys.argv[1]), Clock(), 0, opened)
"""


@pytest.mark.parametrize("when", ["opening", "round"])
def test_a_keeper_without_its_log_ends_at_once_and_closes_nothing(tmp_path, when):
    """To close the database would write a log into it that nobody may read any more."""
    words = [sys.executable, "-P", "-s", "-c", ENDS, str(tmp_path), when]
    done = subprocess.run(
        words,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "the keeper ends: its log is gone" in done.stderr
