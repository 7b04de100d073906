"""Two JIMs on one state directory: the later one says what is wrong, and what was accepted is done."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.real import until

HOME = Path(__file__).parents[2]
DONE = "GRAM_SCRIPT_JOB_STATE:8\n\n"
Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Call]:
    """Call a door of a tree in one state directory; give its exit code, and what it printed on both streams."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("JIM_")}
    environment = {**known, "JIM_STATE": str(tmp_path / "state"), "JIM_PYTHON": sys.executable}

    def call(tree: Path, door: str, *words: object) -> tuple[int, str]:
        done = subprocess.run(
            [tree / "shell" / door, *map(str, words)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout

    yield call
    call(HOME, "jim", "keeper", "--end")


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A tree of a version to come."""
    tree = tmp_path / "newer"
    for name in ("jim", "adapters", "handlers", "shell"):
        shutil.copytree(HOME / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    init = tree / "jim/__init__.py"
    init.write_text(re.sub(r'__version__ = ".*"', '__version__ = "99.0.0"', init.read_text()))
    return tree


def request(tmp_path: Path) -> Path:
    file = tmp_path / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    return file


def refused(call: Call) -> str:
    """Give what a keeper says that does not go on; nothing while another one is there."""
    code, told = call(HOME, "jim", "keeper")
    assert code != 0
    return "" if "has a keeper already" in told else told


def test_one_keeper_works_whichever_doors_are_called(call: Call, newer: Path, tmp_path: Path) -> None:
    assert call(newer, "jim", "--version") == (0, "jim 99.0.0\n")
    assert call(HOME, "jim-submit", request(tmp_path))[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")
    until(lambda: "a keeper" in call(HOME, "jim", "site", "check")[1].partition("keeper:")[2], "a keeper runs")
    code, told = call(newer, "jim", "keeper")
    assert code == 1, told
    assert re.fullmatch(r"jim: \S+/state has a keeper already \(pid \d+\)\n", told)
    assert call(newer, "jim-submit", request(tmp_path))[1].startswith("GRAM_SCRIPT_JOB_ID:2\n")
    for tree, number in ((newer, 1), (HOME, 2)):
        until(lambda tree=tree, number=number: call(tree, "jim-poll", number)[1] == DONE, "both see it end")


def test_a_database_of_a_newer_one_is_left_alone_and_requests_wait_for_it(call: Call, tmp_path: Path) -> None:
    assert call(HOME, "jim", "run", "/bin/true")[0] == 0
    call(HOME, "jim", "keeper", "--end")
    file = tmp_path / "state/status.db"
    with sqlite3.connect(file) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        db.execute(f"PRAGMA user_version = {version + 1}")
    db.close()
    before = file.read_bytes()
    code, told = call(HOME, "jim", "submit", request(tmp_path))
    assert (code, told[:2]) == (0, "2\n")
    assert f"{file} was written by a newer JIM" in told
    assert "run the newer one again, or put back the database of before the upgrade" in told
    assert call(HOME, "jim-poll", 1) == (0, DONE)
    told = until(lambda: refused(call), "the keeper that the door has started has given up, too")
    assert "was written by a newer JIM" in told
    assert file.read_bytes() == before
    # The newer one is there again.
    with sqlite3.connect(file) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    call(HOME, "jim", "keeper", "--all")
    until(lambda: call(HOME, "jim-poll", 2)[1] == DONE, "what was accepted is done")
