"""The scripts of shell/arc, as A-REX calls them."""

import os
import subprocess
import time

import pytest

from tests.unit.shell.place import HOME

ID = "VaONDmKqjR"
SCRIPTS = ("cancel-jim-job", "scan-jim-job", "submit-jim-job")


def call(place, name, *words, **variables):
    """Call a script as A-REX does: HOME is root's."""
    variables = {"HOME": "/nowhere", "XDG_STATE_HOME": "/nowhere", **variables}
    return place.door(f"arc/{name}-jim-job", *words, **variables)


@pytest.fixture
def grami(place):
    """Return the file of a job in a control directory."""
    control, session = place.directory / "control", place.directory / "session"
    for each in (control, control / "processing", session):
        each.mkdir()
    file = control / f"job.{ID}.grami"
    file.write_text(
        f"joboption_directory='{session}'\njoboption_controldir='{control}'\njoboption_arg_0='/bin/true'\n"
        f"joboption_stdout='{session}/out'\njoboption_gridid='{ID}'\n"
    )
    return file


def ids(grami):
    return [line for line in grami.read_text().splitlines() if line.startswith("joboption_jobid=")]


def test_all_that_a_rex_calls_is_there_and_can_be_started():
    for name in SCRIPTS:
        file = HOME / "shell/arc" / name
        assert os.access(file, os.X_OK)
        assert subprocess.run(["sh", "-n", str(file)], check=False).returncode == 0


def test_a_submission_appends_an_id_and_a_repeat_the_same(place, grami):
    for times in (1, 2):
        assert call(place, "submit", "--config", "run.conf", str(grami)) == (0, "", "")
        assert ids(grami) == [f"joboption_jobid={os.getuid()}.1"] * times
    assert call(place, "submit", "--again", str(grami)) == (0, "", "")
    assert len(ids(grami)) == 2


def test_a_refusal_is_one_sentence_on_stderr_at_once(place, grami):
    grami.write_text(grami.read_text().replace(ID, ""))
    code, out, err = call(place, "submit", "--config", "run.conf", str(grami))
    assert (code, out) == (2, "")
    assert err == f"jim-submit: {grami} has no joboption_gridid, so JIM does not take this job: is the file whole?\n"
    assert place.left() == ([], [])


def test_a_cancel_always_says_that_all_is_well(place, grami):
    assert call(place, "cancel", "--config", "run.conf", str(grami))[0] == 0
    call(place, "submit", "--config", "run.conf", str(grami))
    assert call(place, "cancel", "--config", "run.conf", str(grami)) == (0, "", "")
    assert place.left()[0] == [("cancel", "1")]


def stub(place, grami, room_again):
    """Make a JIM that takes in a job in whose file is no room for its id; from one of its calls on, there is."""
    python, calls = place.directory / "python", place.directory / "calls"
    python.write_text(
        f'#!/bin/sh\nshift 6\necho "$1" >>{calls}\nrm -rf {grami}\n'
        f'if [ "$(grep -c submit {calls})" -ge {room_again} ]; then : >{grami}; else mkdir {grami}; fi\necho 1000.7\n'
    )
    python.chmod(0o755)
    return {"JIM_PYTHON": str(python)}, calls


def test_an_id_for_which_there_is_no_room_is_appended_a_moment_later(place, grami):
    variables, calls = stub(place, grami, 2)
    code, out, err = call(place, "submit", "--config", "run.conf", str(grami), **variables)
    assert (code, out, len(err.splitlines())) == (0, "", 1)
    assert ids(grami) == ["joboption_jobid=1000.7"]
    assert calls.read_text() == "submit\nsubmit\n"


@pytest.mark.torture  # it is slow
def test_a_job_whose_id_a_rex_cannot_get_is_cancelled(place, grami):
    """A-REX says then that it has failed, and nobody would ask about it."""
    variables, calls = stub(place, grami, 99)
    code, out, err = call(place, "submit", "--config", "run.conf", str(grami), **variables)
    assert (code, out) == (1, "")
    assert (
        err.splitlines()[-1] == f"submit-jim-job: the id of grid job 7 cannot be appended to {grami}: it is cancelled"
    )
    assert calls.read_text() == "submit\n" * 4 + "cancel\n"


def test_a_job_is_cancelled_when_half_of_its_id_was_appended(place, grami):
    """A-REX goes by the first line with an id, and the rest of that line will never stand there."""
    python, calls = place.directory / "python", place.directory / "calls"
    python.write_text(f'#!/bin/sh\nshift 6\necho "$*" >>{calls}\necho 1000.7\n')
    python.chmod(0o755)
    grami.write_text(grami.read_text() + "#" * 100_000 + "\n")
    room = grami.stat().st_size + len("joboption_jobid=100")
    # A process that ignores the signal of a file that is too large writes what has room.
    limited = f"trap '' XFSZ; exec prlimit --fsize={room} \"$@\""
    script = HOME / "shell/arc/submit-jim-job"
    program = ["/bin/bash", "-c", limited, "bash", str(script), "--config", "run.conf", str(grami)]
    code, out, err = place.door("", program=program, JIM_PYTHON=str(python))
    assert (code, out) == (1, "")
    assert ids(grami) == ["joboption_jobid=100"]
    assert (
        err.splitlines()[-1] == f"submit-jim-job: the id of grid job 7 cannot be appended to {grami}: it is cancelled"
    )
    assert calls.read_text() == f"submit {grami}\ncancel 7\n"


@pytest.mark.parametrize("word", ["INLRMS", "FINISHED", ""])
def test_a_scan_starts_nothing_before_a_job_is_with_jim(place, grami, word):
    status = grami.parent / f"processing/job.{ID}.status"
    status.write_text(f"{word}\n")
    python = place.directory / "python"
    python.write_text(f'#!/bin/sh\necho "$*" >{place.directory}/called\n')
    python.chmod(0o755)
    assert call(place, "scan", "--config", "run.conf", str(grami.parent), JIM_PYTHON=str(python)) == (0, "", "")
    assert (place.directory / "called").exists() == (word == "INLRMS")


# What A-REX was started with, beside what JIM reads.
A_REX = {
    "X509_CERT_DIR": "/a",
    "LD_LIBRARY_PATH": "/b",
    "PYTHONVERBOSE": "1",
    "CDPATH": "/usr",
    "BASH_FUNC_x%%": "() { :; }",
    "ARC_LOCATION": "/opt/a rc",
    "TZ": "Europe/Berlin",
}
READ = {"PATH", "HOME", "ARC_LOCATION", "TZ", "JIM_PYTHON", "JIM_STATE", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
OF_THE_SHELL = {"PWD", "SHLVL", "_"}


@pytest.mark.parametrize("name", ["submit", "cancel", "scan"])
def test_jim_gets_nothing_of_a_rex_s_environment_but_what_it_reads(place, grami, name):
    (grami.parent / f"processing/job.{ID}.status").write_text("INLRMS\n")
    python, given = place.directory / "python", place.directory / "given"
    python.write_text(f"#!/bin/sh\n/usr/bin/env -0 >{given}\nexit 3\n")
    python.chmod(0o755)
    last = grami.parent if name == "scan" else grami
    call(place, name, "--config", "run.conf", str(last), JIM_PYTHON=str(python), **A_REX)
    variables = dict(each.split("=", 1) for each in given.read_text().split("\0")[:-1])
    assert set(variables) - OF_THE_SHELL - {"XDG_STATE_HOME"} == READ
    assert (variables["ARC_LOCATION"], variables["TZ"]) == ("/opt/a rc", "Europe/Berlin")


def test_a_scan_waits_for_no_pipe(place, grami):
    os.mkfifo(grami.parent / f"processing/job.{ID}.status")
    began = time.monotonic()
    assert call(place, "scan", "--config", "run.conf", str(grami.parent), JIM_PYTHON="/bin/false") == (0, "", "")
    assert time.monotonic() - began < 10
