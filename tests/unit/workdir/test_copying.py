"""A copy of what a worker node has of an attempt, in which the wrapper runs the payload again."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from jim.errors import BadRequest, JimError
from jim.guide import SHELL
from jim.workdir.claims import trace
from jim.workdir.copying import copied
from jim.workdir.submission import PROGRAMS

JOBS = """\
* mark jim-cafe0001-7-1
* spool {spool}
* touch 60
* limit 1000
* out *.dat
* env COLOUR=deep red
* in card
1 n 0
1 attempt 2
1 seed 11
1 arg /bin/false
1 end
2 n 1
2 attempt 1
2 seed 12
2 arg /bin/sh
2 arg -c
2 arg echo $COLOUR $JIM_SEED; cat card; echo more >made.dat; "$JIM_PUBLISH" phase a 1 2; exit 3
2 end
"""


@pytest.fixture
def directory(tmp_path):
    """Make submission 1 of grid job 7, of which local job 7.1 ran."""
    place = tmp_path / "work/7"
    run = place / "s1/run.2"
    run.mkdir(parents=True)
    (tmp_path / "work/spool").mkdir()
    for name in PROGRAMS:
        shutil.copy2(SHELL / name, place / name)
    (place / "s1/jobs").write_text(JOBS.format(spool=tmp_path / "work/spool"))
    package = tmp_path / "work/packages/abc/unpacked.1"
    package.mkdir(parents=True)
    (package / "card").write_text("a card\n")
    (package.parent / "ready").write_text("unpacked.1\n")
    (place / "package").symlink_to("../packages/abc")
    (run / "stdout").write_text("what it said\n")
    (run / "made.dat").write_text("left\n")
    os.mkfifo(run / "pipe")
    return place / "s1"


def every_file(place):
    return {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and not path.is_symlink()}


def test_the_payload_runs_again_as_it_did_and_nothing_of_it_reaches_jim(directory, tmp_path):
    before = every_file(tmp_path / "work")
    copy = copied(directory, 2, tmp_path / "copy")
    assert copy.command[:2] == ("/bin/sh", "-c")
    done = subprocess.run(copy.call(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    record = trace(copy.directory, copy.index).exit_record
    assert (record.code, record.n, record.attempt) == (3, 1, 1)
    assert (copy.run / "stdout").read_text() == "deep red 12\na card\n"
    assert {each.name for each in record.files} == {"stdout", "stderr", "made.dat"}
    assert (tmp_path / "copy/spool/jim-cafe0001-7-1.2.pub.phase-a").read_text() == "phase a 1 2 events\n"
    assert every_file(tmp_path / "work") == before


def test_what_the_attempt_has_left_is_copied_but_no_pipe(directory, tmp_path):
    copy = copied(directory, 2, tmp_path / "copy")
    left = tmp_path / "copy/left"
    assert {path.name: path.read_text() for path in left.iterdir()} == {
        "stdout": "what it said\n",
        "made.dat": "left\n",
    }
    assert copy.missing == ()
    assert list((copied(directory, 1, tmp_path / "other").place / "left").iterdir()) == []


def test_other_words_may_stand_before_the_command(directory, tmp_path):
    copy = copied(directory, 2, tmp_path / "copy", ("/bin/echo", "that is:"))
    subprocess.run(copy.call(), timeout=60, check=True)
    assert (copy.run / "stdout").read_text().startswith("that is: /bin/sh -c echo $COLOUR")


def test_a_directory_of_the_request_is_not_copied(directory, tmp_path):
    jobs = directory / "jobs"
    jobs.write_text(jobs.read_text().replace("* in card", "* directory /data/mine"))
    with pytest.raises(BadRequest, match="it runs in /data/mine, as its request says"):
        copied(directory, 2, tmp_path / "copy")
    jobs.unlink()
    with pytest.raises(JimError, match="jobs cannot be read: No such file or directory"):
        copied(directory, 2, tmp_path / "copy")
